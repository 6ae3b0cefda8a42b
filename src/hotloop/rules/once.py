"""Do it once: code that every step repeats moves before the loop, or into a function that remembers its result."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hotloop.model import Finding
from hotloop.rules.loops import in_loop
from hotloop.rules.moving import MODEL_CHANGES, MUTATORS, call_at, mutated_names, spaced
from hotloop.source.flow import fresh_call, varies
from hotloop.source.module import Call, Loop, Scope, names_read, names_stored
from hotloop.source.project import Project, loops_of
from hotloop.source.rewrite import Refused, Rewriter, body_of, with_body, without_blank_lines

WIDE = 96  # a longer call is broken into lines
LEAVES = (
    ast.Return,
    ast.Break,
    ast.Continue,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.Global,
    ast.Nonlocal,
    ast.Delete,
)
ACTS = {"print", "input", "exit", "time.time", "time.perf_counter", "sys.exit", "next"}
HAPPENS = MUTATORS | MODEL_CHANGES | {"eval", "predict", "run", "send", "writerow"}  # methods that act in every step

# Methods that give the same each time, whatever they are called on.
LOOKS_UP = {
    "as_list", "astype", "copy", "get_collection", "get_config", "get_layer", "get_shape", "get_variable", "getvalue",
    "reshape", "set_shape", "tobytes", "tolist", "transpose",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """The code that one step runs: the body of a loop, or of a function that a loop calls (`chain`)."""

    scope: Scope
    loop: Loop
    chain: tuple[Call, ...]
    project: Project

    @property
    def statements(self) -> list[ast.stmt]:
        if not self.chain:
            if not isinstance(self.loop.node, ast.For | ast.While):
                raise Refused("the loop is a comprehension or asynchronous: write it as a plain `for`", self.loop.node)
            return self.loop.node.body
        if not isinstance(self.scope.node, ast.FunctionDef):
            raise Refused("the code stands in a lambda or a class body", self.scope.node)
        return self.scope.node.body

    def varies(self, node: ast.AST) -> bool:
        return varies(node, self.scope, self.loop, self.chain, self.project, calls_vary=True)

    def holding(self, node: ast.AST) -> ast.stmt:
        """The statement of the step, at its top level, that holds `node`."""
        for statement in self.statements:
            if any(inner is node for inner in ast.walk(statement)):
                return statement
        raise Refused("the code does not stand in the loop itself", node)

    def needs(self, seeds: Iterable[ast.stmt], instead: frozenset[str] = frozenset()) -> list[ast.stmt]:
        """The seeds and the statements of the step that bind what they read, in order; not what binds `instead`."""
        statements = self.statements
        chosen = {id(seed) for seed in seeds}
        grew = True
        while grew:
            grew = False
            for index, statement in enumerate(statements):
                if id(statement) not in chosen:
                    continue
                read = names_read(statement) - instead
                made = {name for other in statements for name in bound_names(other) if id(other) in chosen}
                for earlier in statements[:index]:
                    makes = read & bound_names(earlier) or read & made & set(mutated_names(earlier))
                    if id(earlier) not in chosen and (makes or fills(earlier, read & made)):
                        chosen.add(id(earlier))
                        grew = True
        return [statement for statement in statements if id(statement) in chosen]

    def require_movable(
        self, moved: Sequence[ast.stmt], fed: frozenset[str] = frozenset(), swapped: Sequence[ast.AST] = ()
    ) -> None:
        """Refuses what depends on the step, acts on the world, leaves the block, or is bound again elsewhere.

        `swapped`: expressions that stay behind, of which only the values are handed over.
        """
        stay = [s for s in self.statements if s not in moved]
        altered = {name for other in stay for name in mutated_names(other)} - {*fed}
        bound = {name for statement in moved for name in bound_names(statement)}
        for statement in moved:
            for node in ast.walk(statement):
                self._require_quiet(node, statement)
            self.require_no_fresh_calls(statement, swapped)
            for name in sorted(names_read(statement) - bound - fed):
                if name in altered and not self.is_imported(name):
                    raise Refused(f"it needs `{name}`, which the step changes in place", statement)
                if self.varies(ast.Name(name, ast.Load())):
                    raise Refused(f"it needs `{name}`, which changes in each step", statement)
        for other in stay:
            twice = bound & bound_names(other)
            if twice:
                raise Refused(f"`{min(twice)}` is bound again elsewhere in the step", other)
            kept = bound & set(mutated_names(other))
            if kept:
                raise Refused(
                    f"`{min(kept)}` is changed in place in each step, and would then start from the last", other
                )
        self._require_fresh(moved, bound)

    def is_imported(self, name: str) -> bool:
        """`tf.add(x, y)` looks like a change of `tf`."""
        bindings = self.project.bindings(name, self.scope)
        return bool(bindings) and all(binding.kind == "import" for binding in bindings)

    def require_no_fresh_calls(self, node: ast.AST, swapped: Sequence[ast.AST] = ()) -> None:
        """Made once, `tf.constant(rng.normal(3))` would be one draw for all steps."""
        stays = {id(inner) for outer in swapped for inner in ast.walk(outer)}
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and id(call) not in stays and self._is_drawn(call):
                raise Refused(f"`{ast.unparse(call)}` may give something else in each step", call)

    def _is_drawn(self, call: ast.Call) -> bool:
        looks_up = isinstance(call.func, ast.Attribute) and call.func.attr in LOOKS_UP
        return not looks_up and fresh_call(call, self.scope, self.loop, self.project)

    def _require_fresh(self, moved: Sequence[ast.stmt], bound: set[str]) -> None:
        """What the moved code binds must not carry a value from before the loop, or from the step before."""
        if self.chain or not moved:
            return
        if bound & self.loop.targets:
            raise Refused("it binds the loop's own variable", moved[0])
        for name in sorted(bound):
            bindings = self.scope.bindings.get(name, [])
            if any(self.loop not in loops_of(binding.where) for binding in bindings):
                raise Refused(f"`{name}` has another value before or after the loop", moved[0])
        first = min(statement.lineno for statement in moved)
        for statement in self.statements:
            early = names_read(statement) & bound if statement not in moved and statement.lineno < first else set()
            if early:
                raise Refused(f"the step reads `{min(early)}` before it is made", statement)

    def _require_quiet(self, node: ast.AST, statement: ast.stmt) -> None:
        if isinstance(node, LEAVES):
            raise Refused("it leaves the block, or changes names outside it", node)
        if isinstance(node, ast.AugAssign):
            raise Refused("it changes a value from step to step", node)
        if isinstance(node, ast.Call):
            name = self.project.name_of(node.func, self.scope)
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name in ACTS or (method in HAPPENS and not name.startswith("np.")):
                raise Refused(f"it calls `{ast.unparse(node.func)}`, which must happen in every step", node)


def step_at(finding: Finding, project: Project) -> tuple[Call, Step]:
    """The call that a finding names, and the step that repeats it."""
    call = call_at(project.modules[finding.place.path], finding.place)
    found = in_loop(project, call.where)
    if found is None:
        raise Refused("the source is no longer what was checked")
    return call, Step(call.where.scope, found.loop, found.chain, project)


def fills(statement: ast.stmt, names: set[str]) -> bool:
    """`graph_def.ParseFromString(...)`: binds nothing, but is what fills `graph_def`."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in names
        for node in ast.walk(statement)
    )


