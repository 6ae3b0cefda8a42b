"""Which values are plain Python numbers, as far as source shows; what may be a tensor or an array is not one."""

from __future__ import annotations

import ast

from hotloop.source.module import Binding, Call, Comprehension, Context, Loop, Scope, names_read, names_stored
from hotloop.source.project import Project, argument_for, default_number

DEPTH = 8
# Calls that give a number whatever they are given, and those that give an array of one.
CONVERTS = {
    "float", "int", "len", "time.time", "time.perf_counter",
    "random.random", "random.uniform", "random.randint", "random.gauss", "random.choice",
}  # fmt: skip
KEEPS = {"round", "abs", "min", "max", "sum", "pow"}
NUMBER_CALLS = CONVERTS | KEEPS
RANGES = {"range", "trange", "tqdm.trange", "tqdm.auto.trange"}
PASSED_ON = {"tqdm", "tqdm.tqdm", "tqdm.auto.tqdm", "list", "tuple", "reversed"}


def is_array(expr: ast.expr, scope: Scope, project: Project, depth: int = 0) -> bool:
    """Whether a tensor or an array takes part, so that the result is no Python number."""
    if depth > DEPTH:
        return False
    if isinstance(expr, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.JoinedStr | ast.ListComp):
        return True
    return _takes_array(expr, scope, project)


def _takes_array(node: ast.AST, scope: Scope, project: Project) -> bool:
    if isinstance(node, ast.Call | ast.Name | ast.Attribute):
        name = project.name_of(node, scope)
        if name.endswith("()") and name.startswith(("tf.", "keras.", "np.")):
            return True
        called = project.resolve(node.func, scope) if isinstance(node, ast.Call) else None
        if called is not None and called.name in CONVERTS:
            return False
        if called is not None and called.kind == "traced":
            return True  # what a `tf.function` returns
    return any(_takes_array(part, scope, project) for part in ast.iter_child_nodes(node))


def called_function(expr: ast.Call, scope: Scope, project: Project) -> Scope | None:
    """The function of the project that is called, where its returns say what the call gives."""
    value = project.resolve(expr.func, scope)
    plain = value is not None and value.kind == "function" and value.scope is not None and value.scope.is_function
    callee = value.scope if value is not None and plain else None
    return callee if callee is not None and callee.returns and not callee.yields else None


def call_of(expr: ast.Call, scope: Scope) -> Call:
    """A call that stands in an expression, to look for its arguments."""
    return Call(expr, Context(scope, None))


def is_number(expr: ast.expr, scope: Scope, chain: tuple[Call, ...], project: Project) -> bool:
    """Whether all that `expr` is made of is seen to be numbers; code in `scope` is reached through `chain`."""
    return _Numbers(project).of(expr, scope, chain, 0)


