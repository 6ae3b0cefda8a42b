"""Calls of a `tf.function`: what it is given, and whether it says beforehand what that must be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.source.module import Call, Scope

if TYPE_CHECKING:
    from hotloop.source import Project


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