def bound_names(node: ast.AST) -> set[str]:
    found = set(names_stored(node))
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(inner.name)
        elif isinstance(inner, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name.partition(".")[0] for alias in inner.names)
    return found


def same_object(expr: ast.expr, step: Step) -> bool:
    """Whether `expr` is the very same object in every step, not an equal one made anew."""
    if step.varies(expr):
        return False
    for node in ast.walk(expr):
        if isinstance(node, ast.Call) and not _remembered(node, step):
            return False
    for name in names_read(expr):
        for binding in step.scope.bindings.get(name, []):
            local = step.chain or step.loop in loops_of(binding.where)
            if local and binding.kind in ("assign", "with") and binding.value is not None:
                if not same_object(binding.value, step):
                    return False
    return True


def _remembered(call: ast.Call, step: Step) -> bool:
    made = step.project.resolve(call.func, step.scope)
    return made is not None and made.scope is not None and step.project.is_cached(made.scope)


# -- before the loop ---------------------------------------------------------------------------------------------------


def lift(
    rewriter: Rewriter,
    step: Step,
    moved: Sequence[ast.stmt],
    around: Sequence[ast.With | ast.Try],
    change: Callable[[Any], Any] = lambda statement: statement,
    extra: Sequence[Any] = (),
    after: Sequence[ast.stmt] = (),
    drop: bool = False,
) -> None:
    """Move statements, and the `with` or `try` blocks they stand in, from the body of a loop to before and around it.

    `around` are the blocks to lift, outermost first, each directly in the one before (the first directly in the
    loop). `change` rewrites what stays; `extra` are new statements that follow the moved ones; statements of the
    body in `after` go behind the loop. `drop`: the moved statements stand in `extra`, changed.
    """
    loop = rewriter.statement(step.loop.node)  # type: ignore[arg-type]
    behind = [rewriter.statement(s) for s in after]
    gone = {id(rewriter.statement(s)) for s in moved}
    levels: list[list[Any]] = []  # what goes before the loop, by depth of `with`
    blocks = [rewriter.statement(w) for w in around]
    body = body_of(loop)
    for block in blocks:
        if block not in body:
            raise Refused("it stands in a block within the loop", step.loop.node)
        body = body_of(block)
    rest = [s for s in _split(body_of(loop), list(blocks), gone, levels) if s not in behind]
    stays = with_body(loop, [change(s) for s in rest]).with_changes(leading_lines=[])
    inner: list[Any] = [*([] if drop else levels[-1]), *extra, stays, *behind]
    for block, level in reversed(list(zip(blocks, levels[:-1], strict=True))):
        inner = [*level, with_body(without_blank_lines(block), inner)]
    first = inner[0]
    inner[0] = first.with_changes(leading_lines=[*loop.leading_lines, *without_blank_lines(first).leading_lines])
    rewriter.replace(loop, *inner)


