"""Who calls whom: the calls that may be meant are linked when somebody asks for the callers of a function."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from hotloop.source.mentions import Mentions, Said, arguments
from hotloop.source.module import Call, Module, Scope, says_twice

if TYPE_CHECKING:
    from hotloop.source.project import Project, Value

WRAPS = re.compile(r"(^|_|\.)(tf_)?(function|defun|jit)$")
TRACES = ("tf.data.", "tf.map_fn", "tf.while_loop", "tf.cond", "tf.function", "tf.vectorized_map")
CALLS_ONCE = {
    "run",
    "submit",
    "apply",
    "apply_async",
    "experimental_run_v2",
}  # strategy.run(f), executor.submit(f)
APPLIES = {"apply", "progress_apply", "applymap"}  # pandas, once per row
CALLS_EACH = {"map", "imap", "imap_unordered", "starmap"}  # pool.map(f, xs)


class Links:
    def __init__(self, project: Project) -> None:
        self._project = project
        self.linking = False  # while it is, callers are not known, and what hangs on them is left open
        self._callers: dict[Scope, list[Call]] = {}
        self._mapped: dict[Scope, list[Call]] = {}  # `map(f, xs)`: f runs once per x
        self._handed: set[Scope] = set()  # to TensorFlow, which traces it
        self._inherited: dict[Scope, list[Call]] = {}  # of a method: calls in the classes that its own is made from
        self._linked: set[Call] = set()
        self._unclear: dict[str, dict[Module, list[Call]]] = {}  # by method: calls on what only callers can tell
        self._asked: set[Scope] = set()
        self._mentions: dict[Module, Mentions] = {}

    def callers(self, scope: Scope) -> Sequence[Call]:
        """The calls of a function of the project, or of a class's `__init__`, wherever they stand."""
        self._ask(scope)
        found = self._callers.get(scope, ())
        inherited = self._through_bases(scope)
        return [*found, *inherited] if inherited else found

    def mapped(self, scope: Scope) -> Sequence[Call]:
        self._ask(scope)
        return self._mapped.get(scope, ())

    def is_handed(self, scope: Scope) -> bool:
        self._ask(scope)
        return scope in self._handed or any(self.is_handed(method) for method in self._overridden(scope))

    def _through_bases(self, scope: Scope) -> list[Call]:
        """`self.train_step(batch)` in a class that its own is made from: what runs is the one that is written last."""
        if not self._bases(scope):
            return []
        if scope not in self._inherited:
            self._inherited[scope] = []  # classes that are made from each other
            self._inherited[scope] = [
                call
                for base in self._bases(scope)
                for call in base.module.calls_of(scope.name)
                if _is_own(call.node.func, call.where.scope, base)
            ]
        return self._inherited[scope]

    def _overridden(self, scope: Scope) -> Iterator[Scope]:
        """The methods of the same name in the project's classes that its own is made from."""
        for base in self._bases(scope):
            yield from (b.scope for b in base.bound(scope.name) if b.kind == "def" and b.scope is not None)

    def _bases(self, scope: Scope) -> list[Scope]:
        """The project's classes that a method's own is made from, however far up; those of `__init__` are no matter."""
        if not scope.is_method or scope.parent is None or scope.name.startswith("__") or self.linking:
            return []
        if not getattr(scope.parent.definition, "bases", None):
            return []
        found = [scope.parent]
        for owner in found:
            found += [base.scope for base in self._project.bases(owner) if base.scope and base.scope not in found]
        return found[1:]

    def _ask(self, scope: Scope) -> None:
        """Look wherever the scope's name stands. Who asks meanwhile, in a circle, gets what is known so far."""
        if scope in self._asked or self.linking or scope.parent is None:
            return
        self._asked.add(scope)
        spoken = list(self._spoken(scope))
        for module, names in spoken:
            self._link(module, names)
        unclear = self._unclear.get(scope.name, {})
        for module, _ in spoken:
            for call in unclear.pop(module, ()):
                self._link_call(call)

    def _spoken(self, scope: Scope) -> Iterator[tuple[Module, set[Said]]]:
        """Where the function may be called or handed on, and under which names."""
        files = self._project.files
        made = scope.name in ("__init__", "__call__", "call") and scope.parent is not None
        name: Said = scope.parent.name if made and scope.parent else scope.name
        if isinstance(scope.definition, ast.Lambda):
            name = scope.definition
            found = [scope.module.file]
        else:
            found = files.speaking_of(str(name), scope.module.file)
        for file in found:
            if isinstance(name, str) and file == scope.module.file and not says_twice(scope.module.data, name.encode()):
                continue  # its definition
            module = files.module(file)
            if module is None:
                continue
            mentions = self.mentions(module)
            names = mentions.aliases(name)
            yield module, names
            for alias in sorted(str(one) for one in names if one is not name and mentions.offers(one)):
                for other in files.holding(alias, file):
                    holder = files.module(other)
                    if holder is not None:
                        yield holder, {alias}

    def mentions(self, module: Module) -> Mentions:
        if module not in self._mentions:
            self._mentions[module] = Mentions(module)
        return self._mentions[module]

    def _link(self, module: Module, names: Iterable[Said]) -> None:
        """Note whom calls of these names call. What hangs on the callers of its function waits until it is asked."""
        found = self.mentions(module)
        calls = [call for name in names for call in found.handed(name)]
        calls += [call for name in names if isinstance(name, str) for call in module.calls_of(name)]
        calls = sorted((call for call in set(calls) - self._linked), key=_position)
        self._linked.update(calls)
        with self.unasked():
            for call in calls:
                if not self._link_call(call) and isinstance(call.node.func, ast.Attribute):
                    self._unclear.setdefault(call.node.func.attr, {}).setdefault(module, []).append(call)

    @contextlib.contextmanager
    def unasked(self) -> Iterator[None]:
        """Nobody's callers are looked for meanwhile; what is unknown for want of them is forgotten afterwards."""
        if self.linking:
            yield
            return
        self.linking = True
        try:
            yield
        finally:
            self.linking = False
            self._project.forget_open()

    def _link_call(self, call: Call) -> bool:
        target = self._project.resolve(call.node.func, call.where.scope)
        if target and target.scope is not None:
            callee = target.scope
            if target.kind == "class":
                made = self._project.member(callee, "__init__")
                callee = made.scope if made and made.scope else callee
            elif target.kind == "object":
                method = self._project.member(callee, "__call__") or self._project.member(callee, "call")
                callee = method.scope if method and method.scope else callee
            self._callers.setdefault(callee, []).append(call)
        self._link_arguments(call, target)
        return target is not None

    def _link_arguments(self, call: Call, target: Value | None) -> None:
        """Functions that are handed over: `tf.function(step)`, `ds.map(parse)`, `pool.map(classify, paths)`."""
        handed = arguments(call)
        if not handed:
            return
        name = target.name if target else ""
        attribute = call.node.func.attr if isinstance(call.node.func, ast.Attribute) else ""
        for argument in handed:
            passed = self._project.resolve(argument, call.where.scope)
            if not passed or passed.kind not in ("function", "traced") or passed.scope is None:
                continue
            if (name.startswith(TRACES) and not name.endswith("from_generator")) or WRAPS.search(attribute or name):
                self._handed.add(passed.scope)  # also `common.function(self._train)`: somebody's own tf.function
            elif attribute == "compile":
                self._handed.add(passed.scope)  # a model's loss or metric
            elif attribute == "map" and len(call.node.args) == 1 and not self._is_column(call):
                self._handed.add(passed.scope)  # a dataset's map: pools and the builtin take two arguments
            elif _calls_each(call, attribute):
                self._mapped.setdefault(passed.scope, []).append(call)
            elif attribute in CALLS_ONCE:
                self._callers.setdefault(passed.scope, []).append(call)

    def _is_column(self, call: Call) -> bool:
        """Of a table: `frame["text"].map(f)`."""
        receiver = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
        table = receiver.value if isinstance(receiver, ast.Subscript) else None
        return table is not None and self._project.name_of(table, call.where.scope).startswith(("pandas.", "pd."))


def _calls_each(call: Call, attribute: str) -> bool:
    """`map(f, xs)`, `pool.map(f, xs)`, `table["text"].apply(f)`, `table.apply(f, axis=1)`."""
    func = call.node.func
    if attribute in APPLIES and isinstance(func, ast.Attribute):
        return isinstance(func.value, ast.Subscript) or any(keyword.arg == "axis" for keyword in call.node.keywords)
    return (isinstance(func, ast.Name) and func.id == "map") or attribute in CALLS_EACH


def _is_own(func: ast.expr, scope: Scope, owner: Scope) -> bool:
    """`self.step` in a method of that class."""
    home: Scope | None = scope
    while home is not None and home.is_function and not home.is_method:
        home = home.parent
    itself = home.parameters[:1] if home is not None and home.is_method and home.parent is owner else []
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and [func.value.id] == itself


def _position(call: Call) -> tuple[int, int]:
    return call.node.lineno, call.node.col_offset
