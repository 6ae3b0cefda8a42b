"""Where a module says a name: the calls of it, the calls that are handed it, the names that hold it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from hotloop.source.module import Binding, Call, Module, last_name

WRAPS = re.compile(r"^(\w+_)?(function|defun|jit|partial)$")  # what comes out calls what went in
FAR = 3  # times that a name is followed to the name that holds it
HANDED = {"target", "loss", "metrics"}  # of a thread or process, and of a model that is compiled
KEEPS = {"assign", "with", "walrus"}

Said: TypeAlias = str | ast.Lambda


class Mentions:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._handed: dict[Said, list[Call]] = {}
        self._holders: dict[Said, set[str]] = {}
        self._seen = [0, 0, 0]  # of the module's scopes, calls and bindings

    def handed(self, name: Said) -> list[Call]:
        """The calls that are handed it."""
        self._look_for(name)
        return self._handed.get(name, [])

    def offers(self, name: Said) -> bool:
        """Whether other modules can come by the name: all but those of a function's own."""
        self._look_for(name)
        return any(
            name in scope.set_names or (name in scope.names and not scope.is_function)
            for scope in self._module.index.scopes
        )

    def _look_for(self, name: Said) -> None:
        """Read where the name stands, and look at what was not seen before."""
        if isinstance(name, str):
            self._module.read_saying(name)
        index = self._module.index
        scopes, calls, bindings = self._seen
        if len(index.calls) == calls and len(index.bindings) == bindings and len(index.scopes) == scopes:
            return
        self._seen = [len(index.scopes), len(index.calls), len(index.bindings)]
        for call in index.calls[calls:]:
            for handed in _handed(call):
                self._handed.setdefault(handed, []).append(call)
        for binding in index.bindings[bindings:]:
            self._hold(binding)
        for scope in index.scopes[scopes:]:
            for returned in scope.returns if scope.is_function else ():  # a call of it gives what it returns
                self._note(_held(returned), scope.name)

    def _hold(self, binding: Binding) -> None:
        if binding.kind in KEEPS and binding.value is not None:
            self._note(_held(binding.value), binding.name)
        elif binding.kind == "import":
            self._note([binding.imported.rpartition(".")[2]], binding.name)
        elif isinstance(binding.node, ast.ClassDef):
            self._note([last_name(base) for base in binding.node.bases], binding.name)

    def _note(self, held: Iterable[Said], holder: str) -> None:
        for name in held:
            if name and name != holder:
                self._holders.setdefault(name, set()).add(holder)

    def aliases(self, name: Said) -> set[Said]:
        """The name and those that may hold the same, or something made of it: `step = tf.function(_step)`."""
        found: set[Said] = {name}
        fresh: Iterable[Said] = found
        for _ in range(FAR):
            for one in fresh:
                self._look_for(one)
            fresh = {holder for one in fresh for holder in self._holders.get(one, ())} - found
            found = found.union(fresh)
        return found


def said(argument: ast.expr) -> Said:
    """What an argument that may be a function goes by: its name, itself, or that of what `partial` wraps."""
    kind = argument.__class__  # classes are compared: every argument of every call comes by
    if kind is ast.Name:
        return argument.id  # type: ignore[attr-defined, no-any-return]
    if kind is ast.Attribute:
        return argument.attr  # type: ignore[attr-defined, no-any-return]
    if kind is ast.Constant:
        return ""
    match argument:
        case ast.Lambda():
            return argument
        case ast.Call(func=func, args=[first, *_]):
            return said(first) if WRAPS.match(last_name(func)) else ""
    return ""


def arguments(call: Call) -> list[ast.expr]:
    """Those arguments of a call that may be functions."""
    return [argument for argument in _may_be_functions(call) if said(argument)]


def _handed(call: Call) -> list[Said]:
    return [name for argument in _may_be_functions(call) if (name := said(argument))]


def _may_be_functions(call: Call) -> list[ast.expr]:
    node = call.node
    if not node.keywords:
        return node.args
    named = [k.value for k in node.keywords if k.arg in HANDED]
    inside = [one for value in named if isinstance(value, ast.List | ast.Tuple) for one in value.elts]
    return [*node.args, *named, *inside]


def _held(value: ast.expr) -> Iterator[Said]:
    """What a name may hold, that is bound to the value."""
    if value.__class__ is ast.Constant:
        return
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            yield from _held(body)
            yield from _held(orelse)
        case ast.BoolOp(values=values):
            for part in values:
                yield from _held(part)
        case ast.Await(value=inner) | ast.NamedExpr(value=inner):
            yield from _held(inner)
        case ast.Call(func=func, args=parts):
            yield last_name(func)
            for part in parts if WRAPS.match(last_name(func)) else ():
                yield said(part)
        case ast.Name() | ast.Attribute() | ast.Lambda():
            yield said(value)
