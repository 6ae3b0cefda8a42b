"""Functions that a framework calls once per request, message or task: a loop that stands in no source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.source.guards import is_guarded
from hotloop.source.module import Call, Scope, last_name, names_read

if TYPE_CHECKING:
    from hotloop.source import Project

ROUTES = {"route", "api_route", "get", "post", "put", "websocket"}
TASKS = {"task", "shared_task", "actor"}  # of Celery, and of Dramatiq
# The parameters that a framework gives, and the word by which a module tells that it uses it.
GIVEN: tuple[tuple[tuple[str, ...], bytes], ...] = (
    (("event", "context"), b""),
    (("request", "context"), b"grpc"),
    (("request",), b"django"),
    (("request",), b"rest_framework"),
    (("request",), b"aiohttp"),
    (("ch", "method", "properties", "body"), b"pika"),
    (("channel", "method", "properties", "body"), b"pika"),
)
PATHS = ("os.", "pathlib.", "str", "open")
FAR = 2  # calls from the handler to the load


def handler_of(load: Call, project: Project) -> Scope | None:
    """The function that answers a request and loads the same model for each; None where it may do so once."""
    given = [*load.node.args, *[keyword.value for keyword in load.node.keywords]]
    if not all(_is_settled(part, load.where.scope, project) for part in given):
        return None  # another model for another request, as far as one sees
    return _answering(load, project, 0)


def _answering(call: Call, project: Project, depth: int) -> Scope | None:
    scope = call.where.scope
    if not scope.is_function or is_guarded(call.where) or _is_kept(call, scope) or project.is_cached(scope):
        return None
    if any(_is_route(decorator) for decorator in scope.decorators) or _is_called_for_each(scope):
        return scope
    callers = project.callers(scope) if depth < FAR else ()
    return next((found for one in callers if (found := _answering(one, project, depth + 1))), None)


def _is_route(decorator: ast.expr) -> bool:
    """`@app.route("/predict")`, `@app.task`, `@shared_task(bind=True)`."""
    bare = decorator.func if isinstance(decorator, ast.Call) else decorator
    if last_name(bare) in TASKS:
        return True
    match decorator:
        case ast.Call(func=ast.Attribute(attr=verb), args=[ast.Constant(value=str(path)), *_]):
            return verb in ROUTES and path.startswith("/")
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
    if depth > 2 or not all(project.name_of(call.func, scope).startswith(PATHS) for call in calls):
        return False
    for name in names_read(expr):
        owner = scope.owner(name)
        if owner is None or owner is scope.module.scope:
            continue
        values = [binding.value for binding in owner.bindings[name] if binding.kind == "assign"]
        if len(values) != len(owner.bindings[name]):
            return False  # a parameter, say
        if not all(value is not None and _is_settled(value, owner, project, depth + 1) for value in values):
            return False
    return True


def _is_kept(call: Call, scope: Scope) -> bool:
    """Stored where it outlives the request: in a global, an attribute or a table."""
    statement = call.where.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(not isinstance(t, ast.Name) or t.id in scope.outer_names for t in targets)
