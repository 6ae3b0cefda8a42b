"""Bytes -> Module: one pass over the tree that notes every scope, loop, binding and call, with where it stands."""

from __future__ import annotations

import ast
import contextlib
import gc
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from hotloop.model import Place
from hotloop.source import notebooks
from hotloop.source.aside import is_benchmark, is_test

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

SUPPRESSION = re.compile(rb"#\s*hotloop:\s*ignore\[([\w\-, ]+)\]")


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

    @property
    def place(self) -> Place:
        return place_of(self.where.scope.module, self.node)

    @property
    def last(self) -> str:
        return last_name(self.node.func)

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
    scope: Scope = field(init=False)
    scopes: list[Scope] = field(default_factory=list)
    scope_of: dict[ast.AST, Scope] = field(default_factory=dict)  # of a function, class or lambda
    loops: list[Loop] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    called: dict[str, list[Call]] = field(default_factory=dict)  # the calls by the last name of what they call
    notes: dict[object, object] = field(default_factory=dict)  # what others found out about it
    withs: list[tuple[ast.With | ast.AsyncWith, Context]] = field(default_factory=list)
    contexts: dict[ast.AST, Context] = field(default_factory=dict)  # of every statement, call and definition
    suppressions: dict[int, set[str]] = field(default_factory=dict)
    cells: list[notebooks.CellMap] = field(default_factory=list)  # of a notebook: where the lines of `data` come from

    @property
    def is_test(self) -> bool:
        return is_test(self.path)

    @property
    def is_benchmark(self) -> bool:
        return is_benchmark(self.path)


def parse(data: bytes, path: str, file: Path, name: str) -> Module:
    """Raises SyntaxError or ValueError (NUL bytes, bad encoding) for what is not Python 3, nor a notebook of it."""
    cells: list[notebooks.CellMap] = []
    if path.endswith(notebooks.SUFFIX):
        data, cells = notebooks.to_python(data)
    with collection_off():
        tree = ast.parse(data, filename=path)
        module = Module(path, file, name, data, tree, cells=cells)
        _Builder(module).build()
    for number, line in enumerate(data.splitlines(), 1):
        if b"hotloop:" in line and (match := SUPPRESSION.search(line)):
            module.suppressions[number] = {part.strip() for part in match[1].decode().split(",")}
    return module


