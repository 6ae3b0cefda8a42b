"""Calls of a `tf.function`: what it is given, and whether it says beforehand what that must be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.rules.calls import spelled_like
from hotloop.source.module import Call, Module, Scope
from hotloop.source.noted import Noted

if TYPE_CHECKING:
    from hotloop.source import Project
    from hotloop.source.project import Value


OF_SELF = re.compile(rb"self\.([A-Za-z_0-9]+)\s*\(")


def compiled_callee(call: Call, project: Project) -> Value | None:
    """What is called, if it is a `tf.function`. Callers are asked only of what is called like one of the project's."""
    known = call.last in project.files.compiled
    found = (project.resolve if known else project.at_sight)(call.node.func, call.where.scope)
    return found if found is not None and found.kind == "traced" else None


def may_be_compiled(module: Module, project: Project) -> Iterator[Call]:
    """Calls of what is called like a `tf.function` of the project, was renamed, or is held by `self`."""
    yield from spelled_like(module, project, project.files.compiled.__contains__)
    for call in _OF_SELF.of(module, lambda: _held_by_self(module)):
        if call.last not in project.files.compiled:
            yield call


_OF_SELF: Noted[list[Call]] = Noted()


def _held_by_self(module: Module) -> list[Call]:
    """Calls of what `self` has, less what is called like a method here: a compiled one is known by its name."""
    said = {name.decode() for name in OF_SELF.findall(module.data)}
    held = said - {scope.name for scope in module.scopes if scope.is_method}
    return [call for last in sorted(held) for call in module.called.get(last, ()) if _is_of_self(call.node.func)]


def _is_of_self(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"


def arguments(call: Call, callee: Scope | None) -> Iterator[tuple[ast.expr, str]]:
    """Each argument and the name of the parameter that takes it."""
    names = callee.parameters if callee else []
    if callee and callee.is_method:
        names = names[1:]
    for index, argument in enumerate(call.node.args):
        if not isinstance(argument, ast.Starred):
            yield argument, names[index] if index < len(names) else ast.unparse(argument)
    for keyword in call.node.keywords:
        if keyword.arg:
            yield keyword.value, keyword.arg


def has_signature(call: Call, callee: Scope | None, project: Project) -> bool:
    """An `input_signature` turns numbers into tensors by itself."""
    makers = [d for d in (callee.decorators if callee else []) if isinstance(d, ast.Call)]
    if isinstance(call.node.func, ast.Name):
        bindings = project.bindings(call.node.func.id, call.where.scope)
        makers += [b.value for b in bindings if isinstance(b.value, ast.Call)]
    return any(k.arg == "input_signature" for maker in makers for k in maker.keywords)
