"""A model that a training step calls on one example of its batch after the other: which call, in which loop."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from hotloop.model import Confidence
from hotloop.rules.loops import InLoop, outside_loops
from hotloop.rules.rows import holds_model, may_be_row, one_row
from hotloop.rules.vectors import index_of, rows_taken
from hotloop.source.heat import FEW, loop_heat, trips
from hotloop.source.module import Call, Loop, Scope, names_read
from hotloop.source.project import argument_for, loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

LIBRARIES = {"tf", "np", "keras", "tfp", "jnp", "jax", "os", "math", "random", "re", "json", "logging", "itertools"}


def called_on_example(call: Call, project: Project) -> InLoop | None:
    """The loop over a batch, inside a step, of which a call of a model gets one example."""
    if not _may_take_one(call, project):
        return None
    sure = holds_model(call.node.func, call.where.scope, project, by_name=True)
    found = _over_batch(call, project) if sure is not None else None
    return found if sure or found is None else found.lowered()


def _may_take_one(call: Call, project: Project) -> bool:
    """Before the model is looked up: one row in a loop, or `f(x[None])` in a function that a loop may call."""
    if not call.node.args or not _may_be_model(call.node.func):
        return False
    data, scope = call.node.args[0], call.where.scope
    if call.where.loop is None:
        return may_be_row(data, scope)
    return any(one_row(data, scope, InLoop(loop, (), "hot", "high"), project) for loop in loops_of(call.where))


def _may_be_model(func: ast.expr) -> bool:
    """A name or an attribute, but no builtin, and nothing of a library that is known by its usual name."""
    if isinstance(func, ast.Name):
        return not hasattr(builtins, func.id)
    return isinstance(func, ast.Attribute) and not (isinstance(func.value, ast.Name) and func.value.id in LIBRARIES)


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
