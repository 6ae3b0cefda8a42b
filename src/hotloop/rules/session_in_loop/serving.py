"""Sessions that are opened for a job of many runs: next to these, opening one costs nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.source.heat import loop_heat
from hotloop.source.module import Call, Scope
from hotloop.source.project import argument_for

if TYPE_CHECKING:
    from hotloop.source import Project

FAR = 3  # functions that a session is handed through


def serves_a_loop(call: Call, project: Project) -> bool:
    """`with Session() as sess: while True: sess.run(...)`, there or in what is handed the session."""
    for run in call.where.scope.module.calls_of("run"):
        inside = any(item.context_expr is call.node for around in run.where.withs for item in around.items)
        inner = run.where.loop
        if inside and inner is not None and inner is not call.where.loop and loop_heat(inner, project) == "hot":
            return True
    return any(_runs_in_loop(name, call.where.scope, project, 0) for name in _names(call))


def _names(call: Call) -> set[str]:
    """What the session goes by: `sess` of `with Session() as sess`."""
    items = [item for node in call.where.withs for item in node.items]
    statement = call.where.statement
    items += statement.items if isinstance(statement, ast.With | ast.AsyncWith) else []
    held = [item.optional_vars for item in items if item.context_expr is call.node]
    held += statement.targets if isinstance(statement, ast.Assign) and statement.value is call.node else []
    return {one.id for one in held if isinstance(one, ast.Name)}


def _runs_in_loop(name: str, scope: Scope, project: Project, depth: int) -> bool:
    """Whether a function that is handed the session runs it in a loop, or hands it on to one that does."""
    for call in scope.module.calls if depth < FAR else ():
        given = [*call.node.args, *[keyword.value for keyword in call.node.keywords]]
        if call.where.scope is not scope or not any(isinstance(one, ast.Name) and one.id == name for one in given):
            continue
        value = project.resolve(call.node.func, scope)
        if value is None or value.kind != "function" or (callee := value.scope) is None:
            continue
        for parameter in callee.parameters:
            handed = argument_for(call, callee, parameter)
            if isinstance(handed, ast.Name) and handed.id == name:
                if _is_run_in_loop(parameter, callee, project) or _runs_in_loop(parameter, callee, project, depth + 1):
                    return True
    return False


def _is_run_in_loop(name: str, scope: Scope, project: Project) -> bool:
    for run in scope.module.calls_of("run"):
        func, loop = run.node.func, run.where.loop
        ours = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name
        if ours and run.where.scope is scope and loop is not None and loop_heat(loop, project) == "hot":
            return True
    return False
