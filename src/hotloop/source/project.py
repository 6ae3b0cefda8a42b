"""Modules -> Project: what names mean across files, who calls whom, and which code runs in which loop."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from hotloop.source.decorators import compiles, keeps
from hotloop.source.files import Files
from hotloop.source.guards import is_guarded
from hotloop.source.links import Links
from hotloop.source.module import Binding, Call, Context, Function, Loop, Module, Scope
from hotloop.source.names import canonical, starred

DEPTH = 12  # of following values and calls: deeper chains are left unresolved
HANDED_ON = 2  # times that a value is followed from parameter to parameter: each leads to more files
TRACED_METHODS = {"call", "train_step", "test_step", "predict_step", "compute_loss", "build", "__call__"}


@dataclass(frozen=True)
class Value:
    """What an expression holds, as far as source shows.

    `name` is canonical: `tf.Session` is the class, `tf.Session()` an instance, `tf.Session().run` its method.
    `scope` is set where it is the project's own function, class or (kind `object`) an instance of its class.
    """

    kind: str  # name, function, traced, class, object, module, constant
    name: str = ""
    scope: Scope | None = None
    constant: object = None


@dataclass(frozen=True)
class Running:
    """One way in which code runs in loops: `loops` around it, innermost first, through calls and across modules.

    `chains[i]` are the calls that lead from the body of `loops[i]` to the code, outermost first; empty when the
    code stands in that loop itself.
    """

    loops: tuple[Loop, ...]
    chains: tuple[tuple[Call, ...], ...]


class _Modules(dict[str, Module]):
    """The modules that are checked, by path. Others are found by name, and stay out of sight of whoever iterates."""

    def __init__(self, files: Files, chosen: Iterable[Path]) -> None:
        super().__init__((module.path, module) for file in chosen if (module := files.module(file, whole=True)))
        self._files = files

    def __missing__(self, path: str) -> Module:
        module = self._files.module(self._files.root / path)
        if module is None:
            raise KeyError(path)
        return module


class Project:
    """Files of which some are checked (`modules`); the others are parsed when something leads there."""

    def __init__(self, files: Files, chosen: Iterable[Path], thorough: bool = True) -> None:
        self.files = files
        self.thorough = thorough  # whether anybody asks for findings of low confidence
        self.root = files.root
        self.modules = _Modules(files, chosen)
        self._links = Links(self)
        self._traces: dict[Scope, bool] = {}
        self._memo: dict[ast.expr, Value | None] = {}
        self._open: list[ast.expr] = []
        self._too_deep: dict[ast.expr, int] = {}  # unknown only because it was asked from so far away
        self._cut = False
        self._handed_on = 0
        self._dotted: dict[tuple[str, str], Value | None] = {}
        self._starred: dict[tuple[str, str], Value | None] = {}

    def callers(self, scope: Scope) -> Sequence[Call]:
        """The calls of a function of the project, or of a class's `__init__`, wherever they stand."""
        return self._links.callers(scope)

    # -- values --------------------------------------------------------------------------------------------------------

    def name_of(self, expr: ast.expr, scope: Scope) -> str:
        """The canonical name of what `expr` holds; "" when unknown."""
        value = self.resolve(expr, scope)
        return value.name if value else ""

    def resolve(self, expr: ast.expr, scope: Scope, depth: int = 0) -> Value | None:
        if expr in self._memo and depth >= self._too_deep.get(expr, 0):
            return self._memo[expr]
        if depth > DEPTH:
            self._cut = True
            return None
        self._memo[expr] = None  # a cycle resolves to nothing
        self._too_deep.pop(expr, None)
        before, self._cut = self._cut, False
        value = self._resolve(expr, scope, depth + 1)
        self._memo[expr] = value
        if value is None and self._cut:
            self._too_deep[expr] = depth
        self._cut = before or (self._cut and value is None)
        if value is None and self._links.linking:
            self._open.append(expr)
        return value

    def at_sight(self, expr: ast.expr, scope: Scope) -> Value | None:
        """What `expr` holds as far as its own function and module show: callers are not asked, which takes long."""
        with self._links.unasked():
            return self.resolve(expr, scope)

    def name_at_sight(self, expr: ast.expr, scope: Scope) -> str:
        """Of what a library has under its own name: that does not come in through a parameter."""
        value = self.at_sight(expr, scope)
        return value.name if value else ""

    def forget_open(self) -> None:
        """What was unknown while calls were linked: its function's callers may tell, now that they are known."""
        for expr in self._open:
            self._memo.pop(expr, None)
        self._open.clear()

    def _resolve(self, expr: ast.expr, scope: Scope, depth: int) -> Value | None:
        match expr:
            case ast.Name():
                return self._resolve_name(expr, scope, depth)
            case ast.Attribute():
                owner = self.resolve(expr.value, scope, depth)
                return self._resolve_attribute(owner, expr.attr, depth) if owner else None
            case ast.Call():
                return self._resolve_call(expr, scope, depth)
            case ast.Constant():
                return Value("constant", constant=expr.value)
            case ast.Lambda():
                found = scope.module.scope_of.get(expr)
                return Value("function", scope=found) if found else None
            case ast.IfExp():
                return self.resolve(expr.body, scope, depth) or self.resolve(expr.orelse, scope, depth)
            case ast.NamedExpr() | ast.Await():
                return self.resolve(expr.value, scope, depth)
            case ast.BoolOp():
                values = (self.resolve(part, scope, depth) for part in expr.values)
                return next((v for v in values if v and v.kind != "constant"), None)
            case ast.UnaryOp(operand=ast.Constant(value=int() | float() as number), op=ast.USub()):
                return Value("constant", constant=-number)
        return None

    def bindings(self, name: str, scope: Scope) -> list[Binding]:
        """The bindings of a name as code in `scope` sees it."""
        owner = scope.owner(name)
        return owner.bound(name) if owner else []

    def literal(self, name: str, scope: Scope) -> tuple[ast.expr, Scope] | None:
        """The one expression that a name is assigned, and where, through imports of the project's own modules."""
        found = [b for b in self.bindings(name, scope) if b.kind in ("assign", "import")]
        if len(found) != 1:
            return None
        binding = found[0]
        if binding.kind == "assign":
            return (binding.value, binding.where.scope) if binding.value is not None else None
        base, _, last = binding.imported.rpartition(".")
        home = self._find_module(base or ".", scope.module) if base or binding.imported.startswith(".") else None
        return self.literal(last, home.scope) if home and home is not scope.module else None

    def _resolve_name(self, expr: ast.Name, scope: Scope, depth: int) -> Value | None:
        found = self.bindings(expr.id, scope)
        if not found:
            return self._from_stars(expr.id, scope, depth) or Value("name", expr.id)  # a builtin
        # The last one before the use in the same scope; else whichever says something, the last first.
        nearer = (b for b in reversed(found) if _precedes(b, expr, scope))
        others = (b for b in reversed(found) if not _precedes(b, expr, scope))
        return self._first_told(itertools.chain(nearer, others), len(found), depth)

    def _first_told(self, bindings: Iterable[Binding], count: int, depth: int) -> Value | None:
        """What the first binding that says something says; `None` is what a name holds until it holds something."""
        for binding in bindings:
            if binding.kind in ("target", "augment", "other"):
                continue
            value = self._resolve_binding(binding, depth)
            if value and not (value.kind == "constant" and value.constant is None and count > 1):
                return value
        return None

    def _resolve_binding(self, binding: Binding, depth: int) -> Value | None:
        scope = binding.where.scope
        if binding.kind == "import":
            return self._resolve_import(binding.imported, scope.module, depth)
        if binding.kind in ("def", "class"):
            traced = binding.kind == "def" and binding.scope is not None and self.is_compiled(binding.scope)
            return Value("traced" if traced else {"def": "function"}.get(binding.kind, "class"), scope=binding.scope)
        if binding.kind == "parameter":
            return self._resolve_parameter(binding, depth)
        if binding.value is None:
            return None
        value = self.resolve(binding.value, scope, depth)
        if value and binding.kind == "with" and value.name.endswith("().as_default()"):
            return Value("name", value.name.removesuffix(".as_default()"))
        return value

    def _resolve_parameter(self, binding: Binding, depth: int) -> Value | None:
        scope = binding.where.scope
        if scope.is_method and scope.parameters[:1] == [binding.name] and scope.parent:
            return Value("object", scope=scope.parent)
        if self._handed_on >= HANDED_ON:
            return None
        self._handed_on += 1
        try:
            handed = [(argument_for(call, scope, binding.name), call) for call in self.callers(scope)[:8]]
            for argument, call in handed:
                value = self.resolve(argument, call.where.scope, depth) if argument is not None else None
                if value:
                    return value
        finally:
            self._handed_on -= 1
        given = any(argument is not None or _hands_all(call) for argument, call in handed)
        return None if given or self._links.linking else default_number(scope, binding.name)

    def _resolve_import(self, dotted: str, module: Module, depth: int) -> Value | None:
        key = (module.folder, dotted)
        if key not in self._dotted:
            self._dotted[key] = None
            self._dotted[key] = self._find_import(dotted, module, depth)
        return self._dotted[key]

    def _find_import(self, dotted: str, module: Module, depth: int) -> Value | None:
        target = self._find_file(dotted, module)
        if target:
            return Value("module", self.files.path(target))
        base, _, name = dotted.rpartition(".")
        home = self._find_module(base or ".", module) if base or dotted.startswith(".") else None
        if home and home is not module:
            if home.scope.bound(name):
                return self._told(home.scope, name, depth + 1)
            if starred := self._from_stars(name, home.scope, depth + 1):
                return starred
        return Value("name", canonical(dotted)) if not dotted.startswith(".") else None

    def is_value(self, binding: Binding) -> bool:
        """Whether it is an import of something that a module of the project binds by assignment."""
        base, _, name = binding.imported.rpartition(".")
        home = self._find_file(base or ".", binding.where.scope.module) if base or name else None
        return home is not None and self.files.assigns(home, name)

    def _find_module(self, dotted: str, module: Module) -> Module | None:
        file = self._find_file(dotted, module)
        return self.files.module(file) if file else None

    def _find_file(self, dotted: str, module: Module) -> Path | None:
        """The project's own file behind an import: relative, beside the importer, or from a folder above it."""
        return self.files.imported(dotted, module.folder)

    def _resolve_attribute(self, owner: Value, attribute: str, depth: int) -> Value | None:
        if owner.kind == "module":
            home = self.files.module_at(owner.name)
            return self._resolve_member_of_module(home, attribute, depth) if home else None
        if owner.kind in ("object", "class") and owner.scope is not None:
            return self.member(owner.scope, attribute, depth)
        if owner.kind in ("function", "traced"):
            return owner if attribute in ("get_concrete_function", "python_function", "__wrapped__") else None
        return Value("name", canonical(f"{owner.name}.{attribute}")) if owner.kind == "name" else None

    def _resolve_member_of_module(self, module: Module, attribute: str, depth: int) -> Value | None:
        return self._told(module.scope, attribute, depth) or self._from_stars(attribute, module.scope, depth)

    def _told(self, scope: Scope, name: str, depth: int) -> Value | None:
        bindings = scope.bound(name)
        return self._first_told(reversed(bindings), len(bindings), depth)

    def _from_stars(self, name: str, scope: Scope, depth: int) -> Value | None:
        """What `from somewhere import *` brings under that name, of the project's own modules and of TensorFlow."""
        if not scope.module.scope.bound("*") or hasattr(builtins, name):
            return None
        key = (scope.module.path, name)
        if key not in self._starred:
            self._starred[key] = None  # modules may star each other
            self._starred[key] = self._find_starred(name, scope, depth)
        return self._starred[key]

    def _find_starred(self, name: str, scope: Scope, depth: int) -> Value | None:
        """The last star that brings it; one that may bring anything only where no other does."""
        guess: Value | None = None
        for binding in reversed(scope.module.scope.bound("*")) if depth < DEPTH else ():
            base = binding.imported.removesuffix("*").rstrip(".") or "."
            home = self._find_module(base, scope.module)
            if home is None and canonical(base).startswith(("tf", "keras")):
                brings = starred(canonical(base), name)
                value = Value("name", canonical(f"{base}.{name}"))
                if brings:
                    return value
                guess = guess or (value if brings is None else None)
            if home is not None and home is not scope.module:
                if found := self._resolve_member_of_module(home, name, depth + 1):
                    return found
        return guess

    def member(self, owner: Scope, attribute: str, depth: int = 0) -> Value | None:
        """An attribute of a project class: defined in it, set on `self`, or of its bases (`keras.Model().predict`)."""
        bindings = [*reversed(owner.bound(attribute)), *reversed(owner.set_on_self(attribute))]
        if value := self._first_told(bindings, len(bindings), depth):
            return value
        if bindings and self._links.linking:
            return None  # callers may tell what it is set to: until they are asked, no base's guess
        if depth < DEPTH:
            for base in self.bases(owner):
                if base.kind == "class" and base.scope is not None and base.scope is not owner:
                    value = self.member(base.scope, attribute, depth + 1)
                    if value:
                        return value
                elif base.kind == "name" and base.name.startswith(("keras.", "tf.")):
                    return Value("name", f"{base.name}().{attribute}")
        return None

    def bases(self, owner: Scope) -> list[Value]:
        if not isinstance(owner.definition, ast.ClassDef) or owner.parent is None:
            return []
        found = (self.resolve(base, owner.parent) for base in owner.definition.bases)
        return [base for base in found if base]

    def ancestry(self, owner: Scope, depth: int = 0) -> Iterator[str]:
        """Canonical names of a project class's bases outside the project, however far up."""
        for base in self.bases(owner):
            if base.kind == "name":
                yield base.name
            elif base.kind == "class" and base.scope is not None and depth < DEPTH:
                yield from self.ancestry(base.scope, depth + 1)

    def _resolve_call(self, expr: ast.Call, scope: Scope, depth: int) -> Value | None:
        target = self.resolve(expr.func, scope, depth)
        if target is None:
            return None
        if target.kind == "class":
            return Value("object", scope=target.scope)
        if target.kind in ("function", "traced") and target.scope is not None:
            return self._resolve_returned(target.scope, depth) if not target.scope.yields else None
        if target.kind != "name":
            return None
        if target.name in ("tf.function", "tf.function()"):
            wrapped = self.resolve(expr.args[0], scope, depth) if expr.args else None
            if not expr.args:
                return Value("name", "tf.function()")
            return Value("traced", scope=wrapped.scope if wrapped else None)
        if target.name in ("functools.partial", "tqdm.tqdm", "tqdm") and expr.args:
            return self.resolve(expr.args[0], scope, depth)
        return Value("name", f"{target.name}()")

    def _resolve_returned(self, callee: Scope, depth: int) -> Value | None:
        for returned in callee.returns:
            value = self.resolve(returned, callee, depth)
            if value and value.kind != "constant":
                return value
        return None

    # -- where code runs -----------------------------------------------------------------------------------------------

    def is_compiled(self, scope: Scope) -> bool:
        """Decorated as a tf.function."""
        where = scope.parent or scope.module.scope
        return any(compiles(decorator, where, self) for decorator in scope.decorators)

    def _is_traced(self, scope: Scope) -> bool:
        """Made into a tf.function where it is defined, or handed to TensorFlow somewhere; a Keras method that is."""
        known = self._traces.get(scope)
        if known is None:
            if self._links.linking:
                return self.is_compiled(scope)
            keras = scope.is_method and scope.parent is not None and scope.name in TRACED_METHODS
            known = self._traces[scope] = (
                self.is_compiled(scope)
                or (keras and any(name.startswith("keras.") for name in self.ancestry(cast("Scope", scope.parent))))
                or self._links.is_handed(scope)
            )
        return known

    def is_cached(self, scope: Scope) -> bool:
        where = scope.parent or scope.module.scope
        return any(keeps(decorator, where, self) for decorator in scope.decorators)

    def traced(self, where: Context) -> bool:
        """Whether code there is Python that runs only while TensorFlow traces it."""
        return self._traced_scope(where.scope, set())

    def _traced_scope(self, scope: Scope, seen: set[Scope]) -> bool:
        seen.add(scope)
        if self._is_traced(scope):
            return True
        if scope.parent is not None and scope.parent.is_function and self._traced_scope(scope.parent, seen):
            return True
        calls = [call for call in self.callers(scope) if call.where.scope not in seen]
        return bool(calls) and all(self._traced_scope(call.where.scope, seen) for call in calls)

    def _is_graph_loop(self, loop: Loop) -> bool:
        """`for i in tf.range(n)` is written for a tf.function, which the decorator need not show here."""
        iterable = loop.iterable
        called = isinstance(iterable, ast.Call) and self.name_of(iterable.func, loop.where.scope) == "tf.range"
        return called and loop.kind == "for"

    def running(self, where: Context, at_times: bool = False) -> list[Running]:
        """Every way that code there runs in loops, or only `at_times`, again and again; the shortest chain first."""
        found: list[Running] = []
        seen: set[Scope] = set()
        queue: list[tuple[Context, tuple[Call, ...], Running]] = [(where, (), Running((), ()))]
        while queue:
            at, chain, inner = queue.pop(0)
            if is_guarded(at, once=at_times) or any(self._is_graph_loop(loop) for loop in loops_of(at)):
                continue
            if chain and at.scope.is_function and self._is_traced(at.scope):
                continue  # called while TensorFlow traces the caller, whoever else calls it
            around = tuple(loops_of(at))
            path = Running(inner.loops + around, inner.chains + (chain,) * len(around))
            if around:
                found.append(path)
            scope = at.scope
            if not scope.is_function or scope in seen or len(chain) > DEPTH:
                continue
            seen.add(scope)
            if self.is_cached(scope) or self._is_traced(scope):
                continue
            queue += [(call.where, (call, *chain), path) for call in self.callers(scope)]
            for call in self._links.mapped(scope):
                loop = next((lp for lp in call.where.scope.module.loops if lp.node is call.node), None)
                loop = loop or Loop(call.node, call.where, "map")
                found.append(Running((*path.loops, loop), (*path.chains, (call, *chain))))
        return found


