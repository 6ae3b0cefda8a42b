"""A module of source as rules see it: its scopes, loops, bindings and calls, each with where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from hotloop.model import Place
from hotloop.source import notebooks
from hotloop.source.aside import is_benchmark, is_test

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(eq=False, slots=True, repr=False)
class Scope:
    """A module, class, function or lambda: what it binds and where it was defined."""

    module: Module
    node: ast.Module | ast.ClassDef | Function
    name: str
    parent: Scope | None
    where: Context | None  # of the definition itself; None for a module
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    attributes: dict[str, list[Binding]] = field(default_factory=dict)  # a class: what its methods set on `self`
    outer_names: set[str] = field(default_factory=set)  # declared global or nonlocal
    returns: list[ast.expr] = field(default_factory=list)
    yields: bool = False

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)

    @property
    def qualname(self) -> str:
        outer = self.parent.qualname if self.parent else ""
        return f"{outer}.{self.name}" if outer else self.name

    @property
    def parameters(self) -> list[str]:
        if not isinstance(self.node, Function):
            return []
        spec = self.node.args
        return [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]

    @property
    def decorators(self) -> list[ast.expr]:
        return getattr(self.node, "decorator_list", [])

    @property
    def is_method(self) -> bool:
        return self.is_function and self.parent is not None and isinstance(self.parent.node, ast.ClassDef)

    def owner(self, name: str) -> Scope | None:
        """The scope that a name belongs to as code here sees it: the nearest that binds it, classes skipped."""
        seeker: Scope | None = self
        while seeker is not None:
            visible = seeker is self or not isinstance(seeker.node, ast.ClassDef)
            if visible and name in seeker.bindings and name not in seeker.outer_names:
                return seeker
            seeker = seeker.parent
        return None

    def bind(self, binding: Binding) -> None:
        target = self
        if binding.name in self.outer_names:
            target = self._enclosing(binding.name) or self.module.scope
        target.bindings.setdefault(binding.name, []).append(binding)

    def _enclosing(self, name: str) -> Scope | None:
        """The function that a nonlocal name belongs to."""
        seeker = self.parent
        while seeker is not None and seeker.is_function:
            if name in seeker.bindings:
                return seeker
            seeker = seeker.parent
        return None


@dataclass(eq=False, slots=True, repr=False)
class Loop:
    """A for, while or comprehension, or a `map(f, xs)`."""

    node: ast.For | ast.AsyncFor | ast.While | Comprehension | ast.Call
    where: Context  # around the loop
    kind: str

    @property
    def place(self) -> Place:
        return place_of(self.where.scope.module, self.node)

    @property
    def iterable(self) -> ast.expr | None:
        if isinstance(self.node, ast.For | ast.AsyncFor):
            return self.node.iter
        if isinstance(self.node, Comprehension):
            return self.node.generators[0].iter
        return self.node.args[1] if isinstance(self.node, ast.Call) and len(self.node.args) > 1 else None

    @property
    def targets(self) -> set[str]:
        if isinstance(self.node, ast.For | ast.AsyncFor):
            return set(names_stored(self.node.target))
        if isinstance(self.node, Comprehension):
            return {name for part in self.node.generators for name in names_stored(part.target)}
        return set()


@dataclass(eq=False, slots=True, repr=False)
class Context:
    """Where a node stands: scope, innermost loop of that scope, statement, and the `with`s and tests around it."""

    scope: Scope
    loop: Loop | None
    statement: ast.stmt | None = None
    withs: tuple[ast.With | ast.AsyncWith, ...] = ()
    tests: tuple[ast.expr, ...] = ()  # of the ifs around it, within the scope
    fallible: bool = False  # inside a try with handlers

    def at(self, statement: ast.stmt) -> Context:
        return Context(self.scope, self.loop, statement, self.withs, self.tests, self.fallible)

    def inside(self, **change: object) -> Context:
        return replace(self, **change)  # type: ignore[arg-type]


@dataclass(eq=False, slots=True, repr=False)
class Binding:
    """One way a name gets a value. `value` is what it is bound to, where an expression says so."""

    name: str
    kind: str  # assign, augment, import, def, class, parameter, target, with, walrus, other (part of `value`)
    where: Context
    node: ast.AST
    value: ast.expr | None = None
    imported: str = ""  # import: the dotted name
    scope: Scope | None = None  # def, class: what it defines


@dataclass(eq=False, slots=True, repr=False)
class Call:
    node: ast.Call
    where: Context
    last: str = field(init=False)  # name of what is called

    def __post_init__(self) -> None:
        self.last = last_name(self.node.func)

    @property
    def place(self) -> Place:
        return place_of(self.where.scope.module, self.node)

    def argument(self, index: int, name: str) -> ast.expr | None:
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return keyword.value
        return self.node.args[index] if len(self.node.args) > index else None


@dataclass(eq=False, slots=True, repr=False)
class Module:
    """One parsed file."""

    path: str  # as shown to the user
    file: Path
    name: str  # dotted, as far as it is known
    data: bytes
    tree: ast.Module
    folder: str = field(init=False)
    scope: Scope = field(init=False)
    scopes: list[Scope] = field(default_factory=list)
    scope_of: dict[ast.AST, Scope] = field(default_factory=dict)  # of a function, class or lambda
    loops: list[Loop] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    called: dict[str, list[Call]] = field(default_factory=dict)  # the calls by the last name of what they call
    notes: dict[object, object] = field(default_factory=dict)  # what others found out about it
    withs: list[tuple[ast.With | ast.AsyncWith, Context]] = field(default_factory=list)
    choices: list[ast.If] = field(default_factory=list)
    contexts: dict[ast.AST, Context] = field(default_factory=dict)  # of every statement, call and definition
    suppressions: dict[int, set[str]] = field(default_factory=dict)
    cells: list[notebooks.CellMap] = field(default_factory=list)  # of a notebook: where the lines of `data` come from
    above: str = ""  # of a file outside of the root: the folder whose name says nothing of it

    def __post_init__(self) -> None:
        self.folder = str(self.file.parent)

    def calls_of(self, *lasts: str) -> Iterator[Call]:
        """The calls of what has one of these last names, by name."""
        return (call for last in lasts for call in self.called.get(last, ()))

    @property
    def is_test(self) -> bool:
        return is_test(self.path.removeprefix(self.above))

    @property
    def is_benchmark(self) -> bool:
        return is_benchmark(self.path.removeprefix(self.above))


def last_name(expr: ast.expr) -> str:
    """The last name of what is called: `f` of `f`, `a.f`, `f(1)` and `a.f()`."""
    while isinstance(expr, ast.Call):
        expr = expr.func
    if isinstance(expr, ast.Attribute):
        return expr.attr
    return expr.id if isinstance(expr, ast.Name) else ""


def place_of(module: Module, node: ast.AST) -> Place:
    line = getattr(node, "lineno", 1)
    return Place(
        module.path,
        line,
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", None) or line,
        getattr(node, "end_col_offset", None) or 0,
    )


def names_stored(target: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def names_read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
