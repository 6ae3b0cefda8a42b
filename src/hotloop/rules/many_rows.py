"""How many rows an array has, as far as source shows: all of a file or a table, or as many as a size says."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from hotloop.rules.batches import is_row_of_batch
from hotloop.rules.loops import in_loop
from hotloop.rules.rows import FEW_ROWS, FILLED, ROW_FOR_ROW, one_row
from hotloop.source.heat import number, trips
from hotloop.source.module import Call, Context, Loop, Scope
from hotloop.source.project import loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 4  # steps from name to name
FILES = {f"np.{name}" for name in ("load", "loadtxt", "genfromtxt", "fromfile", "memmap")}
TABLES = ("pandas.read_", "pandas.concat")
JOINS = {f"np.{name}" for name in ("array", "asarray", "stack", "vstack", "concatenate")} | {
    "tf.stack", "tf.concat", "tf.constant", "tf.convert_to_tensor",
}  # fmt: skip
SAME_ROWS = {"astype", "copy", "to_numpy", "fillna", "drop", "reshape"}
ONE_OF_A_TABLE = {"iloc", "loc", "iat", "at"}
DRAWN = FILLED | {f"np.random.{name}" for name in ("normal", "uniform", "random", "randint")}


def holds_many(data: ast.expr, scope: Scope, project: Project, depth: int = 0) -> bool:
    """What a file or a table has, or a list that a loop filled: a batch of its own size, or far more than one."""
    if depth > DEPTH:
        return False
    match data:
        case ast.Name():
            bound = scope.bindings.get(data.id, [])
            values = [b.value for b in bound if b.kind == "assign" and b.value is not None]
            chunk = any(b.kind == "target" and _in_chunks(b.node) for b in bound)
            return chunk or any(holds_many(value, scope, project, depth + 1) for value in values)
        case ast.List():  # one for each input
            return any(holds_many(part, scope, project, depth + 1) for part in data.elts)
        case ast.BinOp():
            return any(holds_many(side, scope, project, depth + 1) for side in (data.left, data.right))
        case ast.Attribute(attr="values"):
            return _is_of_table(data.value)
        case ast.Subscript():
            return _keeps_rows(data.slice) and holds_many(data.value, scope, project, depth + 1)
        case ast.Call():
            return _makes_many(data, scope, project, depth)
    return False


def _makes_many(call: ast.Call, scope: Scope, project: Project, depth: int) -> bool:
    name = project.name_of(call, scope).removesuffix("()")  # also of what a function of the project's own returns
    if name in FILES or name.startswith(TABLES):
        return True
    if name in JOINS and call.args:
        return _is_filled(call.args[0], scope, project) or holds_many(call.args[0], scope, project, depth + 1)
    if isinstance(call.func, ast.Attribute) and call.func.attr in ROW_FOR_ROW and call.args:
        return holds_many(call.args[0], scope, project, depth + 1)
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in SAME_ROWS):
        return False
    return (call.func.attr == "to_numpy" and _is_of_table(call.func.value)) or holds_many(
        call.func.value, scope, project, depth + 1
    )


def _in_chunks(loop: ast.AST) -> bool:
    """`for part in pd.read_csv(path, chunksize=1000)`."""
    iterable = getattr(loop, "iter", None)
    calls = (node for node in ast.walk(iterable) if isinstance(node, ast.Call)) if iterable is not None else ()
    return any(keyword.arg == "chunksize" for call in calls for keyword in call.keywords)


def _is_of_table(table: ast.expr) -> bool:
    """`table[columns]`; what `table.iloc[i]` gives may be one row of it."""
    return not any(isinstance(node, ast.Attribute) and node.attr in ONE_OF_A_TABLE for node in ast.walk(table))


def _keeps_rows(index: ast.expr) -> bool:
    """`archive["x"]`, `table[["x", "y"]]`, `x[:]` and `x[..., None]`."""
    first = index.elts[0] if isinstance(index, ast.Tuple | ast.List) and index.elts else index
    if isinstance(first, ast.Slice):
        return first.lower is None and first.upper is None
    return isinstance(first, ast.Constant) and (isinstance(first.value, str) or first.value is ...)


# -- a list that a loop fills ------------------------------------------------------------------------------------------


def _is_filled(parts: ast.expr, scope: Scope, project: Project) -> bool:
    if isinstance(parts, ast.ListComp):
        loop = next((one for one in scope.module.loops if one.node is parts), None)
        return loop is not None and _is_long(loop, project)
    if not isinstance(parts, ast.Name):
        return False
    made = [b.where for b in scope.bindings.get(parts.id, []) if b.value is not None and _is_empty(b.value)]
    appends = [
        call.where for call in scope.module.calls_of("append", "extend")
        if call.where.scope is scope and isinstance(call.node.func, ast.Attribute)
        and ast.unparse(call.node.func.value) == parts.id
    ]  # fmt: skip
    return any(_is_long(loop, project) for at in appends for before in made for loop in _between(at, before))


def _is_empty(value: ast.expr) -> bool:
    return ast.unparse(value) in ("[]", "list()")


def _between(inner: Context, outer: Context) -> list[Loop]:
    """The loops around the one that are not around the other."""
    around = list(loops_of(outer))
    return [loop for loop in loops_of(inner) if loop not in around]


def _is_long(loop: Loop, project: Project) -> bool:
    """Not one over a batch, whose rows are those of one call."""
    steps = trips(loop, project)
    if steps is not None and steps <= FEW_ROWS:
        return False
    return loop.iterable is None or re.search(r"batch|sample", ast.unparse(loop.iterable).lower()) is None


# -- rows that a size says ---------------------------------------------------------------------------------------------


def may_be_more(call: Call, size: ast.expr, project: Project) -> bool:
    """Whether the data of a call may have more rows than the `batch_size` that it is given."""
    data, scope = call.argument(0, "x"), call.where.scope
    if data is None:
        return False
    if isinstance(data, ast.List) and len(data.elts) > 1:
        data = data.elts[0]  # a model of several inputs
    found = in_loop(project, call.where)
    if is_row_of_batch(data, call, project) or (found is not None and one_row(data, scope, found, project)):
        return False
    count = rows_of(data, scope, project)
    own = {f"len({ast.unparse(data)})", f"{ast.unparse(data)}.shape[0]", ast.unparse(count) if count else ""}
    rows, most = number(count, scope, project) if count else None, number(size, scope, project)
    return ast.unparse(size) not in own and (rows is None or most is None or rows > most)


def rows_of(data: ast.expr | None, scope: Scope, project: Project, depth: int = 0) -> ast.expr | None:
    """`BATCH` of `x[i : i + BATCH]`, of `x[order[i : i + BATCH]]`, or of `np.random.normal(0, 1, (BATCH, 100))`."""
    if depth > DEPTH:
        return None
    if isinstance(data, ast.Name):
        known = project.literal(data.id, scope)
        data = known[0] if known else None
    if isinstance(data, ast.Call) and project.name_of(data.func, scope) in DRAWN:
        given = [*data.args, *[k.value for k in data.keywords if k.arg in ("size", "shape")]]
        shapes = [one for one in given if isinstance(one, ast.Tuple | ast.List) and one.elts]
        return shapes[0].elts[0] if shapes else None
    index = data.slice if isinstance(data, ast.Subscript) else None
    if isinstance(index, ast.Name | ast.Subscript):
        return rows_of(index, scope, project, depth + 1)
    upper = index.upper if isinstance(index, ast.Slice) else None
    return upper.right if isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add) else None
