"""Whether a Python number is a whole number or a float: the tensor that takes its place has a type of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from hotloop.source.module import Binding, Scope
from hotloop.source.plain import called_function, counted_by
from hotloop.source.project import argument_for, default_number

if TYPE_CHECKING:
    from hotloop.source import Project

Kind = Literal["whole", "float", "either", "same"]  # "same" as something that is being asked about already

DEPTH = 8
WHOLE_KEPT = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
WHOLE_CALLS = {"len", "int", "random.randint", "math.floor", "math.ceil"}
FLOAT_CALLS = {"float", "random.random", "random.uniform", "random.gauss", "time.time", "time.perf_counter"}


def kind_of(expr: ast.expr, scope: Scope, project: Project) -> Kind:
    return _Kinds(project).of(expr, scope, 0)


class _Kinds:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.seen: set[tuple[Scope, str]] = set()

    def of(self, expr: ast.expr, scope: Scope, depth: int) -> Kind:
        if depth > DEPTH:
            return "either"
        match expr:
            case ast.Constant():
                return "whole" if type(expr.value) is int else "float" if type(expr.value) is float else "either"
            case ast.UnaryOp():
                return self.of(expr.operand, scope, depth + 1)
            case ast.IfExp():
                return _joined(self.of(side, scope, depth + 1) for side in (expr.body, expr.orelse))
            case ast.BinOp():
                sides = (self.of(expr.left, scope, depth + 1), self.of(expr.right, scope, depth + 1))
                return _combined(expr.op, *sides)
            case ast.Name():
                return self._bound(self.project.bindings(expr.id, scope), scope.owner(expr.id) or scope, expr.id, depth)
            case ast.Attribute():
                owner = self.project.resolve(expr.value, scope)
                if owner is None or owner.kind != "object" or owner.scope is None:
                    return "either"
                return self._bound(owner.scope.set_on_self(expr.attr), owner.scope, f".{expr.attr}", depth)
            case ast.Call():
                return self._call(expr, scope, depth)
        return "either"

    def _call(self, expr: ast.Call, scope: Scope, depth: int) -> Kind:
        name = self.project.name_of(expr.func, scope)
        if name in WHOLE_CALLS or (name == "round" and len(expr.args) == 1):
            return "whole"
        if name in FLOAT_CALLS or name.startswith("math."):
            return "float"
        if name in ("max", "min", "abs"):
            return _joined(self.of(argument, scope, depth + 1) for argument in expr.args)
        callee = called_function(expr, scope, self.project)
        return _joined(self.of(one, callee, depth + 1) for one in callee.returns) if callee else "either"

    def _bound(self, bindings: list[Binding], home: Scope, name: str, depth: int) -> Kind:
        if (home, name) in self.seen:  # i = i + 1
            return "same"
        self.seen.add((home, name))
        found = _joined(self._binding(binding, depth) for binding in bindings) if bindings else "either"
        self.seen.discard((home, name))
        return found

    def _binding(self, binding: Binding, depth: int) -> Kind:
        scope = binding.where.scope
        if binding.kind == "target" and binding.where.loop is not None:
            source = counted_by(binding.name, binding.where.loop, self.project)
            return "whole" if isinstance(source, ast.Call) else self._element(source, scope, depth)
        if binding.kind == "parameter":
            return self._handed(binding.name, scope, depth)
        if binding.value is None:
            return "either"
        value = self.of(binding.value, scope, depth + 1)
        return _combined(binding.node.op, "same", value) if isinstance(binding.node, ast.AugAssign) else value

    def _element(self, source: ast.expr | None, scope: Scope, depth: int) -> Kind:
        known = self.project.literal(source.id, scope) if isinstance(source, ast.Name) else None
        listed, home = known or (source, scope)
        if isinstance(listed, ast.List | ast.Tuple):
            return _joined(self.of(part, home, depth + 1) for part in listed.elts)
        return self.of(listed.elt, home, depth + 1) if isinstance(listed, ast.ListComp) else "either"

    def _handed(self, name: str, scope: Scope, depth: int) -> Kind:
        """What all callers hand over."""
        given = [(argument_for(call, scope, name), call) for call in self.project.callers(scope)]
        kinds = [self.of(one, call.where.scope, depth + 1) for one, call in given if one is not None]
        if len(kinds) < len(given) or not given:
            default = default_number(scope, name)
            kinds.append("float" if default and isinstance(default.constant, float) else "either")
        return _joined(kinds)


def _joined(kinds: Iterable[Kind]) -> Kind:
    told = set(kinds) - {"same"}
    return told.pop() if len(told) == 1 else "either" if told else "same"


def _combined(op: ast.operator, left: Kind, right: Kind) -> Kind:
    if isinstance(op, ast.Div) or "float" in (left, right):
        return "float"
    if "either" in (left, right) or not isinstance(op, WHOLE_KEPT):
        return "either"
    return "same" if "same" in (left, right) else "whole"
