"""How values move through a loop: what changes from step to step, and which of it is a plain Python number."""

from __future__ import annotations

import ast

from hotloop.source.heat import FEW, trips
from hotloop.source.module import Binding, Call, Context, Loop, Scope, names_read
from hotloop.source.project import Project, argument_for, loops_of

NUMBER_CALLS = {
    "float", "int", "len", "round", "abs", "min", "max", "sum", "pow", "time.time", "time.perf_counter",
    "random.random", "random.uniform", "random.randint", "random.gauss", "random.choice",
}  # fmt: skip
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
            return not (node.args or node.keywords or value.kind == "class" or self.project.is_cached(value.scope))
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "read":
                return not self.project.name_of(node.func.value, scope).endswith(FILES)
            return node.func.attr not in PURE_METHODS
        return True

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
    loops = list(loops_of(where))
    for loop in loops:
        if _changes(expr, where.scope, loop, project, 0):
            steps = trips(loop, project)
            return loop if steps is None or steps >= FEW else None
    return None


def _changes(expr: ast.expr, scope: Scope, loop: Loop, project: Project, depth: int) -> bool:
    if depth > 6:
        return False
    if isinstance(expr, ast.Name):
        return _name_changes(expr.id, scope, loop, project, depth)
    if isinstance(expr, ast.Attribute):
        return _attribute_changes(expr, scope, loop, project, depth)
    if isinstance(expr, ast.BinOp):
        sides = (expr.left, expr.right)
        if any(_is_array(side, scope, project, depth) for side in sides):
            return False
        return any(_changes(side, scope, loop, project, depth + 1) for side in sides)
    if isinstance(expr, ast.UnaryOp):
        return _changes(expr.operand, scope, loop, project, depth + 1)
    if isinstance(expr, ast.IfExp):
        return any(_changes(side, scope, loop, project, depth + 1) for side in (expr.body, expr.orelse))
    if isinstance(expr, ast.Call):
        name = project.name_of(expr.func, scope)
        if name in ("time.time", "time.perf_counter") or name.startswith("random."):
            return True
        if name in NUMBER_CALLS or name.startswith("math."):
            return any(varies(a, scope, loop, (), project) for a in expr.args)
    return False


def _name_changes(name: str, scope: Scope, loop: Loop, project: Project, depth: int) -> bool:
    bindings = [b for b in project.bindings(name, scope) if b.where.scope is scope]
    inside = [b for b in bindings if in_loop(b.where, loop)]
    for binding in inside:
        if binding.kind == "target" and binding.where.loop is loop and _counts(name, loop, project):
            return True
        if binding.kind == "augment" and binding.value is not None and not _renewed(name, inside):
            start = [b for b in bindings if b.kind == "assign" and b.value is not None]
            return bool(start) and not any(
                _is_array(b.value, scope, project, depth) for b in (*start, binding) if b.value
            )
        if binding.kind in ("assign", "walrus") and binding.value is not None:
            if name in names_read(binding.value):  # lr = lr * decay
                if not _renewed(name, inside):
                    return not _is_array(binding.value, scope, project, depth)
            elif _changes(binding.value, scope, loop, project, depth + 1):
                return True
    return False


def _renewed(name: str, inside: list[Binding]) -> bool:
    """Whether each step starts from another value (`for x in xs: x = x / 255`): then that one says what it is."""
    return any(
        b.kind in ("target", "with", "other") or (b.value is not None and name not in names_read(b.value))
        for b in inside
        if b.kind != "augment"
    )


def _attribute_changes(expr: ast.Attribute, scope: Scope, loop: Loop, project: Project, depth: int) -> bool:
    """`self.tau`, where the loop, or a method that it calls, makes `self.tau` of its own old value."""
    owner = scope.parent
    if not (scope.is_method and owner and isinstance(expr.value, ast.Name) and expr.value.id == scope.parameters[0]):
        return False
    for binding in owner.attributes.get(expr.attr, []):
        if binding.value is None or _is_array(binding.value, binding.where.scope, project, depth):
            continue
        here = [binding.where, *[call.where for call in project.callers(binding.where.scope)]]
        if any(where.scope is scope and in_loop(where, loop) for where in here):
            old = [n for n in ast.walk(binding.value) if isinstance(n, ast.Attribute) and n.attr == expr.attr]
            if binding.kind == "augment" or old:
                return True
    return False


def _counts(name: str, loop: Loop, project: Project) -> bool:
    """Whether a loop target is a counter: of a `range`, or the index of an `enumerate`."""
    iterable, target = loop.iterable, getattr(loop.node, "target", None)
    if isinstance(loop.node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        target = loop.node.generators[0].target
    while isinstance(iterable, ast.Call):
        called = project.name_of(iterable.func, loop.where.scope)
        if called in ("range", "trange", "tqdm.trange", "tqdm.auto.trange"):
            return isinstance(target, ast.Name) and target.id == name
        if called == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
            first = target.elts[0]
            return isinstance(first, ast.Name) and first.id == name
        if called not in ("tqdm", "tqdm.tqdm", "tqdm.auto.tqdm", "list", "reversed") or not iterable.args:
            return False
        iterable = iterable.args[0]
    return False


def _is_array(expr: ast.expr, scope: Scope, project: Project, depth: int) -> bool:
    """Whether a tensor or an array takes part, so that the result is no Python number."""
    if depth > 6:
        return False
    for node in ast.walk(expr):
        if isinstance(node, ast.Call | ast.Name | ast.Attribute):
            if isinstance(node, ast.Call) and project.name_of(node.func, scope) in NUMBER_CALLS:
                return False
            name = project.name_of(node, scope)
            if name.endswith("()") and name.startswith(("tf.", "keras.", "np.")):
                return True
    return isinstance(expr, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.JoinedStr | ast.ListComp)
