"""Functions that a framework calls once per request, message or task: a loop that stands in no source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.source.guards import is_guarded
from hotloop.source.module import Call, Scope, last_name, names_read

if TYPE_CHECKING:
    from hotloop.source import Project

ROUTES = {"route", "api_route", "get", "post", "put", "websocket"}
TASKS = {"task", "shared_task", "actor", "message_handler"}  # of Celery, of Dramatiq, and of a chat's bot
# Classes whose methods answer, each named after what it answers: of Flask, Flask-RESTful, Tornado and Starlette.
VIEWS = {"MethodView", "Resource", "RequestHandler", "HTTPEndpoint"}
VERBS = {"get", "post", "put"}
ANSWERS = {"do_GET", "do_POST"}  # of the standard library's server
# The parameters that a framework gives, and the word by which a module tells that it uses it.
GIVEN: tuple[tuple[tuple[str, ...], bytes], ...] = (
    (("event", "context"), b""),
    (("request", "context"), b"grpc"),
    (("request",), b"django"),
    (("request",), b"rest_framework"),
    (("request",), b"aiohttp"),
    (("request",), b"functions_framework"),
    (("req",), b"azure.functions"),
    (("update", "context"), b"telegram"),
    (("message",), b"discord"),
    (("ch", "method", "properties", "body"), b"pika"),
    (("channel", "method", "properties", "body"), b"pika"),
)
# Who is handed a function that answers, and the word by which a module tells that it uses them.
SERVERS: tuple[tuple[tuple[str, ...], str, bytes], ...] = (
    (("Interface", "click", "submit", "change", "upload"), "fn", b"gradio"),
    (("Depends",), "dependency", b"fastapi"),
    (("MessageHandler", "CommandHandler"), "callback", b"telegram"),
)
BUILTINS = {"str", "open"}
MODULES = ("os.", "pathlib.")
FAR = 2  # calls from the handler to what it does


def handler_of(call: Call, project: Project, depth: int = 0, yields_it: bool = True) -> Scope | None:
    """The function that answers a request and makes the call for each; None where it may do so once.

    `yields_it`: what the call makes, or a function that returns it; not `answer["label"] = classify(image)`.
    """
    scope = call.where.scope
    if not scope.is_function or is_guarded(call.where) or project.is_cached(scope):
        return None
    if yields_it and _is_kept(call, scope):
        return None
    if any(_is_route(decorator) for decorator in scope.decorators) or _is_called_for_each(scope):
        return scope
    if _is_view(scope) or _is_handed(scope):
        return scope
    callers = project.callers(scope) if depth < FAR else ()
    returned = yields_it and _is_returned(call, scope)
    return next((found for one in callers if (found := handler_of(one, project, depth + 1, returned))), None)


def is_rerun(call: Call, project: Project, depth: int = 0) -> bool:
    """Whether it stands in a script that Streamlit runs from the top at each interaction, and nothing keeps it."""
    scope = call.where.scope
    if is_guarded(call.where) or project.is_cached(scope):
        return False
    if not scope.is_function:
        shown = (one for one in scope.module.calls if one.where.scope is scope or one.where.scope.parent is scope)
        return b"streamlit" in scope.module.data and any(
            project.name_of(one.node.func, one.where.scope).startswith("streamlit.") for one in shown
        )
    return depth < FAR and any(is_rerun(one, project, depth + 1) for one in project.callers(scope))


def is_same_for_each(call: Call, project: Project) -> bool:
    """Whether nothing that the call is given is of the request, as far as one sees."""
    given = [*call.node.args, *[keyword.value for keyword in call.node.keywords]]
    return all(_is_settled(part, call.where.scope, project) for part in given)


def _is_route(decorator: ast.expr) -> bool:
    """`@app.route("/predict")`, `@app.task`, `@shared_task(bind=True)`."""
    bare = decorator.func if isinstance(decorator, ast.Call) else decorator
    if last_name(bare) in TASKS:
        return True
    match decorator:
        case ast.Call(func=func, args=[ast.Constant(value=str(path)), *_]):
            return last_name(func) in ROUTES and path.startswith("/")
    return False


def _is_view(scope: Scope) -> bool:
    """`def post(self)` of a `Resource`."""
    bases = getattr(scope.parent.definition, "bases", []) if scope.is_method and scope.parent else []
    return scope.name in ANSWERS or (scope.name in VERBS and any(last_name(base) in VIEWS for base in bases))


def _is_handed(scope: Scope) -> bool:
    """`gr.Interface(fn=classify, ...)`, `Depends(load)`."""
    for lasts, keyword, word in SERVERS:
        calls = scope.module.calls_of(*lasts) if word in scope.module.data else ()
        places = (0, 1) if keyword == "callback" else (0,)
        given = (call.argument(place, keyword) for call in calls for place in places)
        if any(isinstance(one, ast.Name) and one.id == scope.name for one in given):
            return True
    return False


def _is_called_for_each(scope: Scope) -> bool:
    """By its framework, which the module names, and by its parameters: Lambda, Django, aiohttp, gRPC, a queue."""
    parameters = tuple(name for name in scope.parameters if name != "self")
    return any(
        parameters[: len(wanted)] == wanted and (not word or word in scope.module.data) for wanted, word in GIVEN
    )


def _is_settled(expr: ast.expr, scope: Scope, project: Project, depth: int = 0) -> bool:
    """Made of globals and constants alone, by way of names or not."""
    calls = [node for node in ast.walk(expr) if isinstance(node, ast.Call)]
    if depth > 2 or not all(_makes_path(project.name_of(call.func, scope)) for call in calls):
        return False
    for name in names_read(expr):
        owner = scope.owner(name)
        if owner is None or (owner is scope.module.scope and b"streamlit" not in scope.module.data):
            continue
        if all(binding.kind in ("import", "def", "class") for binding in owner.bindings[name]):
            continue
        values = [binding.value for binding in owner.bindings[name] if binding.kind == "assign"]
        if len(values) != len(owner.bindings[name]):
            return False  # a parameter, say
        if not all(value is not None and _is_settled(value, owner, project, depth + 1) for value in values):
            return False
    return True


def _makes_path(name: str) -> bool:
    return name in BUILTINS or name.startswith(MODULES)


def _is_kept(call: Call, scope: Scope) -> bool:
    """Stored where it outlives the request: in a global, an attribute or a table."""
    stored = _stored(call)
    return any(not isinstance(one, ast.Name) or one.id in scope.outer_names for one in stored)


def _is_returned(call: Call, scope: Scope) -> bool:
    """The thing itself or a part of it, not what is computed with it."""
    names = {one.id for one in _stored(call) if isinstance(one, ast.Name)}
    parts = [part for one in scope.returns for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
    return any(_root(part) is call.node or getattr(_root(part), "id", "") in names for part in parts)


def _root(expr: ast.expr) -> ast.expr:
    """`model` of `model.signatures["serving_default"]`."""
    while isinstance(expr, ast.Attribute | ast.Subscript):
        expr = expr.value
    return expr


def _stored(call: Call) -> list[ast.expr]:
    """What its statement stores, each of several by itself."""
    statement = call.where.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
