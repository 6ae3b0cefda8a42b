"""Code that takes one row of an array at a time: of which array, and what all its rows are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.rules.vectors import is_tensor, rows_taken
from hotloop.source.module import Call, Context, Loop, Scope
from hotloop.source.rewrite import Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

ADDS_AXIS = {"tf.expand_dims", "np.expand_dims"}
NEW_AXIS = {"None", "tf.newaxis", "np.newaxis", "numpy.newaxis"}


def whole_of(data: ast.expr, index: str, loop: Loop, project: Project) -> tuple[ast.expr, ast.expr] | None:
    """`x` and `x[i]` of `x[i : i + 1]`, `x[i][None]` or `tf.expand_dims(x[i], 0)`, also where that has a name."""
    scope = loop.where.scope
    said = spelled(data, scope)
    taken = list(rows_taken(said, index, scope, project)) if said is not None else []
    if said is None or len(taken) != 1:
        return None
    whole, row = taken[0]
    if said is row:
        kept = isinstance(row, ast.Subscript) and ast.unparse(row.slice) == f"{index}:{index} + 1"
        return (whole, row) if kept else None
    plain = isinstance(row, ast.Subscript) and isinstance(row.slice, ast.Name)
    return (whole, row) if plain and adds_axis(said, scope, project) is row else None


def row_of(said: ast.expr, index: str, scope: Scope, project: Project) -> tuple[ast.expr, ast.expr] | None:
    """`x` and `x[i]`, where the expression is plainly that."""
    taken = list(rows_taken(said, index, scope, project))
    plain = isinstance(said, ast.Subscript) and isinstance(said.slice, ast.Name)
    return taken[0] if plain and len(taken) == 1 and taken[0][1] is said else None


def spelled(data: ast.expr, scope: Scope) -> ast.expr | None:
    """The expression, or the one that its name is given."""
    if not isinstance(data, ast.Name):
        return data
    bindings = scope.bindings.get(data.id, [])
    return bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None


def adds_axis(data: ast.expr, scope: Scope, project: Project) -> ast.expr | None:
    """`row` of `row[None]`, `row[np.newaxis, :]` or `np.expand_dims(row, 0)`: one row as a batch of one."""
    if isinstance(data, ast.Subscript):
        parts = data.slice.elts if isinstance(data.slice, ast.Tuple) else [data.slice]
        new = bool(parts) and ast.unparse(parts[0]) in NEW_AXIS
        return data.value if new and all(ast.unparse(part) in (":", "...") for part in parts[1:]) else None
    if isinstance(data, ast.Call) and project.name_of(data.func, scope) in ADDS_AXIS and data.args:
        axis = [ast.unparse(part) for part in (*data.args[1:], *[k.value for k in data.keywords])]
        return data.args[0] if axis == ["0"] else None
    return None


def reshaped(data: ast.expr, scope: Scope, project: Project) -> tuple[ast.expr, list[ast.expr]] | None:
    """`row`, and `a, b`, of `row.reshape(1, a, b)` or `np.reshape(row, (1, a, b))`: one row as a batch of one."""
    if not isinstance(data, ast.Call) or data.keywords:
        return None
    row, given = (
        (data.args[0], data.args[1:]) if project.name_of(data.func, scope) == "np.reshape" else (None, data.args)
    )
    if row is None and isinstance(data.func, ast.Attribute) and data.func.attr == "reshape":
        row = data.func.value
    sizes = given[0].elts if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List) else given
    one = len(sizes) > 1 and isinstance(sizes[0], ast.Constant) and sizes[0].value == 1
    return (row, list(sizes[1:])) if row is not None and one else None


def all_of(whole: str, count: str) -> str:
    """`x` where as many rows are counted as it has; else as many of them."""
    own = {f"{whole}.shape[0]", f"len({whole})", f"tf.shape({whole})[0]", f"int({whole}.shape[0])"}
    return whole if count in own else f"{whole}[:{count}]"


def is_array(expr: ast.expr, where: Context, project: Project, depth: int = 4) -> bool:
    """Surely an array or a tensor; a list of rows is not one."""
    name = project.name_of(expr, where.scope)
    if (name.startswith("np.") and name.endswith("()")) or is_tensor(expr, where, project):
        return True
    if name.startswith("keras.datasets.") or depth == 0:
        return name.endswith("load_data()")
    if isinstance(expr, ast.BinOp):
        return is_array(expr.left, where, project, depth - 1) or is_array(expr.right, where, project, depth - 1)
    if isinstance(expr, ast.Subscript):
        return isinstance(expr.slice, ast.Slice) and is_array(expr.value, where, project, depth - 1)
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in ("astype", "reshape"):
        return is_array(expr.func.value, where, project, depth - 1)
    if not isinstance(expr, ast.Name):
        return False
    bound = project.bindings(expr.id, where.scope)
    return bool(bound) and all(b.value is not None and is_array(b.value, b.where, project, depth - 1) for b in bound)


def drop_row(rewriter: Rewriter, data: ast.expr, call: Call, loop: Loop) -> None:
    """`row = np.expand_dims(x[i], 0)`, which nothing else reads."""
    body: list[ast.stmt] = getattr(loop.node, "body", [])
    name = getattr(data, "id", None)
    made = [s for s in body if isinstance(s, ast.Assign) and [ast.unparse(t) for t in s.targets] == [name]]
    if len(made) != 1 or len(body) == 1:
        return
    own = {id(n) for part in (made[0], loop.node.target, data) for n in ast.walk(part)}  # type: ignore[union-attr]
    names = (n for n in ast.walk(call.where.scope.node) if isinstance(n, ast.Name) and n.id == name)
    if all(id(n) in own for n in names):
        rewriter.replace(rewriter.statement(made[0]))
