"""A mean over examples that a loop adds up, taken at once: `loss += mean(f(x[i : i + 1])) / n`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.rules.moving import statements_around
from hotloop.rules.vectors import rows_taken
from hotloop.source.module import Call, Loop, Scope
from hotloop.source.rewrite import Rewriter, body_of, substituted

if TYPE_CHECKING:
    from hotloop.source import Project

MEANS = {"tf.reduce_mean", "keras.ops.mean", "keras.backend.mean"}
ELEMENTWISE = {
    "tf.abs", "tf.math.abs", "tf.square", "tf.math.square", "tf.math.squared_difference", "tf.subtract", "tf.exp",
    "tf.math.log", "tf.sqrt", "tf.sigmoid", "tf.tanh", "tf.nn.relu", "tf.nn.softplus", "tf.cast", "tf.maximum",
    "tf.minimum", "tf.nn.sigmoid_cross_entropy_with_logits",
}  # fmt: skip


def averaged(rewriter: Rewriter, call: Call, loop: Loop, index: str, project: Project) -> bool:
    """Write the loop as straight lines on the whole batch; False where it is not of that form."""
    node, scope = loop.node, loop.where.scope
    if not isinstance(node, ast.For) or node.orelse or not isinstance(node.iter, ast.Call) or len(node.iter.args) != 1:
        return False
    *before, last = node.body
    if not (isinstance(last, ast.AugAssign) and isinstance(last.op, ast.Add) and isinstance(last.target, ast.Name)):
        return False
    start = start_of(node, last.target.id, scope)
    mean, factor = _mean(last.value, ast.unparse(node.iter.args[0]))
    if start is None or not _is_straight(before, call) or _is_read_later(node, last.target.id, scope):
        return False
    rows = [row for part in node.body for _, row in rows_taken(part, index, scope, project)]
    if not all(_keeps_rank(row, index) for row in rows) or _counts(node, index, rows):
        return False
    own = {id(node) for node in ast.walk(call.node)}
    if not _is_mean(mean, call, all(id(row) in own for row in rows), project):
        return False
    _write(rewriter, node, start, last, (mean, factor), [r for r in rows if isinstance(r, ast.Subscript)])
    return True


def start_of(node: ast.For, name: str, scope: Scope) -> ast.Assign | None:
    """`loss = 0.0`, directly before the loop."""
    block = statements_around(scope.module, node)
    at = block.index(node)
    found = block[at - 1] if at else None
    zero = isinstance(found, ast.Assign) and [ast.unparse(t) for t in found.targets] == [name]
    return found if isinstance(found, ast.Assign) and zero and ast.unparse(found.value) in ("0", "0.0") else None


def _mean(value: ast.expr, count: str) -> tuple[ast.expr, str]:
    """`mean(...)` of `mean(...) / n`: added up, that is the mean over all. Without the division, it is n times that."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) and ast.unparse(value.right) == count:
        return value.left, ""
    return value, count


def _is_mean(value: ast.expr, call: Call, alone: bool, project: Project) -> bool:
    """A Keras loss, or the mean of something elementwise, if the model's results are `alone` in it.

    Labels may have a dimension less: each meets its own prediction, but all of them would meet all. Keras sees to that.
    """
    scope = call.where.scope
    if not isinstance(value, ast.Call) or value.keywords:
        return False
    name = project.name_of(value.func, scope)
    if name.startswith("keras.losses.") and name.endswith("()"):
        return is_keras_loss(value, scope, project) and all(_is_elementwise(a, call, project) for a in value.args)
    return alone and name in MEANS and len(value.args) == 1 and _is_elementwise(value.args[0], call, project)


def is_keras_loss(value: ast.expr, scope: Scope, project: Project) -> bool:
    """A call of a Keras loss that takes the mean over its batch, as they do unless told otherwise."""
    if not isinstance(value, ast.Call) or value.keywords:
        return False
    name = project.name_of(value.func, scope)
    makers = [b.value for b in project.bindings(ast.unparse(value.func), scope)]
    reduced = any(isinstance(m, ast.Call) and any(k.arg == "reduction" for k in m.keywords) for m in makers)
    return name.startswith("keras.losses.") and name.endswith("()") and bool(makers) and not reduced


def _is_elementwise(value: ast.expr, call: Call, project: Project) -> bool:
    if value is call.node or isinstance(value, ast.Subscript | ast.Name | ast.Constant):
        return True
    if isinstance(value, ast.BinOp):
        return _is_elementwise(value.left, call, project) and _is_elementwise(value.right, call, project)
    if isinstance(value, ast.UnaryOp):
        return _is_elementwise(value.operand, call, project)
    if isinstance(value, ast.Call) and project.name_of(value.func, call.where.scope) in ELEMENTWISE:
        given = [*value.args, *[k.value for k in value.keywords]]
        return all(isinstance(part, ast.Attribute) or _is_elementwise(part, call, project) for part in given)
    return False


def _is_straight(statements: list[ast.stmt], call: Call) -> bool:
    """Nothing before the sum but `p = model(x[i : i + 1])`."""
    named = [
        isinstance(s, ast.Assign) and s.value is call.node and isinstance(s.targets[0], ast.Name) for s in statements
    ]
    return len(named) <= 1 and all(named)


def _is_read_later(node: ast.For, total: str, scope: Scope) -> bool:
    """A name of the loop other than the sum, after it: it would hold the batch, not the last example."""
    bound = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - {total}
    end = node.end_lineno or 0
    names = (n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.lineno > end)
    return any(name.id in bound and isinstance(name.ctx, ast.Load) for name in names)


def _keeps_rank(row: ast.expr, index: str) -> bool:
    """`y[i : i + 1]`; of `y[i]` the batch may meet the predictions in another shape."""
    return isinstance(row, ast.Subscript) and ast.unparse(row.slice) == f"{index}:{index} + 1"


def _counts(node: ast.For, index: str, rows: list[ast.expr]) -> bool:
    """Whether the counter serves for more than taking rows."""
    within = {id(n) for row in rows for n in ast.walk(row)}
    used = (n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name) and n.id == index)
    return any(id(n) not in within for n in used)


def _write(
    rewriter: Rewriter,
    node: ast.For,
    start: ast.Assign,
    last: ast.AugAssign,
    mean: tuple[ast.expr, str],
    rows: list[ast.Subscript],
) -> None:
    loop: Any = rewriter.statement(node)
    changes = {rewriter.expression(row): [rewriter.expression(row.value)] for row in rows}
    *lines, total = [substituted(line, changes) for line in body_of(loop)]
    value, factor = mean
    times = f" * {factor}" if factor else ""
    code = rewriter.code(substituted(rewriter.expression(value), changes))
    added: Any = rewriter.parse_block(f"{ast.unparse(last.target)} = {code}{times}")[0]
    first: Any = rewriter.statement(start)
    new = [*lines, total.with_changes(body=added.body)]
    new[0] = new[0].with_changes(leading_lines=[*first.leading_lines, *loop.leading_lines, *new[0].leading_lines])
    rewriter.replace(first)
    rewriter.replace(loop, *new)
