"""A training step with a gradient tape runs eagerly in a hot loop: nothing in it is compiled.

**Why**

Eager TensorFlow sends every op from Python, one by one: forward, backward and each variable that the optimizer
updates. For small and middle-sized models that dispatch is most of the step. Compiled into one `tf.function` it goes.

**Instead**

Put the step into a function and decorate it with `@tf.function`. Pass batches as tensors, return the loss, and print
or append outside.

**Not when**

The ops are few and large (big matrix products): eager then costs little. Code that must run in Python at each step
(prints, `.numpy()`, lists, data-dependent control flow that AutoGraph cannot convert) has to move out of the step
first; the fix refuses it and says which line is in the way. A step that takes the gradients of a model's weights and
updates nothing (it sums them up, say) is named with less confidence.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Evidence, Finding, Fix, Place, Recording, Sample
from hotloop.rules import Rule, measured
from hotloop.rules.loops import each, in_loops
from hotloop.rules.measured import EAGER_OP
from hotloop.source.decorators import unknown
from hotloop.source.module import Call, Context, Loop, Scope, last_name, names_read, place_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

OUTSIDE = {"input", "trace"}  # phases that compiling the step does not shorten
MANY_OPS = 10  # a step: below, a compiled call costs as much as it saves
WORTH = 0.1
WEIGHTS = {"trainable_weights", "trainable_variables", "weights", "variables"}
UPDATES = {"apply_gradients", "apply", "minimize", "assign_sub", "assign_add", "assign"}


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for node, where in module.withs if "gradient" in module.called else ():
            tape = _tape(node, where.scope, project)
            trains = tape is not None and _trains(where.scope, tape, project)
            if tape is None or not (trains or _is_of_weights(node, where.scope, tape)):
                continue
            found = next((one for one in in_loops(project, where) if not _is_over_gradients(one.loop)), None)
            if found and not _handed_on(where.scope, project) and not _in_another(where, found.chain, project):
                place = place_of(module, node)
                unsure = _calls_compiled(node, where.scope, project) or any(unknown(where.scope, project))
                found = found.lowered() if unsure else found
                found = found if trains else found.lowered()
                what = "A training step runs" if trains else "Gradients of a model's weights are taken"
                world = _asks_world(node)
                part = f"what it computes between two calls of `{world}`" if world else "the step" if trains else "them"
                message = (
                    f"{what} eagerly {each(found, place)}: each op is sent from Python one by one. "
                    f"Put {part} into a `@tf.function`."
                )
                yield RULE.finding(place, message, **found.where)


def _is_over_gradients(loop: Loop) -> bool:
    """`for g, v in zip(grads, variables)`: it goes over the variables of one step."""
    names = names_read(loop.iterable) if loop.iterable is not None else set()
    values = [binding.value for name in names for binding in loop.where.scope.bound(name)]
    return any(isinstance(value, ast.Call) and last_name(value.func) == "gradient" for value in values)


def _tape(node: ast.With | ast.AsyncWith, scope: Scope, project: Project) -> str | None:
    for item in node.items:
        if project.name_of(item.context_expr, scope) == "tf.GradientTape()" and isinstance(
            item.optional_vars, ast.Name
        ):
            return item.optional_vars.id
    return None


def _asks_world(node: ast.With | ast.AsyncWith) -> str:
    """`state, reward, done, _ = env.step(action)` under the tape: that stays in Python."""
    for inner in (inner for statement in node.body for inner in ast.walk(statement)):
        match inner:
            case ast.Assign(
                targets=[ast.Tuple(elts=[_, _, _, *_])], value=ast.Call(func=ast.Attribute(attr="step") as f)
            ):
                return ast.unparse(f)
    return ""


def _in_another(where: Context, chain: tuple[Call, ...], project: Project) -> bool:
    """Under the tape of a training step that is named itself: a derivative within a loss."""
    around = ((node, at.scope) for at in (where, *[call.where for call in chain]) for node in at.withs)
    tapes = ((scope, _tape(node, scope, project)) for node, scope in around)
    return any(tape is not None and _trains(scope, tape, project) for scope, tape in tapes)


def _trains(scope: Scope, tape: str, project: Project) -> bool:
    """Whether gradients of this tape reach variables: here, or in a caller that is handed them."""
    if not any(_calls(scope, {"gradient"}, tape)):
        return False
    homes = [scope, *[call.where.scope for call in project.callers(scope)]]
    return any(any(_calls(home, UPDATES)) for home in homes)


def _is_of_weights(node: ast.With | ast.AsyncWith, scope: Scope, tape: str) -> bool:
    """`tape.gradient(loss, model.trainable_weights)`, which somebody sums up or looks at."""
    later = [call for call in _calls(scope, {"gradient"}, tape) if call.lineno > node.lineno]
    first = min(later, key=lambda call: call.lineno, default=None)
    source = first.args[1] if first is not None and len(first.args) > 1 else None
    return isinstance(source, ast.Attribute) and source.attr in WEIGHTS


def _handed_on(scope: Scope, project: Project) -> bool:
    """`self.train_fn = wrap(self.train)`, in its class or where that comes from: whoever takes it may compile it."""
    waiting = [scope.parent] if scope.is_method and scope.parent else []
    seen: set[Scope] = set()
    while waiting:
        owner = waiting.pop()
        seen.add(owner)
        waiting += [base.scope for base in project.bases(owner) if base.scope and base.scope not in seen]
        values = (binding.value for bindings in owner.attributes.values() for binding in bindings)
        takers = (value for value in values if isinstance(value, ast.Call))
        if any(ast.unparse(given) == f"self.{scope.name}" for taker in takers for given in taker.args):
            return True
    return False


def _calls_compiled(node: ast.With | ast.AsyncWith, scope: Scope, project: Project) -> bool:
    """Whether the tape watches a `tf.function`: the model is compiled then, the loss and the update are not."""
    calls = (inner for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.Call))
    values = (project.resolve(call.func, scope) for call in calls)
    return any(value is not None and value.kind == "traced" for value in values)


def _calls(scope: Scope, attributes: set[str], receiver: str | None = None) -> Iterator[ast.Call]:
    for call in scope.module.calls:
        func = call.node.func
        if call.where.scope is scope and isinstance(func, ast.Attribute) and func.attr in attributes:
            if receiver is None or (isinstance(func.value, ast.Name) and func.value.id == receiver):
                yield call.node


def diagnose(recording: Recording) -> Iterator[Finding]:
    taken = measured.recurring(recording, recording.of_kind("gradient"))
    # A step that Keras calls is its to compile: it runs eagerly where it was told to.
    sites = [(at, _steps(recording, at)) for at in taken if not at.loop.stack]
    for at, steps in sites:
        same = [site for site, others in sites if others & steps and site.loop is at.loop]
        if at is not min(same, key=lambda site: (_depth(site), site.place)):
            continue  # a derivative within the loss of that step, or the other network's
        inside = [s for s in measured.outside_keras(recording, measured.within(recording, at.loop)) if _is_in(s, steps)]
        inside = [s for s in inside if s.phase not in OUTSIDE]
        ops = sum(s.ops for s in inside)
        per_step = ops / at.count
        if per_step < MANY_OPS:
            continue
        kernels = sum(s.op_seconds for s in inside)
        seconds = max(measured.compiled_instead(_sent(inside), at.count), _saved_within(recording, at, inside))
        seconds = measured.with_sleep(recording, seconds, [at.loop])
        if seconds < WORTH * at.loop.seconds:  # the ops are large: compiling would gain next to nothing
            continue
        yield measured.finding(
            RULE, recording, at, seconds,
            f"A training step ran eagerly {at.often} {{cost}}: about {words.count(round(per_step))} ops a step, each "
            "sent from Python. Put the step into a `@tf.function`.",
            evidence=[Evidence("eager ops per step", round(per_step)), Evidence("in kernels", kernels, "s")],
        )  # fmt: skip


def _depth(at: measured.Recurring) -> int:
    return min(len(event.stack) for event in at.events)


def _saved_within(recording: Recording, at: measured.Recurring, inside: list[Sample]) -> float:
    """What compiling saves where the tape is open around a loop: of what that repeats, and of what is derived from it.

    One trace serves all its steps then, and each is called forward and backward. (60 batches under each of 12 tapes:
    its forward pass compiled saved 55% of the loop, where 12 steps of 60 batches each would pay for their trace only.)
    """
    repeated: dict[Place, list[Sample]] = {}
    steps: dict[Place, int] = {}
    derived = []
    for sample in inside:
        around = recording.loops_around(sample.stack)
        within = around[: around.index(at.loop)] if at.loop in around else []
        longest = max((run for run in within if run.steps > at.count), key=lambda run: run.steps, default=None)
        if longest is not None:
            repeated.setdefault(longest.place, []).append(sample)
            steps[longest.place] = longest.steps
        elif any(sample.stack == event.stack for event in at.events):
            derived.append(sample)
    saved = (
        measured.compiled_instead(_sent([*samples, *derived]), steps[place], calls=2 * steps[place])
        for place, samples in repeated.items()
    )
    return max(saved, default=0.0)


def _sent(inside: list[Sample]) -> float:
    """Seconds in which operations were sent, less those in which they computed."""
    return sum(_spent(line) for line in measured.by_line(inside)) - sum(s.op_seconds for s in inside)


def _spent(line: list[Sample]) -> float:
    """Seconds of a line that compiling may save: its operations, and the Python that sends them. Not a plot."""
    computed = sum(s.seconds for s in line if s.phase == "compute")
    beside = sum(s.seconds for s in line) - computed
    return computed + min(beside, computed + EAGER_OP * sum(s.ops for s in line))


def _steps(recording: Recording, at: measured.Recurring) -> frozenset[tuple[Place, ...]]:
    """The frames around a training step: those that taking its gradient and applying it have in common. The loop that
    it belongs to may be in a function that is called from several places."""
    updates = [event.stack[1:] for event in recording.of_kind("apply")]  # not the line itself: it may do both
    shared = [[_common(event.stack[1:], update) for update in updates] or [event.stack[1:]] for event in at.events]
    return frozenset(max(some, key=len) for some in shared)


def _common(one: tuple[Place, ...], other: tuple[Place, ...]) -> tuple[Place, ...]:
    pairs = zip(reversed(one), reversed(other), strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    return one[len(one) - same :]


def _is_in(sample: Sample, steps: Collection[tuple[Place, ...]]) -> bool:
    return any(not step or sample.stack[-len(step) :] == step for step in steps)


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.eager_training_step.compiled import compile_step

    return compile_step(finding, project)