def _precedes(binding: Binding, expr: ast.Name, scope: Scope) -> bool:
    return binding.where.scope is scope and getattr(binding.node, "lineno", 0) <= expr.lineno


def loops_of(where: Context) -> Iterator[Loop]:
    loop = where.loop
    while loop is not None:
        yield loop
        loop = loop.where.loop


def argument_for(call: Call, callee: Scope, parameter: str) -> ast.expr | None:
    """The expression that a call hands to a parameter."""
    for keyword in call.node.keywords:
        if keyword.arg == parameter:
            return keyword.value
    names = callee.parameters
    if callee.is_method and names and not _is_static(callee):
        names = names[1:]
    if parameter in names and not any(isinstance(a, ast.Starred) for a in call.node.args):
        index = names.index(parameter)
        if index < len(call.node.args):
            return call.node.args[index]
    return None


def _hands_all(call: Call) -> bool:
    """`train(*args, **options)`: who knows what is among them."""
    return any(isinstance(a, ast.Starred) for a in call.node.args) or any(k.arg is None for k in call.node.keywords)


def default_of(scope: Scope, parameter: str) -> ast.expr | None:
    """What a parameter is where nobody says otherwise."""
    spec = cast("Function", scope.definition).args
    named = zip(reversed([*spec.posonlyargs, *spec.args]), reversed(spec.defaults), strict=False)
    for argument, default in (*named, *zip(spec.kwonlyargs, spec.kw_defaults, strict=True)):
        if argument.arg == parameter:
            return default
    return None


def default_number(scope: Scope, parameter: str) -> Value | None:
    default = default_of(scope, parameter)
    is_number = isinstance(default, ast.Constant) and type(default.value) in (int, float)
    return Value("constant", constant=cast("ast.Constant", default).value) if is_number else None


def _is_static(scope: Scope) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in scope.decorators)
