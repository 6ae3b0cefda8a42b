"""Python numbers that change from step to step, such as an annealed weight: which of them may be handed as tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hotloop.source.flow import changing_number
from hotloop.source.module import Context

if TYPE_CHECKING:
    from hotloop.source import Project

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)


def is_rate(name: str, statements: Iterable[ast.stmt], where: Context, project: Project) -> bool:
    """Whether a name is a Python float that changes, and serves for arithmetic alone: then a tensor serves as well."""
    scope, line = where.scope, where.statement.lineno if where.statement else 0
    if b"float64" in scope.module.data or b"float16" in scope.module.data:  # what it meets may be of another type
        return False
    if changing_number(ast.Name(name, ast.Load(), lineno=line, col_offset=0), where, project) is None:
        return False
    values = [b.value for b in scope.bindings.get(name, []) if b.value is not None]
    if not any(_is_fraction(value) for value in values):
        return False
    nodes = [node for statement in statements for node in ast.walk(statement)]
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == name]
    sums = [
        side for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ARITHMETIC) for side in (n.left, n.right)
    ]
    return all(any(use is side for side in sums) for use in uses)


def _is_fraction(value: ast.expr) -> bool:
    parts = list(ast.walk(value))
    return any(isinstance(part, ast.Div) for part in parts) or any(
        isinstance(part, ast.Constant) and isinstance(part.value, float) for part in parts
    )
