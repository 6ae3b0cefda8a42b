"""Expressions -> tf.data chains: followed backwards over statements, functions and modules to where the data begin."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hotloop.source.module import Binding, Call, Module, Scope
from hotloop.source.noted import Noted
from hotloop.source.project import Project, argument_for
from hotloop.source.stages import (
    FROM_DIRECTORY,
    FUNCTION_STAGES,
    FUSED,
    SOURCE_NAMES,
    SOURCES,
    STAGES,
    Pipeline,
    Stage,
    is_source,
    may_be_source,
)

DEPTH = 24  # of statements and calls that one chain is followed through
DATA = (b"ataset", b"tf.data", b"tfds", b"load_data", b".map(", b".batch(", b".shuffle(", b".repeat(", b".prefetch(")
MAKERS = re.compile(r"data|ds$|ds_|batch|pipe|input|prepar|configur|process|split|load", re.IGNORECASE)


def pipeline_of(expr: ast.expr, scope: Scope, project: Project) -> Pipeline | None:
    """The chain that `expr` holds; None when it is no data set. A chain whose source is out of sight has none."""
    return _Reader(project).read(expr, scope, ())


_ENDS: Noted[tuple[Pipeline, ...]] = Noted()


def pipelines(module: Module, project: Project) -> tuple[Pipeline, ...]:
    """The whole chains that end in a module: none of them is the beginning of another."""
    return _ENDS.of(module, lambda: _ends(module, project))


def _ends(module: Module, project: Project) -> tuple[Pipeline, ...]:
    found: dict[ast.Call, Pipeline] = {}
    for call in (call for last, calls in module.called.items() if _may_belong(last) for call in calls):
        func = call.node.func
        staged = isinstance(func, ast.Attribute) and func.attr in STAGES
        if staged or _maker(call, project):
            pipeline = pipeline_of(call.node, call.where.scope, project)
            if pipeline is not None and pipeline.is_dataset:
                found[call.node] = pipeline
    passed = {node for pipeline in found.values() for node in _inner(pipeline)}
    return tuple(pipeline for node, pipeline in found.items() if node not in passed)


def _maker(call: Call, project: Project) -> bool:
    """A source, or a function of the project that may return a data set."""
    if not (may_be_source(call.last) or MAKERS.search(call.last)) or _hangs_on_callers(call, project):
        return False
    value = project.at_sight(call.node.func, call.where.scope)
    if value is None:
        return False
    made = value.scope if value.kind == "function" else None
    return is_source(value.name) or (made is not None and bool(made.returns) and _speaks_of_data(made.module))


_SPEAKS: Noted[bool] = Noted()


def _speaks_of_data(module: Module) -> bool:
    """Else its functions return no data set: to find out what they return takes long."""
    return _SPEAKS.of(module, lambda: any(word in module.data for word in DATA))


@functools.cache
def _may_belong(last: str) -> bool:
    """To a chain: a stage, a source, or a function that may return one."""
    return last in STAGES or SOURCES.search(last) is not None or MAKERS.search(last) is not None


def _hangs_on_callers(call: Call, project: Project) -> bool:
    """Whether it is a method of a parameter: who that is takes long to find out, and is seldom a maker of data."""
    func = call.node.func
    root = func.value if isinstance(func, ast.Attribute) else func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in ("self", "cls"):
        return not isinstance(root, ast.Name)
    return any(b.kind in ("parameter", "target") for b in project.bindings(root.id, call.where.scope))


def _inner(pipeline: Pipeline) -> Iterator[ast.Call]:
    """The calls that a chain goes through before its last."""
    nodes = [stage.call.node for stage in pipeline.stages]
    if pipeline.origin is not None:
        nodes.insert(0, pipeline.origin.node)
    return (node for node in nodes if pipeline.end is not None and node is not pipeline.end.node)


@dataclass(frozen=True)
class _Frame:
    """A call that the reader went through, to give parameters of the called function their arguments."""

    callee: Scope
    call: Call


class _Reader:
    """Follows an expression backwards to the source of its data."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.steps = 0

    def read(self, expr: ast.expr, scope: Scope, frames: tuple[_Frame, ...]) -> Pipeline | None:
        self.steps += 1
        if self.steps > 8 * DEPTH or len(frames) > DEPTH:
            return None
        match expr:
            case ast.Call():
                return self._call(expr, scope, frames)
            case ast.Name():
                return self._name(expr, scope, frames)
            case ast.Attribute():
                return self._attribute(expr, scope, frames)
            case ast.Subscript():
                return self.read(expr.value, scope, frames)
            case ast.IfExp():
                return self.read(expr.body, scope, frames) or self.read(expr.orelse, scope, frames)
            case ast.NamedExpr():
                return self.read(expr.value, scope, frames)
        return None

    # calls

    def _call(self, node: ast.Call, scope: Scope, frames: tuple[_Frame, ...]) -> Pipeline | None:
        call = call_at(node, scope)
        name = self.project.name_of(node.func, scope)
        if is_source(name):
            return Pipeline(name, call)
        if isinstance(node.func, ast.Attribute) and node.func.attr in STAGES:
            return self._stage(call, node.func, scope, frames)
        value = self.project.resolve(node.func, scope)
        if value is not None and value.kind in ("function", "traced") and value.scope is not None:
            return self._returned(value.scope, call, frames, None)
        return None if value is not None and value.kind != "constant" and value.name else Pipeline("", None)

    def _stage(self, call: Call, func: ast.Attribute, scope: Scope, frames: tuple[_Frame, ...]) -> Pipeline | None:
        owner = self.project.resolve(func.value, scope)
        if owner is not None and owner.kind in ("module", "class"):
            return None
        if owner is not None and owner.kind == "name" and not _may_be_dataset(owner.name):
            return None
        upstream = self.read(func.value, scope, frames)
        if upstream is None:
            return None
        added = self._stages_of(func.attr, call)
        return replace(upstream, stages=(*_marked(upstream.stages, call), *added))

    def _stages_of(self, name: str, call: Call) -> list[Stage]:
        inner = call.node.args[0] if name == "apply" and call.node.args else None
        if isinstance(inner, ast.Call):
            fused = self.project.name_of(inner.func, call.where.scope)
            if fused.startswith("tf.data.") and (last := fused.rpartition(".")[2]) in FUSED:
                made = call_at(inner, call.where.scope)
                return [Stage(n, made, self._function(n, made), fused=True) for n in FUSED[last]]
        return [Stage(name, call, self._function(name, call))]

    def _function(self, name: str, call: Call) -> Scope | None:
        argument = call.argument(0, "predicate" if name == "filter" else "map_func")
        if name not in FUNCTION_STAGES or argument is None:
            return None
        value = self.project.resolve(argument, call.where.scope)
        return value.scope if value is not None and value.kind in ("function", "traced") else None

    def _returned(self, callee: Scope, call: Call, frames: tuple[_Frame, ...], index: int | None) -> Pipeline | None:
        if any(frame.callee is callee for frame in frames) or callee.yields:
            return None
        inside = (*frames, _Frame(callee, call))
        for returned in reversed(callee.returns):
            if index is not None and isinstance(returned, ast.Tuple) and index < len(returned.elts):
                returned = returned.elts[index]
            found = self.read(returned, callee, inside)
            if found is not None and (found.source or found.stages):
                return found
        return None

    # names

    def _name(self, expr: ast.Name, scope: Scope, frames: tuple[_Frame, ...]) -> Pipeline | None:
        bindings = self.project.bindings(expr.id, scope)
        if not bindings:
            return None
        owner = bindings[0].where.scope
        binding = _last(bindings, expr) if owner is scope else bindings[-1]
        if binding is None:
            return Pipeline("", None)
        inside = frames if owner is scope else ()
        found = self._binding(binding, owner, inside)
        optional = bool(binding.where.tests) and found is not None and binding.kind == "assign"
        return replace(found, stages=_conditional(found.stages, binding)) if optional and found else found

    def _binding(self, binding: Binding, owner: Scope, frames: tuple[_Frame, ...]) -> Pipeline | None:
        if binding.kind == "parameter":
            return self._parameter(binding, owner, frames)
        if binding.kind == "import":
            found = self.project.literal(binding.name, owner)
            return self.read(*found, ()) if found else None
        if binding.kind in ("def", "class", "augment"):
            return None
        if binding.value is None or binding.kind == "target":
            return Pipeline("", None)
        if binding.kind == "other":
            return self._part(binding, owner, frames)
        return self.read(binding.value, owner, frames)

    def _part(self, binding: Binding, owner: Scope, frames: tuple[_Frame, ...]) -> Pipeline | None:
        """`train, val = make()`: the part of what `make` returns."""
        value = binding.value
        if not isinstance(value, ast.Call):
            return Pipeline("", None)
        made = self.project.resolve(value.func, owner)
        if made is None or made.kind != "function" or made.scope is None:
            return self.read(value, owner, frames)
        target = binding.node.targets[0] if isinstance(binding.node, ast.Assign) else None
        names = [e.id if isinstance(e, ast.Name) else "" for e in getattr(target, "elts", [])]
        index = names.index(binding.name) if binding.name in names else None
        return self._returned(made.scope, call_at(value, owner), frames, index)

    def _parameter(self, binding: Binding, owner: Scope, frames: tuple[_Frame, ...]) -> Pipeline:
        unknown = Pipeline("", None)
        if frames:
            *outer, frame = frames
            if frame.callee is not owner:
                return unknown
            argument = argument_for(frame.call, owner, binding.name)
            found = self.read(argument, frame.call.where.scope, tuple(outer)) if argument is not None else None
            return found or unknown
        for call in self.project.callers(owner)[:4]:
            argument = argument_for(call, owner, binding.name)
            found = self.read(argument, call.where.scope, ()) if argument is not None else None
            if found is not None and (found.source or found.stages):
                return found
        return unknown

    def _attribute(self, expr: ast.Attribute, scope: Scope, frames: tuple[_Frame, ...]) -> Pipeline | None:
        """`self.train_ds`, where a method sets it."""
        owner = self.project.resolve(expr.value, scope)
        if owner is None or owner.kind != "object" or owner.scope is None:
            known = owner is not None and owner.kind == "name" and not _may_be_dataset(owner.name)
            return None if known else Pipeline("", None)
        bindings = owner.scope.set_on_self(expr.attr)
        here = [b for b in bindings if b.where.scope is scope]
        binding = _last(here, expr) if here else (bindings[-1] if bindings else None)
        if binding is None:
            binding = next((b for b in reversed(bindings) if b.where.scope is not scope), None)
        return self._binding(binding, binding.where.scope, ()) if binding else Pipeline("", None)


