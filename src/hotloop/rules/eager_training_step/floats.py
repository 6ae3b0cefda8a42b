"""What is handed to a step as float32: Python numbers that change, such as an annealed weight, and NumPy's doubles.

Eager arithmetic turns both into what they meet; a compiled step is traced for each number, and keeps to float64.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hotloop.rules.rows import holds_model
from hotloop.rules.single_rows import is_array
from hotloop.rules.vectors import is_tensor
from hotloop.source.flow import changing_number
from hotloop.source.module import Context, Scope

if TYPE_CHECKING:
    from hotloop.source import Project

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)


def is_rate(name: str, statements: Iterable[ast.stmt], where: Context, project: Project) -> bool:
    """Whether a name is a Python float that changes, and serves for arithmetic alone: then a tensor serves as well."""
    scope, line = where.scope, where.statement.lineno if where.statement else 0
    if _is_mixed(scope):
        return False
    if changing_number(ast.Name(name, ast.Load(), lineno=line, col_offset=0), where, project) is None:
        return False
    values = [b.value for b in scope.bindings.get(name, []) if b.value is not None]
    if not any(_is_fraction(value) for value in values):
        return False
    operands = {id(side) for n in _sums(statements) for side in (n.left, n.right)}
    return all(id(use) in operands for use in _nodes(statements) if isinstance(use, ast.Name) and use.id == name)


def is_double(name: str, statements: Iterable[ast.stmt], where: Context, project: Project) -> bool:
    """Whether a name is a NumPy array, which as a rule is float64, that meets what a Keras model gives: float32."""
    scope = where.scope
    values = [b.value for b in scope.bindings.get(name, [])]
    if _is_mixed(scope) or not values or not all(_is_numpy(value, where, project) for value in values):
        return False
    pairs = ((n.left, n.right) for n in _sums(statements))
    others = (there for left, right in pairs for here, there in ((left, right), (right, left)) if _is_named(here, name))
    return any(_is_of_model(other, scope, project) for other in others)


def _is_named(expr: ast.expr, name: str) -> bool:
    return isinstance(expr, ast.Name) and expr.id == name


def _is_of_model(expr: ast.expr, scope: Scope, project: Project) -> bool:
    """`model(x)`, or what it is bound to."""
    values = [b.value for b in scope.bindings.get(expr.id, [])] if isinstance(expr, ast.Name) else [expr]
    calls = [value for value in values if isinstance(value, ast.Call)]
    return any(holds_model(call.func, scope, project) for call in calls)


def _is_mixed(scope: Scope) -> bool:
    """What it meets may be of another type."""
    return b"float64" in scope.module.data or b"float16" in scope.module.data


def _is_numpy(value: ast.expr | None, where: Context, project: Project) -> bool:
    while isinstance(value, ast.Subscript):
        value = value.value
    return value is not None and is_array(value, where, project) and not is_tensor(value, where, project)


def _sums(statements: Iterable[ast.stmt]) -> Iterator[ast.BinOp]:
    return (n for n in _nodes(statements) if isinstance(n, ast.BinOp) and isinstance(n.op, ARITHMETIC))


def _nodes(statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    return (node for statement in statements for node in ast.walk(statement))


def _is_fraction(value: ast.expr) -> bool:
    parts = list(ast.walk(value))
    return any(isinstance(part, ast.Div) for part in parts) or any(
        isinstance(part, ast.Constant) and isinstance(part.value, float) for part in parts
    )
