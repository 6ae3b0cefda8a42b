"""Bytes -> Module: one pass over the tree that notes every scope, loop, binding and call, with where it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from hotloop.garbage import collection_off
from hotloop.source import notebooks
from hotloop.source.deferred import OTHER_ENCODING, Deferred, cut
from hotloop.source.module import Binding, Call, Comprehension, Context, Function, Loop, Module, Scope

SUPPRESSION = re.compile(rb"#\s*hotloop:\s*ignore\[([\w\-, ]+)\]")


def parse(data: bytes, path: str, file: Path, name: str, whole: bool = True) -> Module:
    """Raises SyntaxError or ValueError (NUL bytes, bad encoding) for what is not Python 3, nor a notebook of it."""
    cells: list[notebooks.CellMap] = []
    if path.endswith(notebooks.SUFFIX):
        data, cells = notebooks.to_python(data)
    if not data.isascii() and not OTHER_ENCODING.match(data):
        data.decode("utf-8")  # Python asks it of comments too when it runs a file, not when it parses bytes
    with collection_off():  # trees are large, and none of them is garbage: looking takes as long as building them
        builder = _Builder(Module(path, file, name, data, cells=cells))
        if whole or cells or not builder.build_outline():
            builder.build(ast.parse(data, filename=path))
    module = builder.module
    for number, line in enumerate(data.splitlines() if b"hotloop:" in data else (), 1):
        if match := SUPPRESSION.search(line):
            module.suppressions[number] = {part.strip() for part in match[1].decode().split(",")}
    return module


LEAVES = frozenset({ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue})
_WITHOUT_CODE = frozenset({"annotation", "arg", "attr", "ctx", "id", "kind", "op", "ops", "returns", "type_comment"})


_FIELDS = {
    kind: tuple(name for name in kind._fields if name not in _WITHOUT_CODE)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
_BACKWARDS = {kind: names[::-1] for kind, names in _FIELDS.items()}
_STATEMENTS = frozenset(kind for kind in _FIELDS if issubclass(kind, ast.stmt))
_EXPRESSIONS = frozenset(kind for kind in _FIELDS if issubclass(kind, ast.expr))


class _Builder:
    """Walks with a stack of its own: an `elif` chain of a thousand arms must not exhaust Python's."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.index = module.index
        self.stack: list[tuple[ast.AST, Context]] = []

    def build(self, tree: ast.Module) -> None:
        module = self.module
        module.scope = Scope(module, tree, "", None, None)
        self.index.scopes.append(module.scope)
        self._walk(tree.body, Context(module.scope, None))

    def build_outline(self) -> bool:
        """All but the functions, which wait until they are asked for. False: they cannot be told from the rest."""
        text, functions = cut(self.module.data)
        try:
            tree = ast.parse(text) if functions else None
        except SyntaxError:
            return False
        homes = _stand_ins(tree) if tree else {}
        if tree is None or not all(function.line in homes for function in functions):
            return False
        self.build(tree)
        scope_of = {tree: self.module.scope, **self.module.scope_of}
        self.module.deferred = {function: scope_of[homes[function.line]] for function in functions}
        self.module.left_out = frozenset(function.name for function in functions)
        self.module.sets_globals = b"global " in self.module.data
        self.module.build = self.build_function
        return True

    def build_function(self, function: Deferred, home: Scope) -> None:
        """What turns out to be no Python is as good as not there."""
        try:
            tree = ast.parse(function.text(self.module.data))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        body = tree.body[0].body if function.indent else tree.body  # type: ignore[attr-defined]
        around = cast("ast.Module | ast.ClassDef", home.definition)
        around.body = [n for s in around.body for n in (body if _stands_in(s) and s.lineno == function.line else [s])]
        if isinstance(around, ast.ClassDef):
            around.end_lineno, around.end_col_offset = around.body[-1].end_lineno, around.body[-1].end_col_offset
        self._walk(body, Context(home, None))

    def _walk(self, body: Sequence[ast.AST], where: Context) -> None:
        self._push(body, where)
        contexts, stack = self.index.contexts, self.stack
        while stack:
            node, where = stack.pop()
            kind = node.__class__
            if kind in _STATEMENTS:
                where = contexts[node] = where.at(node)  # type: ignore[arg-type]
            visit = _VISITS[kind]
            if visit is not None:
                visit(self, node, where)
            else:
                self._descend(node, where)

    def _push(self, nodes: Sequence[ast.AST], where: Context) -> None:
        self.stack += [(node, where) for node in reversed(nodes) if node.__class__ not in LEAVES]

    def _descend(self, node: ast.AST, where: Context) -> None:
        """What is in it: expressions are looked into at once, statements and their parts when their turn comes."""
        later: list[ast.AST] = []
        now: list[ast.AST] = []
        for name in _FIELDS[node.__class__]:
            value = getattr(node, name, None)
            for item in value if value.__class__ is list else (value,):
                if item.__class__ in _EXPRESSIONS:
                    now.append(item)
                elif item.__class__ in _FIELDS:
                    later.append(item)
        self._look(now, where)
        self._push(later, where)

    def _look(self, nodes: Sequence[ast.AST], where: Context) -> None:
        """Into expressions, which stand where their statement stands, for what `visit` knows."""
        stack = [node for node in reversed(nodes) if node.__class__ not in LEAVES]
        while stack:
            node = stack.pop()
            while True:
                if node.__class__ is ast.Attribute:  # most nodes are one of these
                    node = node.value
                elif node.__class__ is ast.Call:
                    self._call(node, where)
                    if node.keywords:
                        stack += [k.value for k in reversed(node.keywords) if k.value.__class__ not in LEAVES]
                    if node.args:
                        stack += [argument for argument in reversed(node.args) if argument.__class__ not in LEAVES]
                    node = node.func
                else:
                    break
            kind = node.__class__
            if kind in LEAVES:
                continue
            visit = _VISITS[kind]
            if visit is not None and visit(self, node, where):
                continue
            for name in _BACKWARDS[kind]:  # the last first, as they come off the stack
                value = getattr(node, name, None)
                if value.__class__ is list:
                    stack += [i for i in reversed(value) if i.__class__ in _FIELDS and i.__class__ not in LEAVES]
                elif value.__class__ in _FIELDS and value.__class__ not in LEAVES:
                    stack.append(value)

    # definitions

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, where: Context) -> None:  # noqa: N802
        scope = self._scope(node, node.name, where)
        where.scope.bind(Binding(node.name, "def", where, node, scope=scope))
        self._look(node.decorator_list, where)
        self._function(node, scope, where)
        self._push(node.body, Context(scope, None))

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda, where: Context) -> bool:  # noqa: N802
        scope = self._scope(node, "<lambda>", where)
        self.index.contexts[node] = where
        self._function(node, scope, where)
        scope.returns.append(node.body)
        self._look([node.body], Context(scope, None, where.statement))
        return True

    def visit_ClassDef(self, node: ast.ClassDef, where: Context) -> None:  # noqa: N802
        scope = self._scope(node, node.name, where)
        where.scope.bind(Binding(node.name, "class", where, node, scope=scope))
        self._look([*node.decorator_list, *node.bases, *[k.value for k in node.keywords]], where)
        self._push(node.body, Context(scope, None))

    def _scope(self, node: ast.ClassDef | Function, name: str, where: Context) -> Scope:
        scope = Scope(self.module, node, name, where.scope, where)
        self.index.scopes.append(scope)
        self.module.scope_of[node] = scope
        self.index.contexts[node] = where
        return scope

    def _function(self, node: Function, scope: Scope, where: Context) -> None:
        spec = node.args
        self._look([*spec.defaults, *[d for d in spec.kw_defaults if d]], where)
        inner = Context(scope, None)
        extra = [a for a in (spec.vararg, spec.kwarg) if a]
        for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *extra):
            scope.bind(Binding(argument.arg, "parameter", inner, argument))

    # loops

    def visit_For(self, node: ast.For | ast.AsyncFor, where: Context) -> None:  # noqa: N802
        loop = self._loop(node, where, "for")
        inner = where.repeated(loop)
        self._bind_target(node.target, "target", None, inner, node)
        self._look([node.iter], where)
        self._push(node.orelse, where)
        self._push(node.body, inner)

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_While(self, node: ast.While, where: Context) -> None:  # noqa: N802
        inner = where.repeated(self._loop(node, where, "while"))
        self._look([node.test], inner)
        self._push(node.orelse, where)
        self._push(node.body, inner)

    def visit_ListComp(self, node: Comprehension, where: Context) -> bool:  # noqa: N802
        inner = where.repeated(self._loop(node, where, "comprehension"))
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for generator in node.generators:
            self._bind_target(generator.target, "target", None, inner, node)
        later = [g.iter for g in node.generators[1:]] + [test for g in node.generators for test in g.ifs]
        self._look([node.generators[0].iter], where)
        self._look([*later, *parts], inner)
        return True

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While | Comprehension, where: Context, kind: str) -> Loop:
        loop = Loop(node, where, kind)
        self.index.loops.append(loop)
        return loop

    # blocks

    def visit_If(self, node: ast.If, where: Context) -> None:  # noqa: N802
        self.index.choices.append(node)
        inner = where.asked((*where.tests, node.test))
        self._look([node.test], where)
        self._push(node.orelse, inner)
        self._push(node.body, inner)

    def visit_Try(self, node: ast.Try, where: Context) -> None:  # noqa: N802
        self._push([*node.orelse, *node.finalbody], where)
        self._push(node.handlers, where.attempted("handled"))
        tried = "tried" if node.handlers else ""
        self._push(node.body, where.attempted(where.attempt or tried))

    visit_TryStar = visit_Try  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler, where: Context) -> None:  # noqa: N802
        if node.name:
            where.scope.bind(Binding(node.name, "other", where, node))
        self._descend(node, where)

    def visit_With(self, node: ast.With | ast.AsyncWith, where: Context) -> None:  # noqa: N802
        self.index.withs.append((node, where))
        for item in node.items:
            if item.optional_vars is not None:
                value = item.context_expr if isinstance(item.optional_vars, ast.Name) else None
                self._bind_target(item.optional_vars, "with", value, where, node)
        self._look([item.context_expr for item in node.items], where)
        self._push(node.body, where.within(node))

    visit_AsyncWith = visit_With  # noqa: N815

    # bindings

    def visit_Assign(self, node: ast.Assign, where: Context) -> None:  # noqa: N802
        for target in node.targets:
            self._bind_target(target, "assign", node.value, where, node)
        self._look([*node.targets, node.value], where)

    def visit_AnnAssign(self, node: ast.AnnAssign, where: Context) -> None:  # noqa: N802
        if node.value is not None:
            self._bind_target(node.target, "assign", node.value, where, node)
            self._look([node.target, node.value], where)

    def visit_AugAssign(self, node: ast.AugAssign, where: Context) -> None:  # noqa: N802
        self._bind_target(node.target, "augment", node.value, where, node)
        self._look([node.target, node.value], where)

    def visit_NamedExpr(self, node: ast.NamedExpr, where: Context) -> None:  # noqa: N802
        self._bind_target(node.target, "walrus", node.value, where, node)

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
                owner.set_attribute(Binding(target.attr, kind, where, node, value))

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

    def _call(self, node: ast.Call, where: Context) -> None:
        index = self.index
        call = Call(node, where)
        last = call.last
        index.calls.append(call)
        if last in index.called:
            index.called[last].append(call)
        else:
            index.called[last] = [call]
        index.contexts[node] = where
        if last == "map" and isinstance(node.func, ast.Name) and len(node.args) > 1:
            index.loops.append(Loop(node, where, "map"))

    def visit_Return(self, node: ast.Return, where: Context) -> None:  # noqa: N802
        if node.value is not None:
            where.scope.returns.append(node.value)
            self._look([node.value], where)

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom, where: Context) -> None:  # noqa: N802
        where.scope.yields = True

    visit_YieldFrom = visit_Yield  # noqa: N815


def _stand_ins(tree: ast.Module) -> dict[int, ast.Module | ast.ClassDef]:
    """The lines that hold the place of something that was left out, and what that belongs to."""
    homes: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    return {node.lineno: home for home in homes for node in home.body if _stands_in(node)}


def _stands_in(node: ast.stmt) -> bool:
    return node.__class__ is ast.Pass


_VISITS: dict[type, Callable[[_Builder, ast.AST, Context], bool | None] | None] = {
    kind: getattr(_Builder, f"visit_{kind.__name__}", None) for kind in _FIELDS
}
