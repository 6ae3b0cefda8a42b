"""The fix: create the function once, before the loop."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.function_in_loop.captured import captured, hand_over
from hotloop.rules.function_in_loop.unwrap import unwrap
from hotloop.rules.hoisting import (
    assigned_name,
    free_name,
    hoist_definition,
    hoist_expression,
    hoist_statement,
    refuse_second_binding,
)
from hotloop.rules.moving import (
    call_at,
    defined_at,
    mutated_names,
    needs,
    not_an_elif,
    way_out,
)
from hotloop.rules.tracing import refuse_python
from hotloop.source.module import Call, Context, Scope
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project


STATELESS = ("keras.losses.", "tf.constant", "tf.cast", "tf.shape")
HOLDERS = {"tf.Variable", "open", "iter"}


def hoist(finding: Finding, project: Project) -> Fix:
    # Through a call, what moves is the call that stands in the loop; the function may be in another file.
    module = project.modules[(finding.chain[0] if finding.chain else finding.place).path]
    try:
        if finding.chain:
            return _factory_call(finding, project)
        defined = defined_at(module, finding.place)
        if defined is not None:
            return _definition(defined, project)
        return _call(call_at(module, finding.place), None, project)
    except Refused as refused:
        raise Refused(refused.reason, refused.node, module) from refused


def _definition(scope: Scope, project: Project) -> Fix:
    """A decorated def in the body of the loop."""
    node, where = scope.node, scope.where
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or where is None or where.loop is None:
        raise Refused(f"`{scope.name}` is made anew in each call of the function around it")
    body: list[ast.stmt] = getattr(where.loop.node, "body", [])
    if node not in body:
        raise Refused(f"`{scope.name}` is defined in a block within the loop, not in each step", node)
    refuse_second_binding(scope.name, node, where)
    needed = needs([node], where.scope, project)
    needed.pop(scope.name, None)
    handed = captured(scope, needed, project)
    anchor = way_out(where, {n: at for n, at in needed.items() if n not in handed}, scope.name)
    _refuse_calls_at_definition(node, where, project)
    refuse_python(node.body, scope, scope.name, project)

    rewriter = Rewriter(where.scope.module)
    changes = hand_over(rewriter, scope, handed) if handed else {}
    hoist_definition(rewriter, node, where, anchor, changes)
    return rewriter.fix(f"create `{scope.name}` once, before the loop", "verify")


def _refuse_calls_at_definition(node: ast.FunctionDef | ast.AsyncFunctionDef, where: Context, project: Project) -> None:
    """What is computed when the def is run would be computed once."""
    spec = node.args
    for value in (*node.decorator_list, *spec.defaults, *[d for d in spec.kw_defaults if d]):
        for call in ast.walk(value):
            if isinstance(call, ast.Call):
                name = project.name_of(call.func, where.scope)
                if not name.startswith(("tf.", "functools.partial")) or name.startswith("tf.random."):
                    reason = f"`{ast.unparse(call)}` is computed anew with each definition of `{node.name}`"
                    raise Refused(reason, call)


def _factory_call(finding: Finding, project: Project) -> Fix:
    """`update = make_update(0.1)` in the loop, where make_update defines the function and returns it."""
    module = project.modules[finding.place.path]
    defined = defined_at(module, finding.place)
    factory = defined.parent if defined else call_at(module, finding.place).where.scope
    name = factory.name if factory else ""
    if defined is not None and (fix := unwrap(defined, project)):
        return fix
    call = call_at(project.modules[finding.chain[0].path], finding.chain[0])
    called = project.resolve(call.node.func, call.where.scope)
    if factory is None or called is None or called.scope is not factory or not _only_makes(factory, project):
        raise Refused(f"the function is made anew in each call of `{name}`: create it once, outside of `{name}`")
    return _call(call, factory, project)


def _only_makes(factory: Scope, project: Project) -> bool:
    """Whether a function does nothing but define functions, with constants for them, and return them.

    `return step(x)` hands out what the function computes, which is for each call to say.
    """
    body = factory.node.body
    if not isinstance(body, list) or isinstance(factory.node, ast.ClassDef | ast.Module):
        return False
    for statement in body:
        if isinstance(statement, ast.Assign) and _is_plain(statement.value, factory, project):
            continue
        docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        returned = isinstance(statement, ast.Return) and _hands_out(statement.value, factory, project)
        if not (docstring or returned or isinstance(statement, ast.FunctionDef)):
            return False
    return True


def _hands_out(value: ast.expr | None, factory: Scope, project: Project) -> bool:
    """Functions by their names, a lambda, or what `tf.function` makes of one."""
    if isinstance(value, ast.Tuple):
        return all(_hands_out(part, factory, project) for part in value.elts)
    if isinstance(value, ast.Call):
        return project.name_of(value.func, factory) in ("tf.function", "tf.function()") and bool(value.args)
    return isinstance(value, ast.Name | ast.Lambda)


def _is_plain(value: ast.expr, scope: Scope, project: Project) -> bool:
    """A constant, or an object of TensorFlow's that holds no state."""
    names = [project.name_of(n.func, scope) for n in ast.walk(value) if isinstance(n, ast.Call)]
    return all(name.startswith(STATELESS) for name in names)


