"""The fix: make the object once, before the loop; hand over text and lists of numbers as tensors."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.hoisting import (
    assigned_name,
    define_before,
    free_name,
    hoist_definition,
    hoist_expression,
    hoist_statement,
    refuse_second_binding,
    require_in_each_step,
)
from hotloop.rules.loops import in_loop
from hotloop.rules.moving import (
    call_at,
    mutated_names,
    needs,
    not_an_elif,
    refuse_stale_attributes,
    tensorflow_name,
    way_out,
)
from hotloop.rules.python_object_argument import ONCE, fresh_arguments
from hotloop.rules.python_object_argument.ops import require_only_in_ops
from hotloop.rules.stale import refuse_stale_names
from hotloop.rules.tracing import refuse_python
from hotloop.source.module import Binding, Call, Scope
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

AS_ONE = ("a string that changes", "a new list of Python numbers")  # what becomes one tensor


def same_object_or_tensor(finding: Finding, project: Project) -> Fix:
    call = call_at(project.modules[finding.place.path], finding.place)
    target, found = project.resolve(call.node.func, call.where.scope), in_loop(project, call.where)
    callee = target.scope if target else None
    fresh = list(fresh_arguments(call, callee, found, project)) if found else []
    if not fresh:
        raise Refused("the source is no longer what was checked")
    if callee is None:
        raise Refused(f"the source of `{ast.unparse(call.node.func)}` is not in sight", call.node)
    _refuse_python_of(callee, project)
    refuse_stale_names(callee, project)  # which each new trace saw, and one trace would keep
    refuse_stale_attributes([callee.node], callee, project)
    rewriter, titles = Rewriter(call.where.scope.module), []
    for argument, name, what, cure in fresh:
        if cure != ONCE:
            _as_tensor(rewriter, call, argument, name, what, callee, project)
            titles.append(f"pass `{name}` as a tensor")
        else:
            titles.append(f"make `{_once(rewriter, call, argument, name, project)}` once, before the loop")
    return rewriter.fix("; ".join(titles), "verify")


def _refuse_python_of(callee: Scope, project: Project) -> None:
    """Python in the function ran with each trace, and would run once."""
    body = getattr(callee.node, "body", [])
    refuse_python(body if isinstance(body, list) else [body], callee, callee.name, project)


# -- the same object in each step --------------------------------------------------------------------------------------


def _once(rewriter: Rewriter, call: Call, argument: ast.expr, name: str, project: Project) -> str:
    scope = call.where.scope
    if call.where.loop is None:
        raise Refused(f"it is made anew in each call of `{scope.name}`: make it once and hand it over", argument)
    if isinstance(argument, ast.Name):
        _named(rewriter, argument, scope, project)
        return argument.id
    anchor = _anchor(argument, call, project)
    wanted = free_name(_name_for(argument, name), scope)
    if isinstance(argument, ast.Lambda):
        _define(rewriter, argument, wanted, anchor)
    else:
        hoist_expression(rewriter, argument, wanted, anchor)
    return wanted


def _anchor(argument: ast.expr, call: Call, project: Project) -> ast.stmt:
    scope = call.where.scope
    for node in ast.walk(argument) if not isinstance(argument, ast.Lambda) else ():
        if isinstance(node, ast.Call) and node is not argument:
            if not project.name_of(node.func, scope).startswith("tf."):
                raise Refused(f"`{ast.unparse(node)}` is computed anew in each step", node)
    shown = ast.unparse(argument)
    anchor = way_out(call.where, needs([argument], scope, project), shown if len(shown) <= 40 else shown[:37] + "...")
    return not_an_elif(scope.module, anchor)


def _named(rewriter: Rewriter, argument: ast.Name, scope: Scope, project: Project) -> None:
    """The object has a name already: what binds the name moves."""
    binding: Binding = scope.bindings[argument.id][-1]
    where, node = binding.where, binding.node
    loop = where.loop
    if loop is None or not isinstance(node, ast.Assign | ast.FunctionDef):
        raise Refused(f"`{argument.id}` is made in a way that cannot be moved", node)
    changed = mutated_names(loop.node).get(argument.id)
    if changed is not None:
        raise Refused(f"the step changes `{argument.id}`", changed)
    if isinstance(node, ast.FunctionDef):
        require_in_each_step(node, where, argument.id)
        refuse_second_binding(argument.id, node, where)
        needed = needs([node], scope, project)
        needed.pop(argument.id, None)
        hoist_definition(rewriter, node, where, way_out(where, needed, argument.id))
        return
    if isinstance(node.value, ast.Call):
        made = Call(node.value, where)
        assigned_name(made, "object")
        hoist_statement(rewriter, node, _anchor(node.value, made, project))
        return
    raise Refused(f"`{argument.id}` is made in a way that cannot be moved", node)


def _define(rewriter: Rewriter, function: ast.Lambda, name: str, anchor: ast.stmt) -> None:
    """A lambda under a name is a function definition."""
    old: Any = rewriter.expression(function)
    new: Any = rewriter.parse_block(f"def {name}():\n    return 0")[0]
    returned = new.body.body[0]
    inner = returned.body[0].with_changes(value=old.body)
    body = new.body.with_changes(body=[returned.with_changes(body=[inner])])
    define_before(rewriter, new.with_changes(params=old.params, body=body), anchor)
    rewriter.replace(old, rewriter.parse_expression(name))


def _name_for(made: ast.expr, parameter: str) -> str:
    """What a class is called, in small letters; else what the function calls its argument."""
    called = ast.unparse(made.func).rpartition(".")[2] if isinstance(made, ast.Call) else ""
    if not called[:1].isupper():
        return parameter
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", called).lower()


# -- a tensor ----------------------------------------------------------------------------------------------------------


def _as_tensor(
    rewriter: Rewriter, call: Call, argument: ast.expr, name: str, what: str, callee: Scope, project: Project
) -> None:
    if what not in AS_ONE:
        raise Refused(f"`{name}` holds several numbers: hand each over as a tensor", argument)
    require_only_in_ops(name, callee, project)
    found = rewriter.expression(argument)
    made: Any = rewriter.parse_expression(f"{tensorflow_name(call.where.scope)}.constant(0)")
    value = made.args[0].with_changes(value=found.with_changes(lpar=[], rpar=[]))
    rewriter.replace(found, made.with_changes(args=[value]))