def _split(statements: list[Any], around: list[Any], gone: set[int], levels: list[list[Any]]) -> list[Any]:
    levels.append([without_blank_lines(s) for s in statements if id(s) in gone])
    rest: list[Any] = []
    for statement in statements:
        if id(statement) in gone:
            continue
        if around and statement is around[0]:
            rest += _split(body_of(statement), around[1:], gone, levels)
        else:
            rest.append(statement)
    if rest:
        rest[0] = (
            rest[0]
            if levels[1:] or not gone
            else rest[0].with_changes(
                leading_lines=[line for line in rest[0].leading_lines if line.comment is not None]
            )
        )
    return rest


# -- in a function that remembers --------------------------------------------------------------------------------------


def remember_call(rewriter: Rewriter, call: Call, name: str, parameters: Sequence[str], then: str = "") -> None:
    """Make `call` go through a new cached function of the same arguments; `then` follows it (`.as_default()`)."""
    node = call.node
    for value in (*node.args, *[k.value for k in node.keywords]):
        _require_hashable(value, call.where.scope)
    if any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        raise Refused("its arguments are not spelled out", node)
    name = rewriter.new_name(name)
    found: Any = rewriter.expression(node)
    handed: list[tuple[str, str]] = []
    inner = []
    for argument, value, label in zip(found.args, _values(node), _labels(node, parameters), strict=True):
        if isinstance(value, ast.Constant) or _stays(value, call.where.scope):
            inner.append(argument)
        else:
            handed.append((label, rewriter.code(argument.value)))
            inner.append(argument.with_changes(value=rewriter.parse_expression(label)))
    body = rewriter.code(found.with_changes(args=inner))
    define(rewriter, call.where.scope, f"def {name}({', '.join(p for p, _ in handed)}):\n    return {body}")
    rewriter.replace(found, rewriter.parse_expression(f"{name}({', '.join(v for _, v in handed)}){then}"))


