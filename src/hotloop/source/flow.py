"""How values move through a loop: what changes from step to step, and which of it is a plain Python number."""

from __future__ import annotations

import ast

from hotloop.source.heat import FEW, number, trips
from hotloop.source.module import Binding, Call, Context, Loop, Scope, names_read
from hotloop.source.plain import (
    KEEPS,
    NUMBER_CALLS,
    call_of,
    called_function,
    counts,
    holds_numbers,
    is_array,
    is_number,
)
from hotloop.source.project import Project, Running, argument_for, loops_of

DEPTH = 6  # of following a number

# Calls whose result is new each time although their arguments are not.
FRESH_CALLS = {
    "next", "input", "time.time", "time.perf_counter", "tf.train.latest_checkpoint", "tf.train.get_checkpoint_state",
}  # fmt: skip
# Calls whose result depends on their arguments alone, or on files that stay as they are.
PURE_PREFIXES = ("tf.", "keras.", "np.", "hub.", "os.path.", "math.", "pathlib.", "functools.")
PURE_CALLS = {
    "str", "int", "float", "len", "range", "list", "tuple", "dict", "sorted", "open", "min", "max", "round", "bool",
    "enumerate", "zip", "os.getenv", "os.environ.get", "os.fspath", "bytes", "abs",
}  # fmt: skip
PURE_METHODS = {
    "format", "join", "strip", "lower", "upper", "endswith", "startswith", "split", "replace", "encode", "decode",
    "as_default", "get_tensor_by_name", "get_operation_by_name", "ParseFromString", "joinpath", "resolve",
    "with_suffix", "as_graph_def", "items", "keys", "values",
}  # fmt: skip
FILES = ("open()", "GFile()", "FastGFile()")
FILLS = ("ParseFromString", "MergeFromString", "CopyFrom", "MergeFrom")  # `definition.ParseFromString(data)`
FILLS_SECOND = ("Merge", "Parse")  # `text_format.Merge(text, definition)`


def in_loop(where: Context, loop: Loop) -> bool:
    return loop in loops_of(where)


def varies(
    expr: ast.AST,
    scope: Scope,
    loop: Loop,
    chain: tuple[Call, ...],
    project: Project,
    calls_vary: bool = False,
) -> bool:
    """Whether `expr` may differ from one step of `loop` to the next; code in `scope` is reached through `chain`.

    `calls_vary`: a call that is not known to be pure counts as new each time (`frame = camera.read()`).
    """
    return _Variation(loop, project, calls_vary).of(expr, scope, chain)


def fresh_call(node: ast.Call, scope: Scope, loop: Loop, project: Project) -> bool:
    """Whether a call may give something new each time, whatever it is given: `rng.normal(3)`, `camera.read()`."""
    return _Variation(loop, project, calls_vary=True).is_fresh(node, scope)


