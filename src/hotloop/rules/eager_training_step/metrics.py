"""Keras metrics that a step updates: they belong into it, if it is one metric for all steps, or can become one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.rules.loops import in_loop
from hotloop.source.module import Binding, Context
from hotloop.source.project import loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

METHODS = {"update_state", "result", "reset_state", "reset_states"}  # that keep the metric to itself


def updates_metric(statement: ast.stmt, where: Context, project: Project) -> bool:
    """`metric.update_state(...)` or `metric(...)`, of a metric that a compiled step may keep."""
    name = _updated(statement)
    made = _made(name, where, project)
    return made is not None and (made.where.loop is None or made_anew(name, where, project) is not None)


def updates_one_of_several(statement: ast.stmt, where: Context, project: Project) -> bool:
    """Of a metric that another takes the place of while the steps go on: compiled, each would be traced anew."""
    name = _updated(statement)
    bindings = project.bindings(name, where.scope) if name else ()
    made = [project.name_of(b.value, b.where.scope) if b.value is not None else "" for b in bindings]
    outer = list(loops_of(where))[1:]
    replaced = any(b.where.loop in outer for b in bindings) and made_anew(name, where, project) is None
    return replaced and all(name.startswith("keras.metrics.") for name in made)


def _updated(statement: ast.stmt) -> str:
    """The name of what `metric.update_state(...)` or `metric(...)` updates; "" of any other statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    func = call.func if isinstance(call, ast.Call) else None
    if isinstance(func, ast.Attribute) and func.attr == "update_state":
        func = func.value
    return func.id if isinstance(func, ast.Name) else ""


def made_anew(name: str, where: Context, project: Project) -> ast.stmt | None:
    """What makes a metric in each pass of a loop around the steps, where resetting one metric would do as well."""
    made, scope = _made(name, where, project), where.scope
    outer = list(loops_of(where))[1:]
    if made is None or made.where.loop not in outer or not isinstance(made.value, ast.Call):
        return None
    given = [*made.value.args, *[keyword.value for keyword in made.value.keywords]]
    if not all(isinstance(value, ast.Constant) for value in given):
        return None
    if scope.is_function and in_loop(project, outer[-1].where):
        return None  # each call of the function would have a metric of its own
    statement = made.where.statement
    in_body = isinstance(statement, ast.Assign) and statement in getattr(made.where.loop.node, "body", [])
    return statement if in_body and _keeps_to_itself(name, scope.node) else None


def _made(name: str, where: Context, project: Project) -> Binding | None:
    bindings = project.bindings(name, where.scope)
    if len(bindings) != 1 or bindings[0].value is None:
        return None
    made = project.name_of(bindings[0].value, bindings[0].where.scope)
    return bindings[0] if bindings[0].kind == "assign" and made.startswith("keras.metrics.") else None


def _keeps_to_itself(name: str, scope: ast.AST) -> bool:
    """Whether the metric is only asked and updated: one that is kept in a list has to be one of its own."""
    own: set[int] = set()
    for node in ast.walk(scope):
        func = node.func if isinstance(node, ast.Call) else None
        if isinstance(func, ast.Attribute) and func.attr in METHODS:
            func = func.value
        own.add(id(func))
    named = (node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == name)
    return all(id(node) in own for node in named if isinstance(node.ctx, ast.Load))