def _may_be_dataset(name: str) -> bool:
    return name.startswith(SOURCE_NAMES) or FROM_DIRECTORY in name


def _last(bindings: list[Binding], use: ast.Name | ast.Attribute) -> Binding | None:
    """The last binding that is complete before the use and not in the other arm of an `if` around it."""
    for binding in reversed(bindings):
        if binding.kind == "parameter":
            return binding
        end = (getattr(binding.node, "end_lineno", 0), getattr(binding.node, "end_col_offset", 0))
        if end <= (use.lineno, use.col_offset) and not _in_other_arm(binding, use):
            return binding
    return None


def _in_other_arm(binding: Binding, use: ast.Name | ast.Attribute) -> bool:
    if not binding.where.tests:
        return False
    line = getattr(binding.node, "lineno", 0)
    for choice in binding.where.scope.module.index.choices:
        if choice.test in binding.where.tests and choice.orelse:
            start, end = choice.orelse[0].lineno, choice.orelse[-1].end_lineno or 0
            if start <= use.lineno <= end and line < start:
                return True
    return False


def _conditional(stages: tuple[Stage, ...], binding: Binding) -> tuple[Stage, ...]:
    """Those of the binding's own statement are optional."""
    own = binding.where.statement
    return tuple(replace(s, optional=True) if s.call.where.statement is own else s for s in stages)


def _marked(stages: tuple[Stage, ...], call: Call) -> tuple[Stage, ...]:
    """Under the same `if` as what follows, a stage is no longer optional."""
    tests = set(call.where.tests)
    return tuple(
        replace(s, optional=False) if s.optional and set(s.call.where.tests) <= tests and tests else s for s in stages
    )


def call_at(node: ast.Call, scope: Scope) -> Call:
    """The Call of a call expression."""
    return Call(node, scope.module.index.contexts[node])