def extract(
    rewriter: Rewriter,
    step: Step,
    moved: Sequence[ast.stmt],
    name: str,
    results: Sequence[str],
    body: Sequence[Any],
    arguments: Sequence[tuple[str, str]] = (),
    without: set[str] = frozenset(),  # type: ignore[assignment]
) -> None:
    """Move statements of a function into a new cached one that returns `results`, and call it in their place.

    `arguments` are further parameters and the expressions that the call passes for them; `without`: what it no
    longer reads.
    """
    scope = step.scope
    given = {n for s in moved for n in names_read(s)} & set(scope.parameters) - without
    fed = sorted(given, key=scope.parameters.index)
    if scope.parent is not None and scope.parent.is_function:
        raise Refused("it stands in a function inside a function", scope.node)
    if scope.is_method and scope.parameters[:1] and scope.parameters[0] in given:
        own = scope.parameters[0]
        raise Refused(
            f"it reads `{own}`, and a cache that holds `{own}` keeps the object alive: do it in `__init__`", moved[0]
        )
    name = rewriter.new_name(name, scope)
    parameters = [*fed, *[parameter for parameter, _ in arguments]]
    values = [*fed, *[value for _, value in arguments]]
    last = f"return {', '.join(results)}" if results else "pass"
    define(rewriter, scope, f"{_wrapped(f'def {name}', parameters, ':')}\n    {last}", body)
    call = _wrapped(f"{', '.join(results)} = {name}" if results else name, values)
    replacement = rewriter.parse_block(call)[0]
    first, *others = [rewriter.statement(s) for s in moved]
    blank = [line for line in first.leading_lines if line.comment is None]
    rewriter.replace(first, replacement.with_changes(leading_lines=blank))
    for other in others:
        rewriter.replace(other)


def _wrapped(before: str, values: Sequence[str], after: str = "") -> str:
    """`before(values)after`, over as many lines as it takes."""
    line = f"{before}({', '.join(values)}){after}"
    if len(line) <= WIDE:
        return line
    inner = ", ".join(values)
    inner = f"    {inner}" if len(inner) + 4 <= WIDE else "\n".join(f"    {value}," for value in values)
    return f"{before}(\n{inner}\n){after}"


def define(rewriter: Rewriter, scope: Scope, text: str, body: Sequence[Any] = ()) -> None:
    """A cached function before the top-level definition that `scope` stands in; `body` goes before its return.

    Where that returns nothing, its text says `pass`, which `body` takes the place of.
    """
    rewriter.require_import("functools")
    function: Any = rewriter.parse_block(f"@functools.cache\n{text}")[0]
    if body:
        first = body[0].with_changes(leading_lines=[line for line in body[0].leading_lines if line.comment])
        rest = [] if text.endswith("    pass") else body_of(function)
        function = with_body(function, [first, *body[1:], *rest])
    while scope.parent is not None and scope.parent.parent is not None:
        scope = scope.parent
    anchor = rewriter.statement(scope.node)  # type: ignore[arg-type]
    rewriter.before(anchor, spaced(function, anchor, top_level=True, first=False))


def _stays(value: ast.expr, scope: Scope) -> bool:
    """A dict, list or message that the module binds once: no key of a cache, and the same for every call."""
    if not isinstance(value, ast.Name) or value.id in scope.bindings:
        return False
    bindings = scope.module.scope.bindings.get(value.id, [])
    return len(bindings) == 1 and not _is_hashable(bindings[0].value)


def _is_hashable(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        return not ast.unparse(value.func).endswith(("Proto", "Options", "dict", "list", "set"))
    return not isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp)


def _require_hashable(value: ast.expr, scope: Scope) -> None:
    if isinstance(value, ast.Name) and any(not _is_hashable(b.value) for b in scope.bindings.get(value.id, [])):
        raise Refused(f"`{value.id}` cannot be the key under which the result is remembered", value)
    plain = isinstance(value, ast.Constant | ast.Name | ast.Attribute)
    joined = isinstance(value, ast.Call) and ast.unparse(value.func) in ("os.path.join", "str")
    if not plain and not joined:
        raise Refused(f"`{ast.unparse(value)}` cannot be the key under which the result is remembered", value)


def _values(node: ast.Call) -> list[ast.expr]:
    """Arguments in source order."""
    both = [*node.args, *[k.value for k in node.keywords]]
    return sorted(both, key=lambda v: (v.lineno, v.col_offset))


def _labels(node: ast.Call, parameters: Sequence[str]) -> list[str]:
    """A parameter name for each argument."""
    keywords = {id(k.value): k.arg for k in node.keywords}
    labels: list[str] = []
    for index, value in enumerate(_values(node)):
        label = keywords.get(id(value)) or (parameters[index] if index < len(parameters) else f"argument_{index}")
        labels.append(label)
    return labels
