"""Functions that a web framework calls once per request: a loop that stands in no source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.source.module import Call, Scope, names_read
from hotloop.source.project import is_guarded

if TYPE_CHECKING:
    from hotloop.source import Project

ROUTES = {"route", "api_route", "get", "post", "put", "websocket"}
FAR = 2  # calls from the handler to the load


def handler_of(load: Call, project: Project) -> Scope | None:
    """The function that answers a request and loads the same model for each; None where it may do so once."""
    names = {name for part in (*load.node.args, *load.node.keywords) for name in names_read(part)}
    if any(project.bindings(name, load.where.scope) and not _is_global(name, load.where.scope) for name in names):
        return None  # another model for another request, as far as one sees
    return _answering(load, project, 0)


def _answering(call: Call, project: Project, depth: int) -> Scope | None:
    scope = call.where.scope
    if not scope.is_function or is_guarded(call.where) or _is_kept(call, scope) or project.is_cached(scope):
        return None
    if any(_is_route(decorator) for decorator in scope.decorators):
        return scope
    callers = project.callers(scope) if depth < FAR else ()
    return next((found for one in callers if (found := _answering(one, project, depth + 1))), None)


def _is_route(decorator: ast.expr) -> bool:
    """`@app.route("/predict")`."""
    match decorator:
        case ast.Call(func=ast.Attribute(attr=verb), args=[ast.Constant(value=str(path)), *_]):
            return verb in ROUTES and path.startswith("/")
    return False


def _is_global(name: str, scope: Scope) -> bool:
    owner = scope.owner(name)
    return owner is None or owner is scope.module.scope


def _is_kept(call: Call, scope: Scope) -> bool:
    """Stored where it outlives the request: in a global, an attribute or a table."""
    statement = call.where.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(not isinstance(t, ast.Name) or t.id in scope.outer_names for t in targets)