class _Variation:
    def __init__(self, loop: Loop, project: Project, calls_vary: bool) -> None:
        self.loop, self.project, self.calls_vary = loop, project, calls_vary
        self.seen: set[tuple[int, str]] = set()

    def of(self, expr: ast.AST, scope: Scope, chain: tuple[Call, ...]) -> bool:
        for node in ast.walk(expr):
            if isinstance(node, ast.Call) and self.is_fresh(node, scope):
                return True
            if isinstance(node, ast.Attribute | ast.Subscript) and self._is_stored(node, scope, chain):
                return True
        return any(self._name(name, scope, chain) for name in names_read(expr))

    def is_fresh(self, node: ast.Call, scope: Scope) -> bool:
        value = self.project.resolve(node.func, scope)
        name = value.name if value else ""
        if name in FRESH_CALLS or name.startswith(("random.", "np.random.", "tf.random.")):
            return True
        if not self.calls_vary or name in PURE_CALLS or name.startswith(PURE_PREFIXES):
            return False
        if value is not None and value.scope is not None:  # the project's own: as pure as what it is given
            given = node.args or node.keywords or value.kind == "class" or self.project.is_cached(value.scope)
            return not given or (value.kind == "function" and self._asks_another(value.scope))
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "read":
                return not self.project.name_of(node.func.value, scope).endswith(FILES)
            return node.func.attr not in PURE_METHODS
        return True

    def _asks_another(self, scope: Scope) -> bool:
        """`self.env.step(action)`, in a method: an object of which nothing is known, and that may have a state."""
        if not scope.is_method or not scope.parameters:
            return False
        for call in (node for node in ast.walk(scope.node) if isinstance(node, ast.Call)):
            match call.func:
                case ast.Attribute(value=ast.Attribute(value=ast.Name(id=owner)), attr=method):
                    value = self.project.resolve(call.func, scope)
                    known = value is not None and (value.scope or value.name.startswith(PURE_PREFIXES))
                    if owner == scope.parameters[0] and method not in PURE_METHODS and not known:
                        return True
        return False

    def _is_stored(self, node: ast.Attribute | ast.Subscript, scope: Scope, chain: tuple[Call, ...]) -> bool:
        """`state["path"]` or `args.path`, where the step itself sets it."""
        if not isinstance(node.ctx, ast.Load):
            return False
        wanted = _spelled(node)
        step = scope.node if chain else self.loop.node
        return any(
            isinstance(other, ast.Attribute | ast.Subscript)
            and isinstance(other.ctx, ast.Store)
            and _spelled(other) == wanted
            for other in ast.walk(step)
        )

    def _name(self, name: str, scope: Scope, chain: tuple[Call, ...]) -> bool:
        if (id(scope), name) in self.seen:
            return False
        self.seen.add((id(scope), name))
        bindings = self.project.bindings(name, scope)
        if not chain and self._is_carried(name, bindings):
            return True
        return any(self._binding(b, scope, chain) for b in bindings) or self._is_filled(name, scope, chain)

    def _is_filled(self, name: str, scope: Scope, chain: tuple[Call, ...]) -> bool:
        """Whether something else is put into it in each step."""
        for call in scope.module.calls_of(*FILLS, *FILLS_SECOND):
            parts = [call.node.func.value] if isinstance(call.node.func, ast.Attribute) else []
            given = call.node.args
            filled = parts if call.last in FILLS else given[1:2]
            here = call.where.scope is scope and (bool(chain) or in_loop(call.where, self.loop))
            if here and given and any(isinstance(part, ast.Name) and part.id == name for part in filled):
                return self.of(given[0], scope, chain)
        return False

    def _is_carried(self, name: str, bindings: list[Binding]) -> bool:
        """`path = after(path)`: each step begins with what the one before made of it."""
        inside = [b for b in bindings if in_loop(b.where, self.loop)]
        return bool(inside) and all(b.value is not None and name in names_read(b.value) for b in inside)

    def _binding(self, binding: Binding, scope: Scope, chain: tuple[Call, ...]) -> bool:
        home = binding.where.scope
        if binding.name in home.outer_names:  # set from within a function: in any step, for all we know
            return True
        if home is not scope:  # a global or a closure: it varies if the loop itself rebinds it
            return home is self.loop.where.scope and self._in_step(binding, home, ())
        return self._in_step(binding, scope, chain)

    def _in_step(self, binding: Binding, scope: Scope, chain: tuple[Call, ...]) -> bool:
        """Whether a binding of the loop's own scope (no chain), or of a function called in it, changes per step."""
        if not chain and not in_loop(binding.where, self.loop):
            return False
        if binding.kind == "parameter":
            argument = argument_for(chain[-1], scope, binding.name) if chain else None
            return argument is not None and self.of(argument, chain[-1].where.scope, chain[:-1])
        if binding.kind == "target" and chain and binding.where.loop is not None:
            iterable = binding.where.loop.iterable
            return iterable is not None and self.of(iterable, scope, chain)
        if binding.kind in ("target", "augment") or (binding.kind == "other" and binding.value is None):
            return True
        return binding.value is not None and self.of(binding.value, scope, chain)


def _spelled(node: ast.Attribute | ast.Subscript) -> str:
    """An attribute by its path; an item by what it is an item of, since keys may be equal."""
    return ast.unparse(node) if isinstance(node, ast.Attribute) else ast.unparse(node.value) + "[]"


