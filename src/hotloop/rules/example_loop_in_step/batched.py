"""The fix: call the model once, on the whole batch; where the loss is a plain mean, take that at once as well."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.example_loop_in_step.examples import SINGLE, called_before, over_examples, refuse_varying
from hotloop.rules.example_loop_in_step.mean import averaged
from hotloop.rules.moving import call_at, changed_names, names_in
from hotloop.rules.single_rows import drop_row, whole_of
from hotloop.rules.vectors import index_of
from hotloop.source.module import Call, Loop
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project


def on_whole_batch(finding: Finding, project: Project) -> Fix:
    call = call_at(project.modules[finding.place.path], finding.place)
    if finding.chain:
        raise Refused(f"`{call.where.scope.name}` takes one example: let it take the batch", call.node)
    loop = next((one for one in _around(call) if one.place == finding.loop), None)
    index = index_of(loop, project) if loop else None
    if loop is not None and isinstance(loop.node, ast.For) and index is None:
        return over_examples(call, loop, loop.node, project)
    if loop is None or index is None:
        raise Refused(SINGLE, call.node)
    whole = _whole(call.node.args[0], index, loop, project)
    refuse_varying(call, loop)
    rewriter = Rewriter(call.where.scope.module)
    at_once = averaged(rewriter, call, loop, index, project)
    if not at_once:
        _call_before(rewriter, call, loop, index, whole)
    model = ast.unparse(call.node.func)
    return rewriter.fix(f"call `{model}` once, on the whole batch", "verify")


def _around(call: Call) -> list[Loop]:
    found, loop = [], call.where.loop
    while loop is not None:
        found.append(loop)
        loop = loop.where.loop
    return found


def _whole(data: ast.expr, index: str, loop: Loop, project: Project) -> ast.expr:
    found = whole_of(data, index, loop, project)
    if found is None:
        raise Refused(f"`{ast.unparse(data)}` is not plainly one row of something", data)
    changed = changed_names(loop)
    for name in names_in([found[0]]).reads:
        if name in changed:
            raise Refused(f"`{name}` changes in the loop", changed[name])
    return found[0]


def _call_before(rewriter: Rewriter, call: Call, loop: Loop, index: str, whole: ast.expr) -> None:
    """`outputs = model(x)` before the loop, and `outputs[i : i + 1]` in it."""
    anchor = loop.node if isinstance(loop.node, ast.For) else loop.where.statement
    if not isinstance(anchor, ast.stmt) or isinstance(anchor, ast.While):
        raise Refused("the loop stands where nothing can be put before it", loop.node)
    name = called_before(rewriter, call, whole, anchor)
    taken = rewriter.parse_expression(f"{name}[{index} : {index} + 1]")
    rewriter.replace(rewriter.expression(call.node), taken)
    drop_row(rewriter, call.node.args[0], call, loop)
