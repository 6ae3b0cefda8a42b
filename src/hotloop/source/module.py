"""A module of source as rules see it: its scopes, loops, bindings and calls, each with where it stands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

from hotloop.model import Place
from hotloop.source import notebooks
from hotloop.source.aside import is_benchmark, is_test
from hotloop.source.deferred import Deferred

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
NOT_IN_WORDS = bytes(c if c == ord("_") or c > 127 or chr(c).isalnum() else ord(" ") for c in range(256))


@dataclass(eq=False, slots=True, repr=False)
class Scope:
    """A module, class, function or lambda: what it binds and where it was defined.

    Of a module that is read as it is asked for, `bound` and `set_on_self` read what they need and `bindings`,
    `attributes` and `node` everything; `names`, `set_names` and `definition` are what was read so far.
    """

    module: Module
    definition: ast.Module | ast.ClassDef | Function
    name: str
    parent: Scope | None
    where: Context | None  # of the definition itself; None for a module
    is_function: bool = field(init=False)
    names: dict[str, list[Binding]] = field(default_factory=dict)
    set_names: dict[str, list[Binding]] = field(default_factory=dict)  # a class: what its methods set on `self`
    outer_names: set[str] = field(default_factory=set)  # declared global or nonlocal
    returns: list[ast.expr] = field(default_factory=list)
    yields: bool = False

    def __post_init__(self) -> None:
        self.is_function = isinstance(self.definition, Function)

    @property
    def node(self) -> ast.Module | ast.ClassDef | Function:
        if not self.is_function:
            self.module.read_all()
        return self.definition

    @property
    def bindings(self) -> dict[str, list[Binding]]:
        if not self.is_function:
            self.module.read_all()
        return self.names

    @property
    def attributes(self) -> dict[str, list[Binding]]:
        """Of a class: what its methods set on `self`."""
        if not self.is_function:
            self.module.read_all()
        return self.set_names

    def bound(self, name: str) -> list[Binding]:
        """The bindings of a name."""
        if self.module.deferred and not self.is_function:
            self.module.read_definition(name, self)
        return self.names.get(name, [])

    def set_on_self(self, name: str) -> list[Binding]:
        if self.module.deferred:
            self.module.read_saying(name)
        return self.set_names.get(name, [])

    @property
    def qualname(self) -> str:
        outer = self.parent.qualname if self.parent else ""
        return f"{outer}.{self.name}" if outer else self.name

    @property
    def parameters(self) -> list[str]:
        if not isinstance(self.definition, Function):
            return []
        spec = self.definition.args
        return [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]

    @property
    def decorators(self) -> list[ast.expr]:
        return getattr(self.definition, "decorator_list", [])

    @property
    def is_method(self) -> bool:
        return self.is_function and self.parent is not None and isinstance(self.parent.definition, ast.ClassDef)

    def owner(self, name: str) -> Scope | None:
        """The scope that a name belongs to as code here sees it: the nearest that binds it, classes skipped."""
        seeker: Scope | None = self
        while seeker is not None:
            visible = seeker is self or not isinstance(seeker.definition, ast.ClassDef)
            if visible and name not in seeker.outer_names and seeker.bound(name):
                return seeker
            seeker = seeker.parent
        return None

    def bind(self, binding: Binding) -> None:
        target = self
        if binding.name in self.outer_names:
            target = self._enclosing(binding.name) or self.module.scope
        target.names.setdefault(binding.name, []).append(binding)
        self.module.index.bindings.append(binding)

    def _enclosing(self, name: str) -> Scope | None:
        """The function that a nonlocal name belongs to."""
        seeker = self.parent
        while seeker is not None and seeker.is_function:
            if name in seeker.names:
                return seeker
            seeker = seeker.parent
        return None

    def set_attribute(self, binding: Binding) -> None:
        """What a method sets on `self`."""
        self.set_names.setdefault(binding.name, []).append(binding)
        self.module.index.bindings.append(binding)


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
    attempt: str = ""  # inside a try with handlers: `tried`; in one of these: `handled`

    def at(self, statement: ast.stmt) -> Context:
        return Context(self.scope, self.loop, statement, self.withs, self.tests, self.attempt)

    def asked(self, tests: tuple[ast.expr, ...]) -> Context:
        return Context(self.scope, self.loop, self.statement, self.withs, tests, self.attempt)

    def within(self, block: ast.With | ast.AsyncWith) -> Context:
        return Context(self.scope, self.loop, self.statement, (*self.withs, block), self.tests, self.attempt)

    def attempted(self, attempt: str) -> Context:
        return Context(self.scope, self.loop, self.statement, self.withs, self.tests, attempt)

    def repeated(self, loop: Loop) -> Context:
        """In the body of a loop that stands here: what is seldom here is often there."""
        return Context(self.scope, loop, self.statement, self.withs, (), "tried" if self.attempt else "")

    @property
    def fallible(self) -> bool:
        return bool(self.attempt)


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


class Call:
    __slots__ = ("last", "node", "where")

    def __init__(self, node: ast.Call, where: Context) -> None:
        self.node = node
        self.where = where
        func = node.func  # classes are compared: there are more calls than anything else
        self.last = (  # name of what is called
            func.attr if func.__class__ is ast.Attribute else func.id if func.__class__ is ast.Name else last_name(func)
        )

    @property
    def place(self) -> Place:
        return place_of(self.where.scope.module, self.node)

    def argument(self, index: int, name: str) -> ast.expr | None:
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return keyword.value
        return self.node.args[index] if len(self.node.args) > index else None


@dataclass(eq=False, slots=True, repr=False)
class Index:
    """What stands in a module, as far as it was read."""

    scopes: list[Scope] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    called: dict[str, list[Call]] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    withs: list[tuple[ast.With | ast.AsyncWith, Context]] = field(default_factory=list)
    choices: list[ast.If] = field(default_factory=list)
    contexts: dict[ast.AST, Context] = field(default_factory=dict)


@dataclass(eq=False, slots=True, repr=False)
class Module:
    """One parsed file. Functions of a file that only names lead to are parsed when somebody asks for them."""

    path: str  # as shown to the user
    file: Path
    name: str  # dotted, as far as it is known
    data: bytes
    index: Index = field(default_factory=Index)
    scope: Scope = field(init=False)
    folder: str = field(init=False)
    scope_of: dict[ast.AST, Scope] = field(default_factory=dict)  # of a function, class or lambda
    notes: dict[object, object] = field(default_factory=dict)  # what others found out about it
    suppressions: dict[int, set[str]] = field(default_factory=dict)
    cells: list[notebooks.CellMap] = field(default_factory=list)  # of a notebook: where the lines of `data` come from
    above: str = ""  # of a file outside of the root: the folder whose name says nothing of it
    deferred: dict[Deferred, Scope] = field(default_factory=dict)  # what was not read yet, and where it belongs
    left_out: frozenset[str] = frozenset()  # the names of all that was deferred at first
    sets_globals: bool = False
    build: Callable[[Deferred, Scope], None] | None = None  # reads what was deferred
    asked: set[str] = field(default_factory=set)  # words, after which nothing that says them is left to read

    def __post_init__(self) -> None:
        self.folder = str(self.file.parent)

    # -- what is in it, all of it ----------------------------------------------------------------------------------

    @property
    def tree(self) -> ast.Module:
        return cast("ast.Module", self.scope.node)

    @property
    def scopes(self) -> list[Scope]:
        return self.read_all().scopes

    @property
    def loops(self) -> list[Loop]:
        return self.read_all().loops

    @property
    def calls(self) -> list[Call]:
        return self.read_all().calls

    @property
    def called(self) -> dict[str, list[Call]]:
        """The calls by the last name of what they call."""
        return self.read_all().called

    @property
    def withs(self) -> list[tuple[ast.With | ast.AsyncWith, Context]]:
        return self.read_all().withs

    @property
    def contexts(self) -> dict[ast.AST, Context]:
        """Of every statement, call and definition."""
        return self.read_all().contexts

    # -- what is in it, as asked for -------------------------------------------------------------------------------

    def calls_of(self, *lasts: str) -> Iterator[Call]:
        """The calls of what has one of these last names, by name."""
        for last in lasts:
            self.read_saying(last)
            yield from self.index.called.get(last, ())

    def read_all(self) -> Index:
        if self.deferred:
            self._read(list(self.deferred))
        return self.index

    def read_saying(self, word: str) -> None:
        """Read the functions in whose text a word stands."""
        if self.deferred and word not in self.asked:
            self.asked.add(word)
            spelled = word.encode()
            if spelled in self.data:
                self._read([one for one in self.deferred if says(self.data, spelled, one.start, one.end)])

    def read_decorated(self) -> Index:
        """Read the functions that have decorators."""
        self._read([one for one in self.deferred if self.data.startswith(b"@", one.start + len(one.indent))])
        return self.index

    def read_definition(self, name: str, scope: Scope) -> None:
        """Read what may bind a name in a module or in a class of it."""
        if self.sets_globals and scope is self.scope and name != "*":  # which no function may import
            self.read_saying(name)
        elif name in self.left_out and name not in self.asked:
            self._read([one for one, home in self.deferred.items() if one.name == name and home is scope])

    def _read(self, wanted: Iterable[Deferred]) -> None:
        for one in wanted:
            home = self.deferred.pop(one)
            known = len(self.index.bindings)
            if self.build is not None:
                self.build(one, home)
            for binding in self.index.bindings[known:]:
                for scope in (self.scope, home):
                    scope.names.get(binding.name, []).sort(key=_line)
                home.set_names.get(binding.name, []).sort(key=_line)

    @property
    def is_test(self) -> bool:
        return is_test(self.path.removeprefix(self.above))

    @property
    def is_benchmark(self) -> bool:
        return is_benchmark(self.path.removeprefix(self.above))


def says(data: bytes, word: bytes, start: int = 0, end: int | None = None) -> bool:
    """Whether the word stands there on its own. A pattern with `\\b` before it would be tried at every byte."""
    end = len(data) if end is None else end
    at = data.find(word, start, end)
    while at >= 0:
        around = data[at - 1 : at] + data[at + len(word) : at + len(word) + 1]
        if not around.translate(NOT_IN_WORDS).strip():
            return True
        at = data.find(word, at + 1, end)
    return False


def says_twice(data: bytes, word: bytes) -> bool:
    """Whether the word stands there again, after it or another that it is a part of."""
    again = data.find(word, data.find(word) + 1)
    return again >= 0 and says(data, word, again)


def last_name(expr: ast.expr) -> str:
    """The last name of what is called: `f` of `f`, `a.f`, `f(1)` and `a.f()`."""
    while expr.__class__ is ast.Call:  # classes are compared: nobody is asked more often
        expr = expr.func
    kind = expr.__class__
    return expr.attr if kind is ast.Attribute else expr.id if kind is ast.Name else ""  # type: ignore[attr-defined]


def _line(binding: Binding) -> int:
    return getattr(binding.node, "lineno", 0)


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
