"""TensorFlow or a Keras model is told to run eagerly, and nothing switches that off again.

**Why**

`run_eagerly=True` and `tf.config.run_functions_eagerly(True)` are debugging aids: every op of every training step goes
through Python again, one by one, as if no `tf.function` had been written. A small network trains ten times slower so.

**Instead**

Leave the switch out once the bug is found. To look into a compiled step, use `tf.print`, or switch eagerly for one call
and back again; keep the switch behind a flag (`run_eagerly=args.debug`).

**Not when**

The step does what cannot be compiled: it calls NumPy or `.numpy()` on its tensors, or looks at Python objects that
change. Then only the part that can be compiled should be put into a `tf.function`. The fix is tried before it is
written, since what only works eagerly fails when it is compiled, and it leaves files alone where a step is seen to do
that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Event, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named
from hotloop.rules.loops import outside_loops
from hotloop.source.module import Call, Context, Module, place_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

SWITCHES = {"tf.config.run_functions_eagerly", "tf.config.experimental_run_functions_eagerly"}
PYTHON_STEPS = {"train_step", "test_step", "call"}
MODEL = (
    "{what} makes every step of `fit`, `evaluate` and `predict` run op by op in Python. "
    "Leave it out, or keep it behind a debugging flag."
)
GLOBAL = (
    "{what} switches off every `tf.function` of the program, those of Keras too. "
    "Remove it, or switch back with `False` when done."
)


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        models = [
            (node, where, MODEL.format(what=what), "medium" if _cannot_be_compiled(module) else "high")
            for node, where, what in _models(module, project)
        ]
        switches = [(node, where, GLOBAL.format(what=what), "high") for node, where, what in _switch(module, project)]
        for node, where, message, confidence in (*models, *switches):
            if all(_is_main(test) for test in where.tests):
                yield RULE.finding(place_of(module, node), message, **outside_loops(where, confidence))  # type: ignore[arg-type]


def _models(module: Module, project: Project) -> Iterator[tuple[ast.AST, Context, str]]:
    """`model.compile(..., run_eagerly=True)` and `model.run_eagerly = True`."""
    for call in module.calls_of("compile"):
        func = call.node.func
        for keyword in _keywords(call, project):
            if keyword.arg == "run_eagerly" and isinstance(func, ast.Attribute) and func.attr == "compile":
                if _is_on(keyword.value, call.where, project):
                    yield call.node, call.where, f"`run_eagerly={ast.unparse(keyword.value)}`"
    switched_off = {ast.unparse(target) for node, target in _assigned(module) if _constant(node.value, False)}
    for node, target in _assigned(module):
        if _constant(node.value, True) and ast.unparse(target) not in switched_off:
            yield node, module.contexts[node], f"`{ast.unparse(target)} = True`"


def _keywords(call: Call, project: Project) -> Iterator[ast.keyword]:
    """Those of the call, and those of a dict that it spreads: `options = dict(loss="mse", run_eagerly=True)`."""
    for keyword in call.node.keywords:
        spread = project.literal(keyword.value.id, call.where.scope) if isinstance(keyword.value, ast.Name) else None
        match spread[0] if keyword.arg is None and spread else None:
            case ast.Call(func=ast.Name(id="dict"), keywords=inside):
                yield from inside
            case ast.Dict(keys=keys, values=values):
                named = zip(keys, values, strict=True)
                yield from (ast.keyword(str(k.value), v) for k, v in named if isinstance(k, ast.Constant))
            case _:
                yield keyword


def _assigned(module: Module) -> Iterator[tuple[ast.Assign, ast.Attribute]]:
    for node in module.contexts if b"run_eagerly" in module.data else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            if node.targets[0].attr == "run_eagerly":
                yield node, node.targets[0]


def _switch(module: Module, project: Project) -> Iterator[tuple[ast.AST, Context, str]]:
    """`tf.config.run_functions_eagerly(True)`, where the file never calls it with anything else."""
    calls = [call for call, _ in named(module, project, SWITCHES)]
    on = [c for c in calls if (value := c.argument(0, "run_eagerly")) is not None and _is_on(value, c.where, project)]
    if len(on) == len(calls):
        for call in on:
            yield call.node, call.where, f"`{ast.unparse(call.node)}`"


def _constant(expr: ast.expr, value: bool) -> bool:
    return isinstance(expr, ast.Constant) and expr.value is value


def _is_on(expr: ast.expr, where: Context, project: Project) -> bool:
    """`True`, or a name that is nothing else; not one that says that it is for debugging."""
    if isinstance(expr, ast.Name):
        known = project.literal(expr.id, where.scope)
        return known is not None and _constant(known[0], True) and "debug" not in expr.id.lower()
    return _constant(expr, True)


def _is_main(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))


def _cannot_be_compiled(module: Module) -> bool:
    """A Keras step of this file takes values out of its tensors, which only works eagerly."""
    for call in module.calls_of("numpy"):
        func, scope = call.node.func, call.where.scope
        if isinstance(func, ast.Attribute) and func.attr == "numpy" and scope.is_method and scope.name in PYTHON_STEPS:
            return True
    return False


def diagnose(recording: Recording) -> Iterator[Finding]:
    by_switch: dict[str, list[Event]] = {}
    for event in recording.of_kind("fit", "evaluate", "predict", "eager.call"):
        switch = str(event.examples[-1].get("eagerly", "")) if event.examples else ""
        if ":" in switch:
            by_switch.setdefault(switch, []).append(event)
    for switch, events in by_switch.items():
        stacks = {event.stack for event in events}
        inside = [s for s in recording.samples if any(s.stack[i:] in stacks for i in range(len(s.stack)))]
        inside = [s for s in inside if s.phase not in ("input", "trace")]
        spent, kernels = sum(s.seconds for s in inside), sum(s.op_seconds for s in inside)
        steps = sum(event.totals.get("batches", event.count) for event in events)
        ops = sum(s.ops for s in inside) / max(1.0, steps)
        seconds = measured.compiled_instead(spent - kernels, steps)
        seconds = measured.with_sleep(recording, seconds, [run for run in recording.loops if run.stack in stacks])
        if steps >= measured.FEW and ops >= 1:
            yield measured.told(
                RULE, recording, measured.at_line(switch), seconds,
                f"{words.plural(round(steps), 'step')} ran eagerly because of this switch {{cost}}: "
                f"{words.count(round(ops))} ops a step, each sent from Python. Leave it out, or keep it behind a "
                "debugging flag.",
                evidence=[Evidence("eager ops per step", round(ops)), Evidence("in kernels", kernels, "s")],
            )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.run_eagerly.mend import switched_off

    return switched_off(finding, project)