def changing_number(expr: ast.expr, where: Context, project: Project) -> Loop | None:
    """The loop in which `expr` is a Python number that takes a new value each step; None when it is not one."""
    loops = tuple(loops_of(where))
    found = changing_along(expr, where.scope, Running(loops, ((),) * len(loops)), project)
    return found[0] if found else None


def changing_along(
    expr: ast.expr, scope: Scope, running: Running, project: Project
) -> tuple[Loop, tuple[Call, ...]] | None:
    """The same of one way in which code runs in loops, and the calls that lead there from the loop.

    What a caller hands over has to be seen to be a number; of what stands in the loop itself it is enough that
    nothing says otherwise.
    """
    for loop, chain in zip(running.loops, running.chains, strict=True):
        if chain and not is_number(expr, scope, chain, project):
            continue
        if _Changes(loop, project).of(expr, scope, chain, 0):
            steps = trips(loop, project)
            return (loop, chain) if steps is None or steps >= FEW else None
    return None


class _Changes:
    """Whether an expression is a number that changes from step to step; code is reached through a chain of calls."""

    def __init__(self, loop: Loop, project: Project) -> None:
        self.loop, self.project = loop, project

    def of(self, expr: ast.expr, scope: Scope, chain: tuple[Call, ...], depth: int) -> bool:
        if depth > DEPTH:
            return False
        match expr:
            case ast.Name():
                return self._handed(expr.id, scope, chain, depth) if chain else self._name(expr.id, scope, depth)
            case ast.Attribute():
                return self._attribute(expr, scope, chain, depth)
            case ast.BinOp():
                sides = (expr.left, expr.right)
                if any(is_array(side, scope, self.project, depth) for side in sides) or self._takes_few(expr, scope):
                    return False
                return any(self.of(side, scope, chain, depth + 1) for side in sides)
            case ast.UnaryOp():
                return self.of(expr.operand, scope, chain, depth + 1)
            case ast.IfExp():
                return any(self.of(side, scope, chain, depth + 1) for side in (expr.body, expr.orelse))
            case ast.Subscript():
                listed = holds_numbers(expr.value, scope, self.project)
                return listed and self.of(expr.slice, scope, chain, depth + 1)
            case ast.Call():
                return self._call(expr, scope, chain, depth)
        return False

    def _takes_few(self, expr: ast.BinOp, scope: Scope) -> bool:
        """`step % 2`, and `epoch // 30` of 90: a trace for each of these is what one may want."""
        by = number(expr.right, scope, self.project)
        if by is None or not isinstance(expr.op, ast.Mod | ast.FloorDiv):
            return False
        if isinstance(expr.op, ast.Mod):
            return 0 < by < FEW
        steps = trips(self.loop, self.project)
        return by > FEW if steps is None else steps < FEW * by

    def _call(self, expr: ast.Call, scope: Scope, chain: tuple[Call, ...], depth: int) -> bool:
        name = self.project.name_of(expr.func, scope)
        if name in ("time.time", "time.perf_counter") or name.startswith("random."):
            return True
        if name in KEEPS and any(is_array(a, scope, self.project, depth) for a in expr.args):
            return False
        if name in NUMBER_CALLS or name.startswith("math."):
            return any(varies(a, scope, self.loop, chain, self.project) for a in expr.args)
        callee = called_function(expr, scope, self.project)
        if callee is None or not is_number(expr, scope, chain, self.project):
            return False
        inner = (*chain, call_of(expr, scope))
        return any(self.of(returned, callee, inner, depth + 1) for returned in callee.returns)

    def _name(self, name: str, scope: Scope, depth: int) -> bool:
        loop, project = self.loop, self.project
        bindings = [b for b in project.bindings(name, scope) if b.where.scope is scope]
        inside = [b for b in bindings if in_loop(b.where, loop)]
        for binding in inside:
            if binding.kind == "target" and binding.where.loop is loop and counts(name, loop, project):
                return True
            if binding.kind == "augment" and binding.value is not None and not _renewed(name, inside):
                start = [b for b in bindings if b.kind == "assign" and b.value is not None]
                return bool(start) and not any(
                    is_array(b.value, scope, project, depth) for b in (*start, binding) if b.value
                )
            if binding.kind in ("assign", "walrus") and binding.value is not None:
                if name in names_read(binding.value):  # lr = lr * decay
                    if not _renewed(name, inside):
                        return self._stays_number(binding.value, scope, depth)
                elif self.of(binding.value, scope, (), depth + 1):
                    return True
        return False

    def _stays_number(self, value: ast.expr, scope: Scope, depth: int) -> bool:
        """What a step makes of a number by arithmetic is one; what a function makes of it, only if that can be seen."""
        names = (self.project.name_of(node.func, scope) for node in ast.walk(value) if isinstance(node, ast.Call))
        if all(name in NUMBER_CALLS or name.startswith("math.") for name in names):
            return not is_array(value, scope, self.project, depth)
        return is_number(value, scope, (), self.project)

    def _handed(self, name: str, scope: Scope, chain: tuple[Call, ...], depth: int) -> bool:
        """A name of a function that the loop calls: what it is given, what it makes of that, a name of the loop."""
        owner = scope.owner(name)
        if owner is not None and owner is not scope:
            counted = name in scope.outer_names and any(
                b.kind == "augment" and b.where.scope is scope for b in owner.bound(name)
            )
            return counted or (owner is self.loop.where.scope and self._name(name, owner, depth + 1))
        for binding in scope.bound(name):
            if binding.kind == "parameter":
                argument = argument_for(chain[-1], scope, name)
                if argument is not None and self.of(argument, chain[-1].where.scope, chain[:-1], depth + 1):
                    return True
            elif binding.kind in ("assign", "walrus", "augment") and binding.value is not None:
                if name not in names_read(binding.value) and self.of(binding.value, scope, chain, depth + 1):
                    return True
        return False

    def _attribute(self, expr: ast.Attribute, scope: Scope, chain: tuple[Call, ...], depth: int) -> bool:
        """`self.tau`, where the loop, or a method that it calls, makes `self.tau` of its own old value."""
        owner = self.project.resolve(expr.value, scope)
        home = owner.scope if owner is not None and owner.kind == "object" else None
        if home is None:
            return False
        of_self = scope.is_method and scope.parent is home
        told = [binding for binding in home.set_on_self(expr.attr) if binding.value is not None]
        if any(is_array(b.value, b.where.scope, self.project, depth) for b in told if b.value is not None):
            return False
        for binding in told:
            callers = self.project.callers(binding.where.scope)
            here = [binding.where, *[call.where for call in callers]] if of_self and not chain else []
            if _made_of_itself(binding) and any(at.scope is scope and in_loop(at, self.loop) for at in here):
                return True
            if self._is_set(binding, depth) and is_number(expr, scope, chain, self.project):
                return True
        return self._is_set_here(expr.attr, home) and is_number(expr, scope, chain, self.project)

    def _is_set(self, binding: Binding, depth: int) -> bool:
        """Whether each step sets the attribute to another number, however far from the loop."""
        for running in self.project.running(binding.where):
            for loop, chain in zip(running.loops, running.chains, strict=True):
                if loop is self.loop and binding.value is not None:
                    if _made_of_itself(binding) or self.of(binding.value, binding.where.scope, chain, depth + 1):
                        return True
        return False

    def _is_set_here(self, attribute: str, home: Scope) -> bool:
        """`agent.epsilon *= 0.99` in the loop's own body."""
        nodes = (n for n in ast.walk(self.loop.node) if isinstance(n, ast.AugAssign))
        targets = [n.target for n in nodes if isinstance(n.target, ast.Attribute) and n.target.attr == attribute]
        owners = (self.project.resolve(target.value, self.loop.where.scope) for target in targets)
        return any(owner is not None and owner.scope is home for owner in owners)


def _made_of_itself(binding: Binding) -> bool:
    old = (n for n in ast.walk(binding.value) if isinstance(n, ast.Attribute)) if binding.value is not None else ()
    return binding.kind == "augment" or any(n.attr == binding.name for n in old)


def _renewed(name: str, inside: list[Binding]) -> bool:
    """Whether each step starts from another value (`for x in xs: x = x / 255`): then that one says what it is."""
    return any(
        b.kind in ("target", "with", "other") or (b.value is not None and name not in names_read(b.value))
        for b in inside
        if b.kind != "augment"
    )
