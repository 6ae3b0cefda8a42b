"""The fix: `tf.vectorized_map`, which turns the function of one row into ops on all rows."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.hoisting import free_name
from hotloop.rules.moving import call_at, names_in, statements_around, tensorflow_name
from hotloop.rules.on_batch import argument_names
from hotloop.rules.row_by_row.memory import met_by_row, met_in_function
from hotloop.rules.single_rows import all_of
from hotloop.rules.vectors import index_of, rows_of, rows_taken
from hotloop.source.module import Call, Comprehension, Loop, Scope
from hotloop.source.rewrite import Refused, Rewriter, substituted

if TYPE_CHECKING:
    from hotloop.source import Project

MAP = ("fn", "elems", "dtype", "parallel_iterations", "back_prop", "swap_memory", "infer_shape", "name")
DROPPED = {"dtype", "fn_output_signature", "infer_shape", "name"}


def vectorise(finding: Finding, project: Project) -> Fix:
    module = project.modules[finding.place.path]
    rewriter = Rewriter(module)
    loop = next((one for one in module.loops if one.place == finding.place and isinstance(one.node, ast.For)), None)
    if loop is not None:
        _filled(rewriter, loop, project)
        return rewriter.fix("work on all rows at once", "verify")
    call = call_at(module, finding.place)
    if call.last == "map_fn":
        _mapped(rewriter, call, _vectorised(call.where.scope), project)
    else:
        _stacked(rewriter, call, project)
    return rewriter.fix("work on all rows at once", "verify")


def _vectorised(scope: Scope) -> str:
    return f"{tensorflow_name(scope)}.vectorized_map"


def _refuse_large(met: str, node: ast.expr) -> None:
    if met:
        raise Refused(f"every row at once with all of `{met}` may not fit in memory: take some rows at a time", node)


def _mapped(rewriter: Rewriter, call: Call, vectorised: str, project: Project) -> None:
    names = argument_names(call.node, MAP, "map_fn")
    for name in names:
        if name not in ("fn", "elems") and name not in DROPPED:
            raise Refused(f"`{name}` says how to save memory, and all rows at once need more of it", call.node)
    function = call.argument(0, "fn")
    passed = project.resolve(function, call.where.scope) if function is not None else None
    if passed is not None and passed.kind == "function" and passed.scope is not None:
        _refuse_large(met_in_function(passed.scope, project), call.node)
    found: Any = rewriter.expression(call.node)
    kept = [a for a, name in zip(found.args, names, strict=True) if name in ("fn", "elems")]
    kept[-1] = kept[-1].with_changes(
        comma=found.args[-1].comma, whitespace_after_arg=found.args[-1].whitespace_after_arg
    )
    rewriter.replace(found, found.with_changes(func=rewriter.parse_expression(vectorised), args=kept))


# -- tf.stack([f(x[i]) for i in range(n)]) -----------------------------------------------------------------------------


def _stacked(rewriter: Rewriter, call: Call, project: Project) -> None:
    made = call.node.args[0]
    _require_plain_join(call)
    loop = next((one for one in call.where.scope.module.loops if one.node is made), None)
    if not isinstance(made, ast.ListComp) or loop is None or len(made.generators) != 1:
        raise Refused("the rows are counted in a way that cannot be seen", call.node)
    new = _on_all_rows(rewriter, call, loop, made.elt, project)
    rewriter.replace(rewriter.expression(call.node), rewriter.parse_expression(new))


def _require_plain_join(call: Call) -> None:
    if call.last == "concat" or len(call.node.args) + len(call.node.keywords) > 1:
        raise Refused(f"`{call.last}` joins the rows otherwise than one after the other", call.node)


def _on_all_rows(rewriter: Rewriter, join: Call, loop: Loop, work: ast.expr, project: Project) -> str:
    """The code of `work` on all rows that the loop counts, for the place of what joins them."""
    scope, index, counted = join.where.scope, index_of(loop, project), loop.iterable
    if index is None:
        return _on_elements(rewriter, join, loop, work, project)
    if not isinstance(counted, ast.Call) or len(counted.args) != 1:
        raise Refused("the rows are not counted from the first", join.node)
    _refuse_large(met_by_row([work], {index}, scope, project), join.node)
    taken = list(rows_taken(work, index, scope, project))
    wholes: list[str] = []
    for whole, row in taken:
        plain = isinstance(row, ast.Call) or (isinstance(row, ast.Subscript) and isinstance(row.slice, ast.Name))
        if not plain or (isinstance(row, ast.Call) and len(row.args) + len(row.keywords) > 2):
            raise Refused(f"`{ast.unparse(row)}` is more than a row", row)
        if ast.unparse(whole) not in wholes:
            wholes.append(ast.unparse(whole))
    count = rewriter.code(rewriter.expression(counted.args[0]))
    rows = [all_of(whole, count) for whole in wholes]
    if len(taken) == 1 and taken[0][1] is work:
        return rows[0]
    wanted = ("row", "r", "each") if len(rows) == 1 else ("rows",)
    parameter = next((name for name in wanted if free_name(name, scope) == name), free_name(wanted[0], scope))
    inner = [parameter] if len(rows) == 1 else [f"{parameter}[{number}]" for number in range(len(rows))]
    body = _with_rows(rewriter, work, taken, dict(zip(wholes, inner, strict=True)))
    given = rows[0] if len(rows) == 1 else f"({', '.join(rows)})"
    return f"{_vectorised(scope)}(lambda {parameter}: {body}, {given})"


def _on_elements(rewriter: Rewriter, join: Call, loop: Loop, work: ast.expr, project: Project) -> str:
    """The same of `for row in x`."""
    rows = rows_of(loop, project)
    if len(rows) != 1 or loop.iterable is None:
        raise Refused("the rows are counted in a way that cannot be seen", join.node)
    _refuse_large(met_by_row([work], set(rows), join.where.scope, project), join.node)
    body, whole = (rewriter.code(rewriter.expression(part)) for part in (work, loop.iterable))
    return f"{_vectorised(join.where.scope)}(lambda {next(iter(rows))}: {body}, {whole})"


def _with_rows(
    rewriter: Rewriter, expr: ast.expr, taken: list[tuple[ast.expr, ast.expr]], named: dict[str, str]
) -> str:
    """The code of an expression with names in the place of the rows."""
    changes = {rewriter.expression(row): [rewriter.parse_expression(named[ast.unparse(whole)])] for whole, row in taken}
    return rewriter.code(substituted(rewriter.expression(expr), changes))


# -- a loop that fills a list ------------------------------------------------------------------------------------------


def _filled(rewriter: Rewriter, loop: Loop, project: Project) -> None:
    """`rows = []`, a loop that does nothing but append to it, and `tf.stack(rows)` in the next statement."""
    node, scope = loop.node, loop.where.scope
    block = statements_around(scope.module, node)  # type: ignore[arg-type]
    at = block.index(node)  # type: ignore[arg-type]
    made, after = (block[at - 1], block[at + 1]) if 0 < at < len(block) - 1 else (None, None)
    name, work = _appended(node)
    join = next((c for c in scope.module.calls if _joins(c, name) and c.where.statement is after), None)
    empty = isinstance(made, ast.Assign) and f"{name} = []" == ast.unparse(made)
    if work is None or join is None or after is None or not isinstance(made, ast.Assign) or not empty:
        raise Refused("a loop that fills a list: write the function of one row and hand it to `tf.vectorized_map`")
    _require_plain_join(join)
    lines = scope.module.data.splitlines()[made.lineno - 1 : node.end_lineno]
    if any(b"#" in line for line in lines):
        raise Refused("the comments in the loop would be lost", node)
    renewed = isinstance(after, ast.Assign) and [ast.unparse(target) for target in after.targets] == [name]
    for read in loop.targets if renewed else {name, *loop.targets}:
        if _is_read_later(read, after, scope):
            raise Refused(f"`{read}` is read after the loop, too", node)
    new = rewriter.parse_expression(_on_all_rows(rewriter, join, loop, work, project))
    first, last = rewriter.statement(made), rewriter.statement(after)
    joined = substituted(last, {rewriter.expression(join.node): [new]})
    rewriter.replace(first, joined.with_changes(leading_lines=[*first.leading_lines, *_comments(last)]))
    rewriter.replace(rewriter.statement(node))  # type: ignore[arg-type]
    rewriter.replace(last)


def _comments(statement: Any) -> list[Any]:
    return [line for line in statement.leading_lines if line.comment is not None]


def _appended(node: ast.AST) -> tuple[str, ast.expr | None]:
    match node:
        case ast.For(body=[ast.Expr(value=ast.Call(func=func, args=[work]))], orelse=[]):
            if isinstance(func, ast.Attribute) and func.attr == "append" and isinstance(func.value, ast.Name):
                return func.value.id, work
    return "", None


def _joins(call: Call, name: str) -> bool:
    return bool(call.node.args) and ast.unparse(call.node.args[0]) == name and call.last != "append"


def _is_read_later(name: str, after: ast.stmt, scope: Scope) -> bool:
    """Whether the value that a name has after a statement may be read; not by a loop that counts with it anew."""
    loops = [n for n in ast.walk(scope.node) if isinstance(n, ast.For | Comprehension) and name in _bound_by(n)]
    own = {id(inner) for loop in loops for inner in ast.walk(loop)}
    names = (n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name and id(n) not in own)
    return any(isinstance(n.ctx, ast.Load) and n.lineno > (after.end_lineno or 0) for n in names)


def _bound_by(loop: ast.For | Comprehension) -> Collection[str]:
    if isinstance(loop, Comprehension):
        return names_in(part.target for part in loop.generators).binds
    return names_in([loop]).binds
