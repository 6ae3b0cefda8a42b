"""Batches that are made of a list which the program fills: an episode, a buffer. They are seldom of one length."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.source.module import Context, Scope
from hotloop.source.project import argument_for, loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 3  # of following names


def takes_collected(scope: Scope, project: Project) -> bool:
    """Whether a function is handed such batches: each length would be traced anew."""
    for call in project.callers(scope):
        given = (argument_for(call, scope, name) for name in scope.parameters)
        if any(value is not None and is_collected(value, call.where, project) for value in given):
            return True
    return False


def is_collected(expr: ast.expr, where: Context, project: Project, depth: int = DEPTH) -> bool:
    """Whether a value is made of a list that is filled, item by item, in a loop around this step."""
    scope, loops = where.scope, set(loops_of(where))
    filled = {
        ast.unparse(call.node.func) for call in scope.module.calls_of("append") if loops & {*loops_of(call.where)}
    }
    for node in ast.walk(expr):
        bindings = scope.bindings.get(node.id, []) if isinstance(node, ast.Name) else []
        for value in (binding.value for binding in bindings):
            if isinstance(value, ast.List) and f"{ast.unparse(node)}.append" in filled:
                return True
            if depth and value is not None and is_collected(value, where, project, depth - 1):
                return True
    return False
