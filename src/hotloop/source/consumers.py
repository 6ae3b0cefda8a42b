"""Where a tf.data chain is read: by Keras, by a loop, by an iterator, and how many times over."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

from hotloop.source.heat import number, trips
from hotloop.source.module import Call, Loop, Module, Scope
from hotloop.source.noted import Noted
from hotloop.source.pipelines import pipeline_of
from hotloop.source.project import Project, loops_of
from hotloop.source.stages import Pipeline

PASSES_ON = {"enumerate", "iter", "zip", "tqdm", "tqdm.tqdm", "tqdm.auto.tqdm", "list", "tfds.as_numpy"}
DISTRIBUTES = "experimental_distribute_dataset"
KERAS = {"fit", "evaluate", "predict", "fit_generator"}


@dataclass(frozen=True, eq=False)
class Consumer:
    """One reader of one chain. `epochs` is how often it reads all of it: infinity for "several, not said how many"."""

    pipeline: Pipeline
    kind: str  # fit, validation, evaluate, predict, for, iter
    at: Call | Loop
    epochs: float


_READERS: Noted[tuple[Consumer, ...]] = Noted()


def consumers(module: Module, project: Project) -> tuple[Consumer, ...]:
    """The readers that stand in a module, wherever their chains come from."""
    return _READERS.of(
        module, lambda: (*_keras(module, project), *_loops(module, project), *_iterators(module, project))
    )


def consumers_of(pipeline: Pipeline, project: Project) -> Iterator[Consumer]:
    """The readers of a chain: in its module, and in those that call the function that makes it."""
    if pipeline.end is None:
        return
    scope = pipeline.end.where.scope
    for module in _modules_near(scope, project):
        for consumer in consumers(module, project):
            if any(call.node is pipeline.end.node for call in _steps(consumer.pipeline)):
                yield consumer


def _modules_near(scope: Scope, project: Project) -> list[Module]:
    found, queue, seen = [scope.module], [scope], set()
    while queue and len(found) < 8:
        at = queue.pop()
        if at in seen or not at.is_function:
            continue
        seen.add(at)
        for call in project.callers(at)[:8]:
            queue.append(call.where.scope)
            if call.where.scope.module not in found:
                found.append(call.where.scope.module)
    return found


def _steps(pipeline: Pipeline) -> Iterator[Call]:
    if pipeline.origin is not None:
        yield pipeline.origin
    yield from (stage.call for stage in pipeline.stages)


def _keras(module: Module, project: Project) -> Iterator[Consumer]:
    for call in module.calls:
        func = call.node.func
        if not (isinstance(func, ast.Attribute) and func.attr in KERAS):
            continue
        for kind, data in ((func.attr, call.argument(0, "x")), ("validation", call.argument(99, "validation_data"))):
            pipeline = read(data, call.where.scope, project) if data is not None else None
            if pipeline is not None:
                given = call.argument(99, "epochs") if func.attr.startswith("fit") else None
                epochs = 1.0 if given is None else _count(given, call.where.scope, project)
                yield Consumer(pipeline, kind, call, epochs * _around(call.where.loop, project))


def _loops(module: Module, project: Project) -> Iterator[Consumer]:
    for loop in module.loops:
        if loop.kind == "for" and loop.iterable is not None:
            pipeline = read(loop.iterable, loop.where.scope, project)
            if pipeline is not None:
                yield Consumer(pipeline, "for", loop, _around(loop.where.loop, project))


def _iterators(module: Module, project: Project) -> Iterator[Consumer]:
    for call in module.calls:
        func = call.node.func
        data: ast.expr | None = None
        if isinstance(func, ast.Name) and func.id == "iter" and call.node.args:
            data = call.node.args[0]
        elif isinstance(func, ast.Attribute) and func.attr in ("make_one_shot_iterator", "make_initializable_iterator"):
            data = call.node.args[0] if call.node.args else func.value
        pipeline = read(data, call.where.scope, project) if data is not None else None
        if pipeline is not None:
            yield Consumer(pipeline, "iter", call, _around(call.where.loop, project))


def read(expr: ast.expr, scope: Scope, project: Project) -> Pipeline | None:
    """The chain that is read through `enumerate`, `tqdm` and the like."""
    while isinstance(expr, ast.Call) and expr.args:
        name = project.name_of(expr.func, scope)
        distributed = isinstance(expr.func, ast.Attribute) and expr.func.attr == DISTRIBUTES
        if name not in PASSES_ON and not distributed:
            break
        expr = expr.args[0]
    pipeline = pipeline_of(expr, scope, project)
    return pipeline if pipeline is not None and pipeline.is_dataset else None


def _around(loop: Loop | None, project: Project) -> float:
    """How often the loops around something run it."""
    if loop is None:
        return 1.0
    around = [loop, *loops_of(loop.where)]
    return math.prod(math.inf if n is None else max(n, 1.0) for n in (trips(one, project) for one in around))


def _count(expr: ast.expr, scope: Scope, project: Project) -> float:
    value = number(expr, scope, project)
    return math.inf if value is None else value
