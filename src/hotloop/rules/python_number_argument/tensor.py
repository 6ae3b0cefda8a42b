"""The fix: hand the function a tensor in place of the number."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.compiled import arguments
from hotloop.rules.moving import call_at, refuse_stale_attributes, tensorflow_name
from hotloop.rules.python_number_argument.uses import uses_of
from hotloop.rules.stale import refuse_stale_names
from hotloop.source.flow import changing_number
from hotloop.source.module import Binding, Call, Scope
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


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
    for argument, name in arguments(call, callee):
        if changing_number(argument, call.where, project) is None:
            continue
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
    """`float32` for a whole number that meets floats; "" where TensorFlow's own choice is right."""
    if name not in callee.parameters:
        raise Refused(f"`{callee.name}` takes `{name}` among others (`*args`, `**kwargs`)", call.node)
    try:
        uses = uses_of(name, callee, project)
    except Refused as refused:
        if callee.module is call.where.scope.module:
            raise
        raise Refused(f"{refused.reason} of {callee.module.path}", call.node) from None
    if not _is_whole(argument, call.where.scope, project):
        return ""
    if uses.mixed and uses.counted:
        raise Refused(f"`{callee.name}` uses `{name}` both as a whole number and among floats", call.node)
    return "float32" if uses.mixed else ""


def _is_whole(expr: ast.expr, scope: Scope, project: Project, seen: frozenset[str] = frozenset()) -> bool:
    if isinstance(expr, ast.Constant):
        return type(expr.value) is int
    if isinstance(expr, ast.BinOp):
        sides = (expr.left, expr.right)
        return isinstance(expr.op, WHOLE) and all(_is_whole(s, scope, project, seen) for s in sides)
    if isinstance(expr, ast.UnaryOp):
        return _is_whole(expr.operand, scope, project, seen)
    if isinstance(expr, ast.Call):
        name = project.name_of(expr.func, scope)
        if name in ("max", "min", "abs"):
            return all(_is_whole(a, scope, project, seen) for a in expr.args)
        return name in ("len", "int", "random.randint")
    if not isinstance(expr, ast.Name):
        return False
    if expr.id in seen:  # i = i + 1
        return True
    bindings = project.bindings(expr.id, scope)
    return bool(bindings) and all(_binds_whole(b, project, seen | {expr.id}) for b in bindings)


def _binds_whole(binding: Binding, project: Project, seen: frozenset[str]) -> bool:
    if binding.kind == "target":  # of a counting loop, or it would not be a number
        return True
    if isinstance(binding.node, ast.AugAssign) and not isinstance(binding.node.op, WHOLE):
        return False
    return binding.value is not None and _is_whole(binding.value, binding.where.scope, project, seen)
