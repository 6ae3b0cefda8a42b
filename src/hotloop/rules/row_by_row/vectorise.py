"""The fix: `tf.vectorized_map`, which turns the function of one row into ops on all rows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.hoisting import free_name
from hotloop.rules.moving import call_at, tensorflow_name
from hotloop.rules.on_batch import argument_names
from hotloop.rules.single_rows import all_of
from hotloop.rules.vectors import index_of, rows_taken
from hotloop.source.module import Call
from hotloop.source.rewrite import Refused, Rewriter, substituted

if TYPE_CHECKING:
    from hotloop.source import Project

MAP = ("fn", "elems", "dtype", "parallel_iterations", "back_prop", "swap_memory", "infer_shape", "name")
DROPPED = {"dtype", "fn_output_signature", "infer_shape", "name"}


def vectorise(finding: Finding, project: Project) -> Fix:
    module = project.modules[finding.place.path]
    if not any(call.place == finding.place for call in module.calls):
        raise Refused("a loop that fills a list: write the function of one row and hand it to `tf.vectorized_map`")
    call = call_at(module, finding.place)
    rewriter = Rewriter(module)
    vectorised = f"{tensorflow_name(call.where.scope)}.vectorized_map"
    if call.last == "map_fn":
        _mapped(rewriter, call, vectorised)
    else:
        _stacked(rewriter, call, vectorised, project)
    return rewriter.fix("work on all rows at once", "verify")


def _mapped(rewriter: Rewriter, call: Call, vectorised: str) -> None:
    names = argument_names(call.node, MAP, "map_fn")
    for name in names:
        if name not in ("fn", "elems") and name not in DROPPED:
            raise Refused(f"`{name}` says how to save memory, and all rows at once need more of it", call.node)
    found: Any = rewriter.expression(call.node)
    kept = [a for a, name in zip(found.args, names, strict=True) if name in ("fn", "elems")]
    kept[-1] = kept[-1].with_changes(
        comma=found.args[-1].comma, whitespace_after_arg=found.args[-1].whitespace_after_arg
    )
    rewriter.replace(found, found.with_changes(func=rewriter.parse_expression(vectorised), args=kept))


# -- tf.stack([f(x[i]) for i in range(n)]) -----------------------------------------------------------------------------


def _stacked(rewriter: Rewriter, call: Call, vectorised: str, project: Project) -> None:
    scope, made = call.where.scope, call.node.args[0]
    if call.last == "concat" or len(call.node.args) + len(call.node.keywords) > 1:
        raise Refused(f"`{call.last}` joins the rows otherwise than one after the other", call.node)
    loop = next((one for one in scope.module.loops if one.node is made), None)
    index = index_of(loop, project) if loop else None
    if not isinstance(made, ast.ListComp) or loop is None or index is None or len(made.generators) != 1:
        raise Refused("the rows are counted in a way that cannot be seen", call.node)
    counted = loop.iterable
    if not isinstance(counted, ast.Call) or len(counted.args) != 1:
        raise Refused("the rows are not counted from the first", call.node)
    taken = list(rows_taken(made.elt, index, scope, project))
    wholes: list[str] = []
    for whole, row in taken:
        plain = isinstance(row, ast.Call) or (isinstance(row, ast.Subscript) and isinstance(row.slice, ast.Name))
        if not plain or (isinstance(row, ast.Call) and len(row.args) + len(row.keywords) > 2):
            raise Refused(f"`{ast.unparse(row)}` is more than a row", row)
        if ast.unparse(whole) not in wholes:
            wholes.append(ast.unparse(whole))
    count = rewriter.code(rewriter.expression(counted.args[0]))
    rows = [all_of(whole, count) for whole in wholes]
    found = rewriter.expression(call.node)
    if len(taken) == 1 and taken[0][1] is made.elt:
        rewriter.replace(found, rewriter.parse_expression(rows[0]))
        return
    parameter = free_name("row" if len(rows) == 1 else "rows", scope)
    inner = [parameter] if len(rows) == 1 else [f"{parameter}[{number}]" for number in range(len(rows))]
    body = _with_rows(rewriter, made.elt, taken, dict(zip(wholes, inner, strict=True)))
    given = rows[0] if len(rows) == 1 else f"({', '.join(rows)})"
    rewriter.replace(found, rewriter.parse_expression(f"{vectorised}(lambda {parameter}: {body}, {given})"))


def _with_rows(
    rewriter: Rewriter, expr: ast.expr, taken: list[tuple[ast.expr, ast.expr]], named: dict[str, str]
) -> str:
    """The code of an expression with names in the place of the rows."""
    changes = {rewriter.expression(row): [rewriter.parse_expression(named[ast.unparse(whole)])] for whole, row in taken}
    return rewriter.code(substituted(rewriter.expression(expr), changes))
