"""A training step runs the model on the examples of its batch one by one, in a Python loop.

**Why**

A model takes a batch as easily as one example, and on most hardware in little more time. A loop over the batch pays
every layer's fixed cost once per example, forward and backward. Inside a `tf.function` or a Keras `train_step` the loop
is unrolled as well: as many copies of the model to trace as there are examples.

**Instead**

Call the model once on the whole batch, and reduce over the first axis: `loss = loss_fn(y, model(x))`.

**Not when**

The examples differ in shape and cannot be padded, or each needs what the one before it gave (a state, a game). With a
batch of two or three there is nothing to gain. Layers that look at the whole batch, such as batch normalisation, give
other results on a batch than on one example; mostly the batch is what they are meant for. The fix calls the model once,
before the loop, and writes a mean that the loop adds up as one mean where nothing can change its shape on the way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Cost, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.loops import InLoop, each, outside_loops
from hotloop.rules.rows import holds_model, may_be_row, one_row
from hotloop.rules.vectors import index_of, rows_taken
from hotloop.source.heat import FEW, loop_heat, trips
from hotloop.source.module import Call, Loop, Scope, names_read
from hotloop.source.project import argument_for, loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
ROWS = 4  # single examples taken from a batch in one trace


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in module.calls:
            if not _may_take_one(call, project):
                continue
            sure = holds_model(call.node.func, call.where.scope, project, by_name=True)
            found = _over_batch(call, project) if sure is not None else None
            if found:
                found = found if sure else found.lowered()
                message = (
                    f"`{ast.unparse(call.node.func)}` is called on one example {each(found, call.place)}, inside a "
                    "training step: all its layers run once per example. Call it once on the whole batch."
                )
                yield RULE.finding(call.place, message, **found.where)


def _may_take_one(call: Call, project: Project) -> bool:
    """Before the model is looked up: one row in a loop, or `f(x[None])` in a function that a loop may call."""
    if not call.node.args or not isinstance(call.node.func, ast.Name | ast.Attribute):
        return False
    data, scope = call.node.args[0], call.where.scope
    if call.where.loop is None:
        return may_be_row(data, scope)
    return any(one_row(data, scope, InLoop(loop, (), "hot", "high"), project) for loop in loops_of(call.where))


def _over_batch(call: Call, project: Project) -> InLoop | None:
    """The loop over a batch, inside a step, of which the call gets one example; through one function at most."""
    for loop in loops_of(call.where):
        if _is_step(loop, project) and _takes_one(call, call.node.args[0], loop, (), project):
            return _found(loop, (), project)
    scope = call.where.scope
    if call.where.loop is None and scope.is_function:
        for caller in project.callers(scope)[:8]:
            for loop in loops_of(caller.where):
                if _is_step(loop, project) and _handed_one(call, caller, loop, project):
                    return _found(loop, (caller,), project)
    return None


def _found(loop: Loop, chain: tuple[Call, ...], project: Project) -> InLoop | None:
    steps = trips(loop, project)
    if steps is not None and steps < FEW:
        return None
    heat = loop_heat(loop, project) if steps is None else "hot"  # of each step
    sure: dict[str, Confidence] = {"hot": "high", "warm": "medium", "cold": "low"}
    told = outside_loops(loop.where, sure[heat])["confidence"]
    return InLoop(loop, chain, heat, told)  # type: ignore[arg-type]


def _is_step(loop: Loop, project: Project) -> bool:
    """Whether the loop stands under an open tape, or in what TensorFlow traces."""
    scope = loop.where.scope
    taped = any(
        project.name_of(item.context_expr, scope) == "tf.GradientTape()"
        for node in loop.where.withs
        for item in node.items
    )
    if any(isinstance(node, ast.Attribute) and node.attr == "gradient" for node in ast.walk(loop.node)):
        return False  # each example has a gradient of its own
    return taped or project.traced(loop.where)


def _takes_one(call: Call, data: ast.expr, loop: Loop, chain: tuple[Call, ...], project: Project) -> bool:
    scope = call.where.scope
    if not one_row(data, scope, InLoop(loop, chain, "hot", "high"), project) or _is_carried(call, loop):
        return False
    return _is_row(_followed(data, loop, scope), loop, scope, project)


def _handed_one(call: Call, caller: Call, loop: Loop, project: Project) -> bool:
    """`loss_of(x[i], y[i])`, which calls `model(x[None])`."""
    data, scope, home = call.node.args[0], call.where.scope, caller.where.scope
    if not one_row(data, scope, InLoop(loop, (caller,), "hot", "high"), project):
        return False
    handed = [argument_for(caller, scope, name) for name in names_read(data) & set(scope.parameters)]
    return any(_is_row(_followed(one, loop, home), loop, home, project) for one in handed if one is not None)


def _is_row(exprs: list[ast.expr], loop: Loop, scope: Scope, project: Project) -> bool:
    """Row number `i` of something, or the element that the loop is at."""
    index = index_of(loop, project)
    if index is not None:
        return any(True for expr in exprs for _ in rows_taken(expr, index, scope, project))
    return any(names_read(expr) & loop.targets for expr in exprs)


def _followed(expr: ast.expr, loop: Loop, scope: Scope) -> list[ast.expr]:
    """The expression and what the step binds the names in it to."""
    found = [expr]
    for one in found:
        for name in names_read(one):
            bound = [b.value for b in scope.bindings.get(name, []) if b.value is not None and b.kind == "assign"]
            found += [v for v in bound if v not in found and _stands_in(v, loop) and len(found) < 12]
    return found


def _stands_in(value: ast.expr, loop: Loop) -> bool:
    return any(node is value for node in ast.walk(loop.node))


def _is_carried(call: Call, loop: Loop) -> bool:
    """Whether the call reads what an earlier step made: its own result, fed back."""
    arguments = [*call.node.args, *[keyword.value for keyword in call.node.keywords]]
    read = {name for argument in arguments for name in names_read(argument)}
    for node in ast.walk(loop.node):
        if isinstance(node, ast.Assign) and any(part is call.node for part in ast.walk(node.value)):
            stored = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            if stored & read:
                return True
    return False


def diagnose(recording: Recording) -> Iterator[Finding]:
    for event in recording.of_kind("unrolled"):
        seen = event.examples[-1]
        if not seen["model"] or seen["rows"] < ROWS:
            continue
        tracing = measured.tracing(recording, event)
        calls = [e for e in recording.of_kind("call") if (e.subject, e.stack) == (event.subject, event.stack)]
        running = sum(e.seconds for e in calls) - measured.tracing(recording, event, first_run=True)
        times = max(2.0, float(seen["times"]))
        seconds = (tracing + max(0.0, running)) * float(seen["inside"]) * (1 - 1 / times)
        yield measured.told(
            RULE, recording, measured.at_line(seen["model"]), seconds,
            f"The model was called on one example after the other, some {words.number(times)} times in one step "
            f"{{cost}}: tracing it took {words.duration(tracing)}. Call it once, on the whole batch.",
            measured.loop_of(recording, event),
            [Evidence("tracing", tracing, "s"), Evidence("calls in a step", times)],
        )  # fmt: skip


def price(finding: Finding, recording: Recording) -> Cost | None:
    """Run eagerly, it leaves no event."""
    return measured.sent_one_by_one(recording, finding.loop, ROWS) if finding.loop else None


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.example_loop_in_step.batched import on_whole_batch

    return on_whole_batch(finding, project)
