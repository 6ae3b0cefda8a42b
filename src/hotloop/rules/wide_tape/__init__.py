"""A `GradientTape` is open around a loop whose steps could each have a tape of their own.

**Why**

A tape keeps every intermediate result that passes while it is open, in case a gradient asks for it. Around a loop it
keeps those of all steps, and the memory grows with each of them until the `with` ends. With `persistent=True` and the
gradient taken inside, it even records the gradients' own ops, and nothing is let go when a gradient has been taken.

**Instead**

Open the tape inside the loop, around one step's forward pass, and take the gradient after the `with`. To sum the
gradients of many batches, take one per batch and add them up.

**Not when**

The loop as a whole is what is differentiated: a recurrent network unrolled over time, a simulation, inner steps of
meta-learning. There each step needs the ones before it, and the tape has to be as wide as the loop. The fix leaves a
tape alone where a step reads what the step before computed, and is tried before it is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.loops import InLoop, each, outside_loops
from hotloop.source.guards import is_guarded
from hotloop.source.heat import FEW, loop_heat, trips
from hotloop.source.module import Call, Context, Loop, Module, last_name, names_read, names_stored, place_of
from hotloop.source.project import loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
MEASURED = "memory"
SLACK = 0.01  # seconds by which the clocks of loops and events may differ

GRADIENTS = {"gradient", "jacobian", "batch_jacobian"}
UPDATES = {"apply_gradients", "apply", "minimize", "assign_sub", "assign_add", "assign"}
BATCHES = re.compile(r"dataset|\bds\b|(?<![a-z])batch(es)?\b(?!_?size)|loader|_ds\b|data_?gen", re.IGNORECASE)
SEQUENCE = re.compile(r"time|unstack|\bt\b|seq|hidden|layer", re.IGNORECASE)

Tape = tuple[ast.With | ast.AsyncWith, str, Context]


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for tape in _tapes(module, project):
            yield from _judged(tape, module, project)


def _tapes(module: Module, project: Project) -> Iterator[Tape]:
    around_loops = {node for loop in module.loops for node in loop.where.withs}
    for node, where in module.withs:
        for item in node.items if node in around_loops else ():
            made = project.name_of(item.context_expr, where.scope) == "tf.GradientTape()"
            if made and isinstance(item.optional_vars, ast.Name):
                yield node, item.optional_vars.id, where


def _judged(tape: Tape, module: Module, project: Project) -> Iterator[Finding]:
    node, name, where = tape
    place = place_of(module, node)
    step = _own_gradient(tape, module, project)
    if step:
        found = _in_loop(step, where, "high", project)
        message = (
            f"The tape `{name}` is open around the whole loop, and a gradient is taken from it "
            f"{each(found, place)}: it keeps what every step has computed. Open a tape inside the loop instead."
        )
        yield RULE.finding(place, message, **found.where)
        return
    batches = _summed_batches(tape, module, project)
    if batches:
        found = _in_loop(batches, where, "medium", project)
        message = (
            f"The tape `{name}` records the forward pass {each(found, place)}: it keeps the activations of all of "
            "them until the gradient is taken. Take a gradient per batch and add them up."
        )
        yield RULE.finding(place, message, **found.where)


def _in_loop(loop: Loop, where: Context, sure: Confidence, project: Project) -> InLoop:
    heat = loop_heat(loop, project)
    confidence: Confidence = {"hot": sure, "warm": "medium", "cold": "low"}[heat]
    told = outside_loops(where, confidence)["confidence"]
    return InLoop(loop, (), heat, told)  # type: ignore[arg-type]


def _own_gradient(tape: Tape, module: Module, project: Project) -> Loop | None:
    """The loop inside the tape whose steps take a gradient from it and go on to train, or compute anew."""
    node, name, where = tape
    inside = [call for call in module.calls if node in call.where.withs and call.where.scope is where.scope]
    for call in inside:
        if not _is_gradient(call, name) or is_guarded(call.where):
            continue
        for loop in loops_of(call.where):
            if node not in loop.where.withs or not _is_long(loop, project) or _is_over_what_it_records(loop, node):
                continue
            step = [other for other in inside if loop in loops_of(other.where) and other is not call]
            if any(_attribute(other) in UPDATES for other in step) or _is_of_this_step(call, loop, step):
                return loop
    return None


def _is_over_what_it_records(loop: Loop, tape: ast.With | ast.AsyncWith) -> bool:
    """`for output in outputs:`, which the tape has seen computed: each has a gradient of its own, as a Jacobian has."""
    over = loop.iterable
    if over is None or (isinstance(over, ast.Call) and last_name(over.func) == "range"):
        return False
    made = {name for part in tape.body if part.lineno < loop.node.lineno for name in names_stored(part)}
    return bool(made & names_read(over))


def _is_of_this_step(call: Call, loop: Loop, step: list[Call]) -> bool:
    """What is differentiated was computed in this very step by a call; `y[i]` of a `y` from before was not."""
    if not call.node.args:
        return False
    names = names_read(call.node.args[0])
    stored = {
        target.id
        for node in ast.walk(loop.node)
        if isinstance(node, ast.Assign)
        and any(other.node is part for other in step for part in ast.walk(node.value))
        and not any(_attribute(other) in GRADIENTS for other in step if other.node in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return bool(names & stored)


def _summed_batches(tape: Tape, module: Module, project: Project) -> Loop | None:
    """The loop over batches inside the tape that only adds up a loss, differentiated after it."""
    node, name, where = tape
    for loop in module.loops:
        if node not in loop.where.withs or loop.where.scope is not where.scope or loop.iterable is None:
            continue
        over = ast.unparse(loop.iterable)
        data = project.name_of(loop.iterable, where.scope).startswith("tf.data.")
        if (
            not (data or BATCHES.search(over))
            or "range(" in over
            or SEQUENCE.search(f"{over} {' '.join(sorted(loop.targets))}")
        ):
            continue
        if isinstance(loop.node, ast.For) and _is_long(loop, project) and _adds_up(loop.node):
            within = [c for c in module.calls if _is_gradient(c, name) and loop in loops_of(c.where)]
            return None if within else loop
    return None


def _adds_up(loop: ast.For) -> bool:
    """`loss += f(x)` or `loss = loss + f(x)`, with a call; a value that the call itself takes is a recurrence."""
    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            return _is_loss(node.target.id)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id in names_read(node.value):
                return _is_loss(target.id)
    return False


def _is_loss(name: str) -> bool:
    return re.search(r"loss|cost|objective|total|nll|error", name.lower()) is not None


def _is_gradient(call: Call, tape: str) -> bool:
    func = call.node.func
    named = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == tape
    return named and _attribute(call) in GRADIENTS


def _attribute(call: Call) -> str:
    return call.node.func.attr if isinstance(call.node.func, ast.Attribute) else ""


def _is_long(loop: Loop, project: Project) -> bool:
    steps = trips(loop, project)
    return steps is None or steps >= FEW


def diagnose(recording: Recording) -> Iterator[Finding]:
    gradients = list(measured.recurring(recording, recording.of_kind("gradient")))
    for event in recording.of_kind("tape"):
        began, held = event.last - event.seconds - SLACK, event.totals.get("bytes", 0.0)
        for at in gradients:
            loop, clock = at.loop, at.loop.clock.values
            inside = loop.place.path == event.place.path and loop.place.line > event.place.line
            if inside and event.count == 1 and clock and clock[0] >= began and clock[-1] <= event.last:
                yield measured.told(
                    RULE, recording, event.place, 0.0,
                    f"This tape was open around {words.plural(loop.steps, 'step')} and memory grew by "
                    f"{words.size(held)} meanwhile: it keeps what every step computed. Open one inside the loop, "
                    "around each step.",
                    loop,
                    [Evidence("gradients taken", at.count), Evidence("memory", held, "bytes")],
                    bytes_per_step=held / loop.steps,
                )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.wide_tape.mend import tape_per_step

    return tape_per_step(finding, project)
