"""Where a module says a name: the calls of it, the calls that are handed it, the names that hold it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from hotloop.source.module import Binding, Call, Module, last_name

WRAPS = re.compile(r"^(\w+_)?(function|defun|jit|partial)$")  # what comes out calls what went in
FAR = 3  # times that a name is followed to the name that holds it
KEEPS = {"assign", "with", "walrus"}

Said: TypeAlias = str | ast.Lambda


class Mentions:
    def __init__(self, module: Module) -> None:
        self.handed: dict[Said, list[Call]] = {}
        self.offered: set[str] = set()  # names that other modules can come by: all but those of a function's own
        self._holders: dict[Said, set[str]] = {}
        for call in module.calls:
            for name in _handed(call):
                self.handed.setdefault(name, []).append(call)
        for scope in module.scopes:
            self.offered.update(scope.attributes if scope.is_function else (*scope.bindings, *scope.attributes))
            for bindings in (*scope.bindings.values(), *scope.attributes.values()):
                for binding in bindings:
                    self._hold(binding)
            if scope.is_function:  # a call of the function gives what it returns
                for returned in scope.returns:
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
            fresh = {holder for one in fresh for holder in self._holders.get(one, ())} - found
            found = found.union(fresh)
        return found


def said(argument: ast.expr) -> Said:
    """What an argument that may be a function goes by: its name, itself, or that of what `partial` wraps."""
    if isinstance(argument, ast.Lambda):
        return argument
    if isinstance(argument, ast.Call):
        return said(argument.args[0]) if argument.args and WRAPS.match(last_name(argument.func)) else ""
    return last_name(argument)


def arguments(call: Call) -> list[ast.expr]:
    """Those arguments of a call that may be functions."""
    return [argument for argument in _may_be_functions(call) if said(argument)]


def _handed(call: Call) -> list[Said]:
    return [name for argument in _may_be_functions(call) if (name := said(argument))]


def _may_be_functions(call: Call) -> list[ast.expr]:
    node = call.node
    return [*node.args, *[k.value for k in node.keywords if k.arg == "target"]] if node.keywords else node.args


def _held(value: ast.expr) -> Iterator[Said]:
    """What a name may hold, that is bound to the value."""
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
