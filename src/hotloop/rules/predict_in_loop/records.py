"""Records drawn from a memory, `for state, action in random.sample(memory, n)`: all states are predicted at once.

Each state is a batch by itself, of one row as a rule; what was predicted of all is split among them again.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.rules.hoisting import free_name
from hotloop.rules.moving import changed_names, put_before
from hotloop.rules.on_batch import renamed_call
from hotloop.rules.predict_in_loop.at_once import is_steady
from hotloop.rules.row_loops import named
from hotloop.source.module import Call, Loop, Scope
from hotloop.source.rewrite import Rewriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotloop.source import Project

DRAWN = {"random.sample", "random.choices"}  # lists, which can be gone through twice


def predict_records(rewriter: Rewriter, call: Call, names: Sequence[str], project: Project) -> bool:
    """False where the loop does not go over records, or the model changes in it."""
    loop, data = call.where.loop, call.argument(0, "x")
    if loop is None or call.where.tests or call.where.fallible or not isinstance(loop.node, ast.For):
        return False
    at = _position(data, loop.node, loop, project)
    numpy = _numpy_name(call.where.scope)
    if at is None or not numpy or not is_steady(call, loop, project):
        return False
    _write(rewriter, call, names, loop.node, at, numpy)
    return True


def _position(data: ast.expr | None, node: ast.For, loop: Loop, project: Project) -> int | None:
    """Where in each record the model's data stands; None where the loop does not go over records."""
    if node.orelse or not isinstance(node.target, ast.Tuple) or not isinstance(node.iter, ast.Name):
        return None
    parts = [part.id if isinstance(part, ast.Name) else "" for part in node.target.elts]
    if not isinstance(data, ast.Name) or data.id not in parts or len(named(data.id, node, ast.Store)) != 1:
        return None
    scope = loop.where.scope
    values = [binding.value for binding in scope.bindings.get(node.iter.id, [])]
    drawn = [isinstance(value, ast.Call) and project.name_of(value.func, scope) in DRAWN for value in values]
    if not drawn or not all(drawn) or "" in parts or node.iter.id in changed_names(loop):
        return None
    return parts.index(data.id)


def _write(rewriter: Rewriter, call: Call, names: Sequence[str], node: ast.For, at: int, numpy: str) -> None:
    outputs, output, one = (free_name(name, call.where.scope) for name in ("outputs", "output", "record"))
    record, records = ast.unparse(node.target), ast.unparse(node.iter)
    rows = rewriter.parse_expression(f"{numpy}.concatenate([{one}[{at}] for {one} in {records}])")
    predicted: Any = renamed_call(rewriter, call, "predict_on_batch", names, {"x"})
    predicted = predicted.with_changes(args=[predicted.args[0].with_changes(value=rows)])
    line: Any = rewriter.parse_block(f"{outputs} = None")[0]
    put_before(rewriter, node, line.with_changes(body=[line.body[0].with_changes(value=predicted)]))
    each = f"zip({records}, {numpy}.split({outputs}, len({records})))"
    header: Any = rewriter.parse_block(f"for {record}, {output} in {each}:\n    pass")[0]
    rewriter.replace(rewriter.expression(node.target), header.target)
    rewriter.replace(rewriter.expression(node.iter), header.iter)
    rewriter.replace(rewriter.expression(call.node), rewriter.parse_expression(output))


def _numpy_name(scope: Scope) -> str:
    bindings = scope.module.scope.bindings
    return next((name for name in bindings if any(b.imported == "numpy" for b in bindings[name])), "")