@contextlib.contextmanager
def collection_off() -> Iterator[None]:
    """Trees are large and none of them is garbage: looking for it takes as long as building them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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


LEAVES = frozenset({ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue})
_WITHOUT_CODE = frozenset({"annotation", "arg", "attr", "ctx", "id", "kind", "op", "ops", "returns", "type_comment"})


_FIELDS = {
    kind: tuple(name for name in reversed(kind._fields) if name not in _WITHOUT_CODE)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
_STATEMENTS = frozenset(kind for kind in _FIELDS if issubclass(kind, ast.stmt))


class _Builder:
    """Walks with a stack of its own: an `elif` chain of a thousand arms must not exhaust Python's."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.stack: list[tuple[ast.AST, Context]] = []

    def build(self) -> None:
        module = self.module
        module.scope = Scope(module, module.tree, "", None, None)
        module.scopes.append(module.scope)
        self._push(module.tree.body, Context(module.scope, None))
        contexts, stack = module.contexts, self.stack
        visits = {kind: getattr(self, f"visit_{kind.__name__}", None) for kind in _FIELDS}
        while stack:
            node, where = stack.pop()
            kind = node.__class__
            if kind in _STATEMENTS:
                where = contexts[node] = where.at(node)  # type: ignore[arg-type]
            visit = visits[kind]
            if visit is not None:
                visit(node, where)
            else:
                self._descend(node, where)

    def _push(self, nodes: Sequence[ast.AST], where: Context) -> None:
        self.stack += [(node, where) for node in reversed(nodes) if node.__class__ not in LEAVES]

    def _descend(self, node: ast.AST, where: Context) -> None:
        """Push the children: what `ast.iter_child_nodes` finds, less what cannot hold anything of interest."""
        stack = self.stack
        for name in _FIELDS[node.__class__]:  # the last first, as they come off the stack
            value = getattr(node, name, None)
            if value.__class__ is list:
                for item in reversed(value):
                    if item.__class__ in _FIELDS and item.__class__ not in LEAVES:
                        stack.append((item, where))
            elif value.__class__ in _FIELDS and value.__class__ not in LEAVES:
                stack.append((value, where))

    # definitions

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, where: Context) -> None:  # noqa: N802
        scope = self._scope(node, node.name, where)
        where.scope.bind(Binding(node.name, "def", where, node, scope=scope))
        self._push(node.decorator_list, where)
        self._function(node, scope, where)
        self._push(node.body, Context(scope, None))

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda, where: Context) -> None:  # noqa: N802
        scope = self._scope(node, "<lambda>", where)
        self.module.contexts[node] = where
        self._function(node, scope, where)
        scope.returns.append(node.body)
        self._push([node.body], Context(scope, None, where.statement))

    def visit_ClassDef(self, node: ast.ClassDef, where: Context) -> None:  # noqa: N802
        scope = self._scope(node, node.name, where)
        where.scope.bind(Binding(node.name, "class", where, node, scope=scope))
        self._push([*node.decorator_list, *node.bases, *[k.value for k in node.keywords]], where)
        self._push(node.body, Context(scope, None))

    def _scope(self, node: ast.ClassDef | Function, name: str, where: Context) -> Scope:
        scope = Scope(self.module, node, name, where.scope, where)
        self.module.scopes.append(scope)
        self.module.scope_of[node] = scope
        self.module.contexts[node] = where
        return scope

    def _function(self, node: Function, scope: Scope, where: Context) -> None:
        spec = node.args
        self._push([*spec.defaults, *[d for d in spec.kw_defaults if d]], where)
        inner = Context(scope, None)
        extra = [a for a in (spec.vararg, spec.kwarg) if a]
        for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *extra):
            scope.bind(Binding(argument.arg, "parameter", inner, argument))

    # loops

    def visit_For(self, node: ast.For | ast.AsyncFor, where: Context) -> None:  # noqa: N802
        loop = self._loop(node, where, "for")
        inner = where.inside(loop=loop, tests=())
        self._bind_target(node.target, "target", None, inner, node)
        self._push(node.orelse, where)
        self._push(node.body, inner)
        self._push([node.iter], where)

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_While(self, node: ast.While, where: Context) -> None:  # noqa: N802
        inner = where.inside(loop=self._loop(node, where, "while"), tests=())
        self._push(node.orelse, where)
        self._push([node.test, *node.body], inner)

    def visit_ListComp(self, node: Comprehension, where: Context) -> None:  # noqa: N802
        inner = where.inside(loop=self._loop(node, where, "comprehension"), tests=())
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for generator in node.generators:
            self._bind_target(generator.target, "target", None, inner, node)
        later = [g.iter for g in node.generators[1:]] + [test for g in node.generators for test in g.ifs]
        self._push([*later, *parts], inner)
        self._push([node.generators[0].iter], where)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While | Comprehension, where: Context, kind: str) -> Loop:
        loop = Loop(node, where, kind)
        self.module.loops.append(loop)
        return loop

    # blocks

    def visit_If(self, node: ast.If, where: Context) -> None:  # noqa: N802
        inner = where.inside(tests=(*where.tests, node.test))
        self._push(node.orelse, inner)
        self._push(node.body, inner)
        self._push([node.test], where)

    def visit_Try(self, node: ast.Try, where: Context) -> None:  # noqa: N802
        self._push([*node.handlers, *node.orelse, *node.finalbody], where)
        self._push(node.body, where.inside(fallible=bool(node.handlers)))

    visit_TryStar = visit_Try  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler, where: Context) -> None:  # noqa: N802
        if node.name:
            where.scope.bind(Binding(node.name, "other", where, node))
        self._descend(node, where)

    def visit_With(self, node: ast.With | ast.AsyncWith, where: Context) -> None:  # noqa: N802
        self.module.withs.append((node, where))
        for item in node.items:
            if item.optional_vars is not None:
                value = item.context_expr if isinstance(item.optional_vars, ast.Name) else None
                self._bind_target(item.optional_vars, "with", value, where, node)
        self._push(node.body, where.inside(withs=(*where.withs, node)))
        self._push([item.context_expr for item in node.items], where)

    visit_AsyncWith = visit_With  # noqa: N815

    # bindings

    def visit_Assign(self, node: ast.Assign, where: Context) -> None:  # noqa: N802
        for target in node.targets:
            self._bind_target(target, "assign", node.value, where, node)
        self._push([*node.targets, node.value], where)

    def visit_AnnAssign(self, node: ast.AnnAssign, where: Context) -> None:  # noqa: N802
        if node.value is not None:
            self._bind_target(node.target, "assign", node.value, where, node)
            self._push([node.target, node.value], where)

    def visit_AugAssign(self, node: ast.AugAssign, where: Context) -> None:  # noqa: N802
        self._bind_target(node.target, "augment", node.value, where, node)
        self._push([node.target, node.value], where)

    def visit_NamedExpr(self, node: ast.NamedExpr, where: Context) -> None:  # noqa: N802
        self._bind_target(node.target, "walrus", node.value, where, node)
        self._push([node.value], where)

    def _bind_target(self, target: ast.expr, kind: str, value: ast.expr | None, where: Context, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            where.scope.bind(Binding(target.id, kind, where, node, value))
        elif isinstance(target, ast.Tuple | ast.List):
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            values = value.elts if same else [value] * len(target.elts)  # type: ignore[union-attr]
            for part, item in zip(target.elts, values, strict=True):
                self._bind_target(part, kind if same or kind == "target" else "other", item, where, node)
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, "other", value, where, node)
        elif isinstance(target, ast.Attribute):
            owner = self._owner(target, where.scope)
            if owner:
                owner.attributes.setdefault(target.attr, []).append(Binding(target.attr, kind, where, node, value))

    @staticmethod
    def _owner(target: ast.Attribute, scope: Scope) -> Scope | None:
        """The class that `self.x = ...` in one of its methods sets `x` on."""
        if not (scope.is_method and isinstance(target.value, ast.Name) and scope.parameters):
            return None
        return scope.parent if target.value.id == scope.parameters[0] else None

    def visit_Global(self, node: ast.Global | ast.Nonlocal, where: Context) -> None:  # noqa: N802
        where.scope.outer_names.update(node.names)

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_Import(self, node: ast.Import, where: Context) -> None:  # noqa: N802
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            dotted = alias.name if alias.asname else name
            where.scope.bind(Binding(name, "import", where, node, imported=dotted))

    def visit_ImportFrom(self, node: ast.ImportFrom, where: Context) -> None:  # noqa: N802
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            dotted = f"{base}{'' if base.endswith('.') or not base else '.'}{alias.name}"
            where.scope.bind(Binding(alias.asname or alias.name, "import", where, node, imported=dotted))

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar, where: Context) -> None:  # noqa: N802
        if node.name:
            where.scope.bind(Binding(node.name, "other", where, node))
        self._descend(node, where)

    visit_MatchStar = visit_MatchAs  # noqa: N815

    # expressions

    def visit_Call(self, node: ast.Call, where: Context) -> None:  # noqa: N802
        call = Call(node, where)
        self.module.calls.append(call)
        self.module.called.setdefault(last_name(node.func), []).append(call)
        self.module.contexts[node] = where
        if isinstance(node.func, ast.Name) and node.func.id == "map" and len(node.args) > 1:
            self.module.loops.append(Loop(node, where, "map"))
        self._descend(node, where)

    def visit_Return(self, node: ast.Return, where: Context) -> None:  # noqa: N802
        if node.value is not None:
            where.scope.returns.append(node.value)
            self._push([node.value], where)

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom, where: Context) -> None:  # noqa: N802
        where.scope.yields = True
        self._descend(node, where)

    visit_YieldFrom = visit_Yield  # noqa: N815
