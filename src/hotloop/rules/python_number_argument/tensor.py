"""The fix: hand the function a tensor in place of the number."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.moving import call_at, refuse_stale_attributes, tensorflow_name
from hotloop.rules.python_number_argument.changing import changing_arguments
from hotloop.rules.python_number_argument.kinds import kind_of
from hotloop.rules.python_number_argument.uses import uses_of
from hotloop.rules.stale import refuse_stale_names
from hotloop.source.module import Call, Scope
from hotloop.source.plain import is_number
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project


def pass_tensor(finding: Finding, project: Project) -> Fix:
    import libcst

    call = call_at(project.modules[finding.place.path], finding.place)
    scope = call.where.scope
    target = project.resolve(call.node.func, scope)
    callee = target.scope if target else None
    if callee is None:
        raise Refused(f"the source of `{ast.unparse(call.node.func)}` is not in sight", call.node)
    refuse_stale_names(callee, project)  # which each new trace saw, and one trace would keep
    refuse_stale_attributes([callee.node], callee, project)
    tensorflow = tensorflow_name(scope)
    rewriter, names = Rewriter(scope.module), []
    for changing in changing_arguments(call, callee, project):
        argument, name = changing.argument, changing.name
        if changing.there.chain and not is_number(argument, scope, (), project):
            raise Refused(f"`{ast.unparse(argument)}` may be something else than a number elsewhere", call.node)
        dtype = _dtype(argument, name, call, callee, project)
        found = rewriter.expression(argument)
        text = f"{tensorflow}.constant(0{f', {tensorflow}.{dtype}' if dtype else ''})"
        made = libcst.ensure_type(libcst.parse_expression(text), libcst.Call)
        value = made.args[0].with_changes(value=found.with_changes(lpar=[], rpar=[]))
        rewriter.replace(found, made.with_changes(args=[value, *made.args[1:]]))
        names.append(f"`{name}`")
    if not names:
        raise Refused("no argument of the call is a number that changes", call.node)
    return rewriter.fix(f"pass {' and '.join(names)} as a tensor", "verify")


def _dtype(argument: ast.expr, name: str, call: Call, callee: Scope, project: Project) -> str:
    """`float32` for what may be a whole number and meets floats, `int64` for the step of a summary.

    "" where TensorFlow's own choice is right.
    """
    if name not in callee.parameters:
        raise Refused(f"`{callee.name}` takes `{name}` among others (`*args`, `**kwargs`)", call.node)
    try:
        uses = uses_of(name, callee, project)
    except Refused as refused:
        if callee.module is call.where.scope.module:
            raise
        raise Refused(f"{refused.reason} of {callee.module.path}", call.node) from None
    kind = kind_of(argument, call.where.scope, project)
    if kind == "float":
        return ""
    if uses.mixed and (uses.counted or uses.stepped):
        raise Refused(f"`{callee.name}` uses `{name}` both as a whole number and among floats", call.node)
    if uses.stepped:
        return "int64"
    return "float32" if uses.mixed else ""