class _Numbers:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.seen: set[tuple[Scope, str]] = set()  # a number that is made of itself is one if it begins as one

    def of(self, expr: ast.expr, scope: Scope, chain: tuple[Call, ...], depth: int) -> bool:
        if depth > DEPTH:
            return False
        match expr:
            case ast.Constant():
                return type(expr.value) in (int, float)
            case ast.UnaryOp():
                return self.of(expr.operand, scope, chain, depth + 1)
            case ast.BinOp():
                return all(self.of(side, scope, chain, depth + 1) for side in (expr.left, expr.right))
            case ast.IfExp():
                return all(self.of(side, scope, chain, depth + 1) for side in (expr.body, expr.orelse))
            case ast.Name():
                bindings = self.project.bindings(expr.id, scope)
                return bool(bindings) and self._bound(bindings, expr.id, scope, chain, depth)
            case ast.Attribute():
                return self._attribute(expr, scope, depth)
            case ast.Subscript():
                return holds_numbers(expr.value, scope, self.project)
            case ast.Call():
                return self._call(expr, scope, chain, depth)
        return False

    def _bound(self, bindings: list[Binding], name: str, scope: Scope, chain: tuple[Call, ...], depth: int) -> bool:
        if (scope, name) in self.seen:
            return True
        self.seen.add((scope, name))
        return all(self._binds(b, chain if b.where.scope is scope else (), depth) for b in bindings)

    def _binds(self, binding: Binding, chain: tuple[Call, ...], depth: int) -> bool:
        home = binding.where.scope
        if binding.kind == "target":
            return binding.where.loop is not None and counts(binding.name, binding.where.loop, self.project)
        if binding.kind == "parameter":
            calls = chain[-1:] or tuple(self.project.callers(home)[:DEPTH])
            given = [(argument_for(call, home, binding.name), call) for call in calls]
            default = default_number(home, binding.name) is not None
            return (bool(given) or default) and all(
                self.of(argument, call.where.scope, chain[:-1], depth + 1) if argument is not None else default
                for argument, call in given
            )
        if binding.kind == "import":
            known = self.project.literal(binding.name, home)
            return known is not None and self.of(*known, (), depth + 1)
        told = binding.kind in ("assign", "walrus", "augment") and binding.value is not None
        return told and self.of(binding.value, home, chain, depth + 1)  # type: ignore[arg-type]

    def _attribute(self, expr: ast.Attribute, scope: Scope, depth: int) -> bool:
        """`self.rate`, as its class sets it; `args.rate`: a setting."""
        owner = self.project.resolve(expr.value, scope)
        if owner is None:
            return False
        if owner.kind in ("object", "class") and owner.scope is not None:
            bindings = [*owner.scope.bound(expr.attr), *owner.scope.set_on_self(expr.attr)]
            return bool(bindings) and self._bound(bindings, f".{expr.attr}", owner.scope, (), depth)
        value = self.project.resolve(expr, scope)
        if value is not None and value.kind == "constant":
            return type(value.constant) in (int, float)
        return value is not None and value.kind == "name" and not value.name.startswith(("tf.", "keras.", "np."))

    def _call(self, expr: ast.Call, scope: Scope, chain: tuple[Call, ...], depth: int) -> bool:
        name = self.project.name_of(expr.func, scope)
        if name in CONVERTS or name.startswith("math."):
            return True
        if name in KEEPS:
            return all(self.of(argument, scope, chain, depth + 1) for argument in expr.args)
        callee = called_function(expr, scope, self.project)
        if callee is None:
            return False
        inner = (*chain, call_of(expr, scope))
        return all(self.of(returned, callee, inner, depth + 1) for returned in callee.returns)


def counts(name: str, loop: Loop, project: Project) -> bool:
    """Whether a loop target is a number that is new in each step."""
    return counted_by(name, loop, project) is not None


def counted_by(name: str, loop: Loop, project: Project) -> ast.expr | None:
    """The `range`, `enumerate` or list of numbers that gives a loop target its number."""
    target = getattr(loop.node, "target", None)
    if isinstance(loop.node, Comprehension):
        target = loop.node.generators[0].target
    return _counted_by(name, target, loop.iterable, loop.where.scope, project) if loop.iterable is not None else None


def _counted_by(
    name: str, target: ast.AST | None, iterable: ast.expr, scope: Scope, project: Project
) -> ast.expr | None:
    if not isinstance(iterable, ast.Call):
        return iterable if _is_named(target, name) and holds_numbers(iterable, scope, project) else None
    called = project.name_of(iterable.func, scope)
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    pairs: list[tuple[ast.AST | None, ast.expr]] = []
    if called in RANGES:
        return iterable if _is_named(target, name) else None
    if called == "enumerate" and parts and iterable.args:
        if _is_named(parts[0], name):
            return iterable
        pairs = [(parts[-1], iterable.args[0])]
    elif called == "zip":
        pairs = list(zip(parts, iterable.args, strict=False))
    elif called in PASSED_ON and iterable.args:
        pairs = [(target, iterable.args[0])]
    found = (_counted_by(name, part, argument, scope, project) for part, argument in pairs)
    return next((one for one in found if one is not None), None)


def holds_numbers(expr: ast.expr, scope: Scope, project: Project) -> bool:
    """`[0.1, 0.05]`, `[0.1 * 0.9 ** i for i in range(100)]` or the name of such a list."""
    if isinstance(expr, ast.Name):
        known = project.literal(expr.id, scope)
        if known is None or isinstance(known[0], ast.Name):
            return False
        expr, scope = known
    if isinstance(expr, ast.List | ast.Tuple):
        return bool(expr.elts) and all(is_number(part, scope, (), project) for part in expr.elts)
    if isinstance(expr, ast.ListComp | ast.GeneratorExp):
        made_of = {name for part in expr.generators for name in names_stored(part.target)}
        return bool(made_of & names_read(expr.elt)) and is_number(expr.elt, scope, (), project)
    return False


def _is_named(target: ast.AST | None, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name
