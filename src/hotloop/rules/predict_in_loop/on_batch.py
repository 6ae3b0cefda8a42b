"""The fix: one `predict` for all rows, or `predict_on_batch`: the same function without the machinery around it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.many_rows import may_be_more
from hotloop.rules.moving import call_at
from hotloop.rules.on_batch import argument_names, refuse_data, refuse_own_method, renamed_call
from hotloop.rules.predict_in_loop.at_once import predict_at_once
from hotloop.rules.predict_in_loop.records import predict_records
from hotloop.source.module import Call
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

POSITIONAL = ("x", "batch_size", "verbose", "steps", "callbacks")
DROPPED = {"batch_size", "verbose"}
METHOD = "predict_on_batch"


def predict_on_batch(finding: Finding, project: Project) -> Fix:
    call = call_at(project.modules[finding.place.path], finding.place, "predict")
    refuse_own_method(call, project)
    names = argument_names(call.node, POSITIONAL, "predict")
    for name in names:
        if name != "x" and name not in DROPPED:
            raise Refused(f"`{METHOD}` knows no `{name}`", call.node)
    refuse_data(call.argument(0, "x"), call, METHOD, project)
    rewriter = Rewriter(call.where.scope.module)
    if predict_at_once(rewriter, call, names, project) or predict_records(rewriter, call, names, project):
        return rewriter.fix("predict all rows at once, before the loop", "verify")
    _refuse_many(call, project)
    rewriter.replace(rewriter.expression(call.node), renamed_call(rewriter, call, METHOD, names, {"x"}))
    return rewriter.fix(f"call `{ast.unparse(call.node.func)}_on_batch`", "verify")


def _refuse_many(call: Call, project: Project) -> None:
    """All rows at once may be more than fit in memory, which `batch_size` kept apart."""
    size = call.argument(1, "batch_size")
    if size is not None and may_be_more(call, size, project):
        more = f"there may be more rows than `batch_size={ast.unparse(size)}`"
        raise Refused(f"{more}, and `{METHOD}` takes all of them at once", call.node)