def _keeps_nothing(made: Scope, project: Project) -> bool:
    """Whether objects of a class stay as `__init__` made them: then one serves as well as many."""
    if any(name not in ("object", "tf.Module") for name in project.ancestry(made)):
        return False
    for method in made.module.scopes:
        if method.parent is not made or not method.parameters:
            continue
        if method.name == "__init__":
            if any(project.name_of(c.node.func, method) in HOLDERS for c in _calls_in(method)):
                return False
        elif method.parameters[0] in mutated_names(method.node) or _assigns(method):
            return False
    return True


def _calls_in(scope: Scope) -> list[Call]:
    return [call for call in scope.module.calls if call.where.scope is scope]


def _assigns(method: Scope) -> bool:
    return any(
        isinstance(call.node.func, ast.Attribute) and call.node.func.attr.startswith("assign")
        for call in _calls_in(method)
    )


def _call(call: Call, factory: Scope | None, project: Project) -> Fix:
    """`g = tf.function(f)` moves as it stands; `tf.function(f)(x)` gets a name."""
    node, where = call.node, call.where
    made = project.resolve(node.func, where.scope)
    if made is not None and made.kind == "class" and not (made.scope and _keeps_nothing(made.scope, project)):
        shown = ast.unparse(node)
        raise Refused(f"`{shown}` holds state of its own: make it once before the loop if its state may be kept")
    what = ast.unparse(node.args[0]) if node.args and factory is None else ast.unparse(node.func)
    what = what if len(what) <= 40 else what[:37] + "..."
    if where.loop is None or isinstance(where.scope.node, ast.Lambda):
        raise Refused(f"`{what}` is made anew in each call of the function around it: create it once, outside of it")
    needed = needs([node], where.scope, project)
    anchor = not_an_elif(where.scope.module, way_out(where, needed, what))
    _refuse_effects(call, factory, what, project)

    name = assigned_name(call, "function")
    if name and where.statement is not None:
        rewriter = Rewriter(where.scope.module)
        hoist_statement(rewriter, where.statement, anchor)
        return rewriter.fix(f"create `{name}` once, before the loop", "verify")
    return _inline(call, anchor, _name_for(node) if factory is None else "compiled")


def _refuse_effects(call: Call, factory: Scope | None, what: str, project: Project) -> None:
    """Arguments that are computed anew, and Python in the function that runs at each trace."""
    where = call.where
    for argument in (*call.node.args, *[k.value for k in call.node.keywords]):
        for part in ast.walk(argument) if not isinstance(argument, ast.Lambda) else ():
            if isinstance(part, ast.Call) and not project.name_of(part.func, where.scope).startswith("tf."):
                raise Refused(f"`{ast.unparse(part)}` is computed anew in each step", part)
    value = project.resolve(call.node, where.scope)
    scope = value.scope if value else factory
    if scope is not None and scope.is_function:
        body = getattr(scope.node, "body", [])
        refuse_python(body if isinstance(body, list) else [body], scope, what, project)


def _inline(call: Call, anchor: ast.stmt, wanted: str) -> Fix:
    module = call.where.scope.module
    if not any(other.node.func is call.node for other in module.calls):
        raise Refused(f"each step hands on its own `{ast.unparse(call.node)}`", call.node)
    rewriter = Rewriter(module)
    name = free_name(wanted, call.where.scope)
    hoist_expression(rewriter, call.node, name, anchor)
    return rewriter.fix(f"create `{name}` once, before the loop", "verify")


def _name_for(node: ast.Call) -> str:
    wrapped = node.args[0] if node.args else node.func
    if isinstance(wrapped, ast.Name):
        return f"{wrapped.id}_function"
    return f"{wrapped.attr}_function" if isinstance(wrapped, ast.Attribute) else "compiled"
