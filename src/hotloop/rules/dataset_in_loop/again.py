"""`dataset = dataset.map(...)` in a loop that also reads it: each step wraps what the step before has wrapped."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.rules.batches import is_data_set
from hotloop.rules.measured import FEW
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.heat import trips
from hotloop.source.module import Call, Loop, Module

if TYPE_CHECKING:
    from hotloop.source import Project

WRAPS = (
    "map",
    "shuffle",
    "filter",
    "prefetch",
    "cache",
)  # not `skip`, which may be meant to add up
READS = {"fit", "evaluate", "predict", "iter"}


def wrapped_in_loops(module: Module, project: Project) -> Iterator[tuple[Call, Loop]]:
    """The first such line of each data set and loop."""
    said: set[tuple[Loop, str]] = set()
    for call in module.calls_of(*WRAPS):
        statement, loop = call.where.statement, call.where.loop
        if loop is None or not isinstance(statement, ast.Assign) or statement.value is not call.node:
            continue
        data = _beginning(call.node)
        if data is None or ast.unparse(statement.targets[0]) != data.id or not _is_bound_before(data, call, project):
            continue
        steps = trips(loop, project)
        if (steps is None or steps >= FEW) and _is_read(data.id, loop) and (loop, data.id) not in said:
            said.add((loop, data.id))
            yield call, loop


def _beginning(chain: ast.expr) -> ast.Name | None:
    """`dataset` of `dataset.map(f).shuffle(10)`."""
    while isinstance(chain, ast.Call) and isinstance(chain.func, ast.Attribute):
        chain = chain.func.value
    return chain if isinstance(chain, ast.Name) else None


def _is_bound_before(data: ast.Name, call: Call, project: Project) -> bool:
    """To a data set, outside the loop, which does not make it anew."""
    scope, loop = call.where.scope, call.where.loop
    bound = [b for b in project.bindings(data.id, scope) if b.value is not None]
    within = [b.value for b in bound if loop is not None and b.where.scope is scope and stands_in(b.where, loop)]
    again = [value for value in within if value is not None and getattr(_beginning(value), "id", "") == data.id]
    return len(again) == len(within) < len(bound) and is_data_set(data, scope, project)


def _is_read(name: str, loop: Loop) -> bool:
    for node in (inner for statement in getattr(loop.node, "body", ()) for inner in ast.walk(statement)):
        if isinstance(node, ast.For) and name in {n.id for n in ast.walk(node.iter) if isinstance(n, ast.Name)}:
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in READS:
            if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == name:
                return True
    return False
