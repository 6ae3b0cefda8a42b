"""What a dict of options says: `config["epochs"]`, where a literal holds it and nothing is seen to set it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hotloop.source.module import Module, Scope
from hotloop.source.project import Project, argument_for

DEPTH = 4  # steps from name to name
FEW_CALLERS = 8


def entry(
    expr: ast.Subscript, scope: Scope, project: Project, keys: tuple[str, ...] = ()
) -> tuple[ast.expr, Scope] | None:
    """The expression that is there, and where it stands. `keys`: those that are taken of it in turn."""
    if not (isinstance(expr.slice, ast.Constant) and isinstance(expr.slice.value, str)):
        return None
    key = expr.slice.value
    found = _dict(expr.value, scope, project, (key, *keys), 0)
    entries = dict(_entries(found[0])) if found is not None else {}
    return (entries[key], found[1]) if found is not None and key in entries else None


def _entries(made: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(made, ast.Dict):
        named = zip(made.keys, made.values, strict=True)
        yield from ((str(key.value), value) for key, value in named if isinstance(key, ast.Constant))
    elif isinstance(made, ast.Call):
        yield from ((keyword.arg, keyword.value) for keyword in made.keywords if keyword.arg)


def _dict(
    expr: ast.expr, scope: Scope, project: Project, keys: tuple[str, ...], depth: int
) -> tuple[ast.expr, Scope] | None:
    if depth > DEPTH:
        return None
    match expr:
        case ast.Dict() | ast.Call(func=ast.Name(id="dict"), args=[]):
            return expr, scope
        case ast.Subscript():
            inner = entry(expr, scope, project, keys) if len(keys) < DEPTH else None
            return _dict(*inner, project, keys, depth + 1) if inner is not None else None
        case ast.Name(id=name) if not _sets(scope.module, name, keys):
            known = project.literal(name, scope)
            if known is None:
                return _handed(name, scope, project, keys, depth)
            return _dict(*known, project, keys, depth + 1)
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if scope.is_method and scope.parent is not None:
            made = scope.parent.set_on_self(name) if [owner] == scope.parameters[:1] else []
            if len(made) == 1 and made[0].value is not None and not _sets(scope.module, name, keys):
                return _dict(made[0].value, made[0].where.scope, project, keys, depth + 1)
    return None


def _handed(
    name: str, scope: Scope, project: Project, keys: tuple[str, ...], depth: int
) -> tuple[ast.expr, Scope] | None:
    """The one that all callers hand over."""
    bound = project.bindings(name, scope)
    if len(bound) != 1 or bound[0].kind != "parameter":
        return None
    home = bound[0].where.scope
    calls = project.callers(home)[:FEW_CALLERS]
    handed = [(argument_for(call, home, name), call.where.scope) for call in calls]
    found = [_dict(given, at, project, keys, depth + 1) if given is not None else None for given, at in handed]
    return found[0] if found and found[0] and all(one and one[0] is found[0][0] for one in found) else None


def _sets(module: Module, name: str, keys: tuple[str, ...]) -> bool:
    """Whether its text sets an entry of what goes by the name, so that the literal does not have the last word."""
    either = "|".join(map(re.escape, keys))
    one = rf"(\[[^\]]*\]\s*)*\[\s*[\"']({either})[\"']\s*\]\s*[-+*/]?=(?!=)"
    sets = rf"\b{re.escape(name)}({one}|\.(update|setdefault|pop)\()"
    return re.search(sets.encode(), module.data) is not None
