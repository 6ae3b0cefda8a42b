"""Whether a value that is kept in a list could be changed afterwards: a buffer that every step fills anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.rules.moving import mutated_names, root_name
from hotloop.source.module import Context, Loop
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 4  # of names that stand for others
VIEWS = {"tf.convert_to_tensor", "tf.identity"}  # beside NumPy: these may share memory with what they are given
CHANGES = {"assign", "assign_add", "assign_sub", "fill", "partition", "put", "resize", "setflags", "sort"}


def refuse_shared(added: list[ast.expr], where: Context, loop: Loop, project: Project) -> None:
    """Refuses a part that shares its memory with something the loop changes in place: `concat` had copied it."""
    changed = _changed(loop)
    for part in added:
        for node in _shared(part, where, project, DEPTH):
            if node.id in changed:
                reason = f"`{node.id}` is changed in place: a list would hold the same one many times"
                raise Refused(reason, changed[node.id])
            if project.name_of(node, where.scope) == "tf.Variable()":
                raise Refused(f"`{node.id}` is a variable: a list would hold its last value many times", part)


def _changed(loop: Loop) -> dict[str, ast.AST]:
    found = mutated_names(loop.node)
    for node in ast.walk(loop.node):
        if isinstance(node, ast.AugAssign):
            found.update(dict.fromkeys(root_name(node.target), node))
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
                found.update(dict.fromkeys(root_name(node.func), node))
            for keyword in node.keywords:
                if keyword.arg == "out":
                    found.update(dict.fromkeys(root_name(keyword.value), node))
    return found


def _shared(expr: ast.expr, where: Context, project: Project, depth: int) -> Iterator[ast.Name]:
    """The names whose objects the value may be, or be a view of."""
    if isinstance(expr, ast.Attribute | ast.Subscript):
        yield from _shared(expr.value, where, project, depth)
    elif isinstance(expr, ast.List | ast.Tuple):
        for part in expr.elts:
            yield from _shared(part, where, project, depth)
    elif isinstance(expr, ast.Call):
        called = project.name_of(expr.func, where.scope)
        shares = called.startswith("np.") or called in VIEWS
        method = isinstance(expr.func, ast.Attribute) and not called
        for part in expr.args if shares else [expr.func] if method else []:
            yield from _shared(part, where, project, depth)
    elif isinstance(expr, ast.Name):
        yield expr
        for binding in where.scope.bindings.get(expr.id, []) if depth else []:
            if binding.value is not None and binding.where.loop is not None:
                yield from _shared(binding.value, where, project, depth - 1)
