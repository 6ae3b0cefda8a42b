"""What a row meets: with all rows at once, each meets all of it, and that may need more memory than there is."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hotloop.rules.rows import FILLED
from hotloop.source.heat import number
from hotloop.source.module import Scope, last_name, names_read

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 4
LARGE = 10_000  # elements: 40 kB of each of some thousand rows
# What puts the elements of one beside those of the other; a matrix product adds them up as it goes.
COMBINES = {
    "add", "atan2", "divide", "divide_no_nan", "equal", "floordiv", "greater", "greater_equal", "less", "less_equal",
    "logical_and", "logical_or", "maximum", "minimum", "mod", "multiply", "not_equal", "pow", "power",
    "squared_difference", "subtract", "truediv", "where",
}  # fmt: skip
WRAPS = {"tf.constant", "tf.Variable", "tf.convert_to_tensor", "tf.cast", "np.array", "np.asarray", "np.float32"}
SUMS_UP = {"mean", "std", "var", "sum", "max", "min", "norm", "shape", "size", "len", "float", "int", "sqrt", "rsqrt"}


def met_by_row(work: Iterable[ast.AST], rows: set[str], scope: Scope, project: Project, depth: int = 0) -> str:
    """What may be large and is broadcast against a row, as it is spelled; "" where nothing is.

    `work`: expressions and assignments in their order; `rows`: the names that stand for the row, or count it.
    """
    rows, work = set(rows), list(work)
    reduced = any(_reduces_axis(node) for part in work for node in ast.walk(part))
    for part in work:
        for node in ast.walk(part):
            sides = _sides(node, scope, project)
            if any(names_read(side) & rows for side in sides):
                for side in sides:
                    if not names_read(side) & rows and _may_be_large(side, scope, project, reduced):
                        return ast.unparse(side)
            if isinstance(node, ast.Call) and (found := _met_inside(node, rows, scope, project, depth)):
                return found
        if isinstance(part, ast.Assign) and names_read(part.value) & rows:
            rows |= {n.id for target in part.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return ""


def met_in_function(function: Scope, project: Project) -> str:
    """The same of a function that gets a row."""
    return _met_in(function, set(_given(function)), project, 0)


def _met_in(function: Scope, rows: set[str], project: Project, depth: int) -> str:
    node = function.node
    body = [node.body] if isinstance(node, ast.Lambda) else getattr(node, "body", [])
    return met_by_row(body, rows, function, project, depth)


def _given(function: Scope) -> list[str]:
    return function.parameters[1:] if function.is_method else function.parameters


def _met_inside(call: ast.Call, rows: set[str], scope: Scope, project: Project, depth: int) -> str:
    """The same of a function of the project's own, of the arguments that it is given."""
    value = project.resolve(call.func, scope) if depth < DEPTH else None
    if value is None or value.kind != "function" or value.scope is None:
        return ""
    named = [*zip(_given(value.scope), call.args, strict=False), *[(k.arg, k.value) for k in call.keywords]]
    given = {name for name, argument in named if name and names_read(argument) & rows}
    return _met_in(value.scope, given, project, depth + 1) if given else ""


def _sides(node: ast.AST, scope: Scope, project: Project) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right] if not isinstance(node.op, ast.MatMult) else []
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call) and last_name(node.func) in COMBINES:
        return list(node.args)
    return []


def _reduces_axis(node: ast.AST) -> bool:
    """`tf.reduce_sum(x, axis=1)`: what the row meets has an axis more than the row, or the row has several."""
    if not isinstance(node, ast.Call) or not _sums_up(last_name(node.func)):
        return False
    return len(node.args) > 1 or any(keyword.arg == "axis" for keyword in node.keywords)


def _sums_up(last: str) -> bool:
    return last in SUMS_UP or last.startswith("reduce_")


def _may_be_large(expr: ast.expr, scope: Scope, project: Project, unknown: bool, depth: int = 0) -> bool:
    """Whether it may be an array of many elements: one may be where nothing says how many.

    `unknown`: the answer for what may be no array at all.
    """
    if depth > DEPTH:
        return unknown
    match expr:
        case ast.Constant():
            return False
        case ast.BinOp():
            return any(_may_be_large(side, scope, project, unknown, depth + 1) for side in (expr.left, expr.right))
        case ast.UnaryOp():
            return _may_be_large(expr.operand, scope, project, unknown, depth + 1)
        case ast.List() | ast.Tuple():
            return len(list(ast.walk(expr))) > LARGE
        case ast.Subscript():
            counts = ast.unparse(expr.value).endswith(".shape")
            return not counts and _may_be_large(expr.value, scope, project, unknown, depth)
        case ast.Call():
            return _makes_large(expr, scope, project, unknown, depth)
    if number(expr, scope, project) is not None:
        return False
    known = project.literal(expr.id, scope) if isinstance(expr, ast.Name) else None
    return _may_be_large(*known, project, unknown, depth + 1) if known is not None else unknown


def _makes_large(call: ast.Call, scope: Scope, project: Project, unknown: bool, depth: int) -> bool:
    name = project.name_of(call.func, scope)
    if _sums_up(last_name(call.func)):
        return False
    if name in WRAPS and call.args:
        return _may_be_large(call.args[0], scope, project, unknown, depth + 1)
    shape = call.args[0] if name in FILLED and call.args else None
    if shape is None:
        return unknown or name.startswith(("tf.", "np."))
    sizes = [number(s, scope, project) for s in (shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape])]
    return None in sizes or math.prod(size for size in sizes if size is not None) > LARGE
