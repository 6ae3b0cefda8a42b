"""A Keras model is compiled again in every step of a loop.

**Why**

`compile()` throws away the model's compiled training step, its metrics and its optimizer's state. The next batch traces
the whole step again: over a hundred milliseconds for a small model, and each of them keeps the old functions in memory.
`make_train_function(force=True)` does the same.

**Instead**

Compile once, before the loop. What the loop changes can be changed in the compiled model:
`model.optimizer.learning_rate` takes a new value, a `keras.Variable` can weigh a loss. Where two models train in turns
and `trainable` keeps the one's weights from the other, give each a training step of its own, which applies the
gradients of its own variables only.

**Not when**

Each step has a model of its own, or `trainable` changed and must be taken up: a handful of compilations are not a loop.
A new compilation also forgets the optimizer's momentum. The fix keeps it, which is mostly what was meant, with other
numbers: where the optimizer has a memory, the fix is shown and not applied.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.model import Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.compile_in_loop.advice import advice
from hotloop.rules.loops import InLoop, each, in_loop
from hotloop.rules.rows import holds_model
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.flow import varies
from hotloop.source.module import Binding, Call, Scope
from hotloop.source.project import argument_for

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

MAKES = re.compile(r"make_(train|test|predict)_function")


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in module.calls_of("compile", *filter(MAKES.fullmatch, module.called)):
            func = call.node.func
            if not (isinstance(func, ast.Attribute) and _compiles(call, func.attr)):
                continue
            sure = holds_model(func.value, call.where.scope, project)
            found = in_loop(project, call.where) if sure is not None else None
            if found is None or _new_in_step(func.value, call.where.scope, found, found.chain, project):
                continue
            found = found if sure else found.lowered()
            message = (
                f"`{ast.unparse(func)}` is called {each(found, call.place)}: the training step is traced again each "
                f"time. {advice(call, found, project)}"
            )
            yield RULE.finding(call.place, message, **found.where)


def _compiles(call: Call, method: str) -> bool:
    if method == "compile":
        return not any(isinstance(a, ast.Constant) and isinstance(a.value, bytes) for a in call.node.args)
    forced = call.argument(0, "force")
    return MAKES.fullmatch(method) is not None and isinstance(forced, ast.Constant) and forced.value is True


def _new_in_step(receiver: ast.expr, scope: Scope, found: InLoop, chain: tuple[Call, ...], project: Project) -> bool:
    """Whether each step has a model of its own, which has to be compiled."""
    if any(_callee_builds(call, project) for call in chain):
        return True
    if isinstance(receiver, ast.Name):
        for binding in project.bindings(receiver.id, scope):
            if binding.kind == "parameter" and chain:
                argument = argument_for(chain[-1], scope, receiver.id)
                if argument is None or _new_in_step(argument, chain[-1].where.scope, found, chain[:-1], project):
                    return True
            elif binding.where.scope is scope and (chain or stands_in(binding.where, found.loop)):
                return True
        return False
    if isinstance(receiver, ast.Attribute) and _set_in_step(receiver, scope, found, chain, project):
        return True
    return varies(receiver, scope, found.loop, chain, project, calls_vary=True)


def _callee_builds(call: Call, project: Project) -> bool:
    """An object made in the step compiles the model that it has made."""
    target = project.resolve(call.node.func, call.where.scope)
    return target is not None and target.kind == "class"


def _set_in_step(
    receiver: ast.Attribute, scope: Scope, found: InLoop, chain: tuple[Call, ...], project: Project
) -> bool:
    """`self.model`, set by the function that compiles it or by one that the step calls."""
    owner = project.resolve(receiver.value, scope)
    if owner is None or owner.scope is None:
        return False
    functions = {scope, *[call.where.scope for call in chain[1:]]}

    def in_step(binding: Binding) -> bool:
        home = binding.where.scope
        if home in functions and (chain or stands_in(binding.where, found.loop)):
            return True
        callers = project.callers(home)
        return any(stands_in(call.where, found.loop) or call.where.scope in functions & {scope} for call in callers)

    return any(in_step(binding) for binding in owner.scope.attributes.get(receiver.attr, []))


def diagnose(recording: Recording) -> Iterator[Finding]:
    sites = list(measured.recurring(recording, recording.of_kind("compile")))
    for at in sites:
        again = at.total("again")
        if again < measured.FEW:  # another model each time
            continue
        beside = sum(other.count for other in sites if other.loop == at.loop)  # each model is traced as often
        tracing = measured.keras_traces(recording, at.loop) * at.count / beside
        yield measured.finding(
            RULE, recording, at, at.seconds * again / at.count + tracing,
            f"A model that was compiled before was compiled again {at.often} {{cost}}: its step is traced again after "
            "each. Compile once, before the loop.",
            evidence=[Evidence("compilations", at.count), Evidence("tracing again", tracing, "s")],
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.compile_in_loop.once import compile_once

    return compile_once(finding, project)
