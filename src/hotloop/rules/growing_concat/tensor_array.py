"""The fix in a loop that TensorFlow compiles: the parts go into a `tf.TensorArray`, which is read once after it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.rules.growing_concat.growth import OPTIONS
from hotloop.rules.moving import put_before, tensorflow_name
from hotloop.rules.vectors import is_tensor
from hotloop.source.module import names_read
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.rules.growing_concat.collect import Plan
    from hotloop.source import Project


def write_into_array(rewriter: Rewriter, plan: Plan, parts: str, project: Project) -> None:
    growth, name = plan.growth, plan.name
    _require_simple(plan, project)
    array = f"{tensorflow_name(growth.where.scope)}.TensorArray"
    shape = f"element_shape=[None, *{name}.shape[1:]]"
    given = f"{name}.dtype, size=1, dynamic_size=True, infer_shape=False, {shape}"
    begin = f"{parts} = {array}(\n    {given}\n).write(0, {name})"
    put_before(rewriter, plan.loop, rewriter.parse_block(begin)[0])
    lines = [f"{parts} = {parts}.write({parts}.size(), {_code(rewriter, part)})" for part in plan.added]
    old = rewriter.statement(growth.statement)
    first, *rest = rewriter.parse_block("\n".join(lines))
    rewriter.replace(old, old.with_changes(body=first.body), *rest)
    for statement in loop_options(plan.loop, name):
        rewriter.replace(rewriter.statement(statement))
    rewriter.after(rewriter.statement(plan.loop), *rewriter.parse_block(f"{name} = {parts}.concat()"))


def _code(rewriter: Rewriter, part: ast.expr) -> str:
    return rewriter.code(rewriter.expression(part))


def _require_simple(plan: Plan, project: Project) -> None:
    """A tensor from the start, that grows at its end along its first axis, in each step."""
    statement, scope = plan.growth.statement, plan.growth.where.scope
    call = statement.value
    assert isinstance(call, ast.Call)
    axis = next((k.value for k in call.keywords if k.arg == "axis"), call.args[1] if call.args[1:] else None)
    if plan.in_front or plan.begins_with != "value" or axis is None or ast.unparse(axis) != "0":
        raise Refused(
            "only what grows at its end, along the first axis, can be collected in a `tf.TensorArray`", statement
        )
    options = loop_options(plan.loop, plan.name)
    for other in (c for c in scope.module.calls_of(OPTIONS) if c.where.scope is scope):
        if other.where.statement not in options and plan.name in names_read(other.node):
            raise Refused(f"`{OPTIONS}` says of another loop how `{plan.name}` grows", other.node)
    before = [b for b in scope.bindings[plan.name] if getattr(b.node, "lineno", 0) < plan.loop.lineno]
    tensors = [b.kind == "parameter" or (b.value is not None and is_tensor(b.value, b.where, project)) for b in before]
    if not tensors or not all(tensors):
        raise Refused(f"`{plan.name}` may not be a tensor before the loop", statement)


def loop_options(loop: ast.For | ast.While, name: str) -> list[ast.stmt]:
    """`set_loop_options(shape_invariants=[(rows, ...)])`, which says of nothing but this name that it grows."""
    found: list[ast.stmt] = []
    for statement in loop.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith(OPTIONS):
            continue
        given = call.keywords[0].value if len(call.keywords) == 1 and not call.args else None
        pairs = given.elts if isinstance(given, ast.List | ast.Tuple) else []
        first = pairs[0].elts[0] if len(pairs) == 1 and isinstance(pairs[0], ast.Tuple) and pairs[0].elts else None
        if isinstance(first, ast.Name) and first.id == name:
            found.append(statement)
    return found
