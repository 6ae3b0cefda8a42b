"""What to do instead, by what changes from one compilation to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.rules.loops import InLoop
from hotloop.rules.optimizers import rate_of
from hotloop.source.flow import varies
from hotloop.source.module import Call, Scope

if TYPE_CHECKING:
    from hotloop.source import Project

ONCE = "Compile once, before the loop"


def advice(call: Call, found: InLoop, project: Project) -> str:
    if any(_switches(node) for node in _step(call, found, project)):
        return (
            "Instead of switching `trainable`, give each model a training step that updates only its own variables, "
            "and compile once."
        )
    scope = call.where.scope
    optimizer = call.argument(0, "optimizer")
    others = [*call.node.args[1:], *[k.value for k in call.node.keywords if k.arg != "optimizer"]]
    if optimizer is not None and _changes(optimizer, call, found, project):
        known = project.literal(optimizer.id, scope) if isinstance(optimizer, ast.Name) else None
        made = known[0] if known is not None else optimizer
        if not isinstance(made, ast.Call) or rate_of(made) is not None:
            return f"{ONCE}, and change the learning rate in `model.optimizer`."
    elif not any(_changes(other, call, found, project) for other in others):
        return f"{ONCE}."
    return f"{ONCE}, and keep what changes in a `keras.Variable`."


def _changes(expr: ast.expr, call: Call, found: InLoop, project: Project) -> bool:
    return varies(expr, call.where.scope, found.loop, found.chain, project)


def _switches(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "trainable" and isinstance(node.ctx, ast.Store)


def _step(call: Call, found: InLoop, project: Project) -> Iterator[ast.AST]:
    """What the step does: in the loop, in the functions that lead to the call, and in those that they call."""
    home = found.loop.where.scope
    parts = [(found.loop.node, home), *[(scope.node, scope) for scope in _functions(call, found)]]
    for part, scope in parts:
        for node in ast.walk(part):
            yield node
            target = project.resolve(node.func, scope) if isinstance(node, ast.Call) else None
            if target is not None and target.kind == "function" and target.scope is not None:
                yield from ast.walk(target.scope.node)


def _functions(call: Call, found: InLoop) -> list[Scope]:
    return [one.where.scope for one in (*found.chain[1:], call)] if found.chain else []
