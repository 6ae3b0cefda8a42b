"""What must hold before code may move: the names it needs, what a loop changes, and where it may go."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hotloop.model import Place
from hotloop.source.module import Call, Comprehension, Context, Function, Loop, Module, Scope, place_of
from hotloop.source.names import canonical
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

MUTATORS = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft", "popitem", "put",
    "remove", "reverse", "setdefault", "sort", "update", "write",
}  # fmt: skip
MODEL_CHANGES = {"compile", "fit", "fit_generator", "load_weights", "set_weights", "train_on_batch"}
# Setting these on a Keras optimizer assigns a variable: compiled code sees the new value.
LIVE_ATTRIBUTES = {"learning_rate", "lr"}


@dataclass
class Names:
    """The names that code reads from around it, and those it binds there, each with a node that does."""

    reads: dict[str, ast.AST] = field(default_factory=dict)
    binds: dict[str, ast.AST] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)  # global or nonlocal


def names_in(nodes: Iterable[ast.AST]) -> Names:
    found = Names()
    stack = list(nodes)[::-1]
    while stack:
        stack += _note(stack.pop(), found)[::-1]
    return found


def _note(node: ast.AST, found: Names) -> list[ast.AST]:
    """Notes what one node does itself and returns the nodes to go on with."""
    if isinstance(node, ast.Name):
        (found.reads if isinstance(node.ctx, ast.Load) else found.binds).setdefault(node.id, node)
        return []
    if isinstance(node, Function):
        return _note_function(node, found)
    if isinstance(node, Comprehension):
        inner = names_in(n for n in ast.iter_child_nodes(node))
        targets = names_in(part.target for part in node.generators).binds
        _merge(found.reads, {name: at for name, at in inner.reads.items() if name not in targets})
        _merge(found.binds, {name: at for name, at in inner.binds.items() if name not in targets})
        return []
    if isinstance(node, ast.ClassDef):
        found.binds.setdefault(node.name, node)
        inner = names_in(node.body)
        _merge(found.reads, {name: at for name, at in inner.reads.items() if name not in inner.binds})
        return [*node.decorator_list, *node.bases, *node.keywords]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.reads.setdefault(node.target.id, node)
    elif isinstance(node, ast.Global | ast.Nonlocal):
        found.declared.update(node.names)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        _merge(found.binds, {a.asname or a.name.partition(".")[0]: node for a in node.names})
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        found.binds.setdefault(node.name, node)
    return list(ast.iter_child_nodes(node))


def _note_function(node: Function, found: Names) -> list[ast.AST]:
    inner = names_in(node.body if isinstance(node.body, list) else [node.body])
    spec = node.args
    everything = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
    own = (set(inner.binds) | {a.arg for a in everything if a}) - inner.declared
    _merge(found.reads, {name: at for name, at in inner.reads.items() if name not in own})
    _merge(found.reads, dict.fromkeys(inner.declared, node))
    rest: list[ast.AST] = [*spec.defaults, *[d for d in spec.kw_defaults if d]]
    if not isinstance(node, ast.Lambda):
        found.binds.setdefault(node.name, node)
        rest += node.decorator_list
    return rest


def _merge(into: dict[str, ast.AST], more: dict[str, ast.AST]) -> None:
    for name, node in more.items():
        into.setdefault(name, node)


# -- what a loop changes -------------------------------------------------------------------------------------


def changed_names(loop: Loop) -> dict[str, ast.AST]:
    """Every name that the loop binds, or whose object it visibly mutates, and where."""
    node = loop.node
    if isinstance(node, Comprehension):
        found = names_in([*[g.target for g in node.generators], node]).binds
    else:
        found = names_in([node]).binds
    return {**mutated_names(node), **found}


def mutated_names(node: ast.AST) -> dict[str, ast.AST]:
    """Names whose object is changed in place: `a.b = 1`, `a[0] = 1`, `a.append(1)`."""
    found: dict[str, ast.AST] = {}
    for part in ast.walk(node):
        store = isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load)
        live = isinstance(part, ast.Attribute) and part.attr in LIVE_ATTRIBUTES
        if store and not live:
            _merge(found, dict.fromkeys(root_name(part), part))
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in MUTATORS:
            _merge(found, dict.fromkeys(root_name(part.func), part))
    return found


def root_name(node: ast.AST) -> Iterator[str]:
    """`a` of `a.b[0].c`; nothing where it starts with a call."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def home(name: str, scope: Scope) -> Scope:
    """The scope that a name belongs to, as code in `scope` sees it; the module's, where nothing binds it."""
    return scope.owner(name) or scope.module.scope


def needs(nodes: Iterable[ast.AST], scope: Scope, project: Project) -> dict[str, Scope]:
    """What code in `scope` reads from around it, also through the project's own functions that it names."""
    found: dict[str, Scope] = {}
    queue = [(name, scope) for name in names_in(nodes).reads]
    while queue:
        name, at = queue.pop()
        owner = home(name, at)
        if found.get(name) is owner:
            continue
        found.setdefault(name, owner)
        for binding in owner.bindings.get(name, []):
            if binding.scope is not None and binding.scope.is_function:
                queue += [(n, binding.scope) for n in names_in([binding.scope.node]).reads]
    return found


def change_of(name: str, owner: Scope, loop: Loop) -> ast.AST | None:
    """Where the loop changes a name, or what it names."""
    if home(name, loop.where.scope) is not owner:
        return None
    found = changed_names(loop).get(name)
    return found if found is not None and not _is_call_of(found, name, owner) else change_from_afar(name, owner)


def change_from_afar(name: str, owner: Scope) -> ast.AST | None:
    """Another function that rebinds the name, or changes its object in place: it may do so in any step."""
    for scope in owner.module.scopes:
        if not scope.is_function or scope is owner or home(name, scope) is not owner:
            continue
        if name in scope.outer_names:
            return scope.node
        mutated = mutated_names(scope.node).get(name)
        if mutated is not None and not _is_call_of(mutated, name, owner):
            return scope.node
    return None


def _is_call_of(change: ast.AST, name: str, owner: Scope) -> bool:
    """`tf.add(x, y)` changes nothing, where `seen.add(x)` does: `name` is a module."""
    bindings = owner.bindings.get(name, [])
    return isinstance(change, ast.Call) and bool(bindings) and all(b.kind == "import" for b in bindings)


def refuse_stale_attributes(nodes: Iterable[ast.AST], scope: Scope, project: Project) -> None:
    """Refuses code of a method that reads `self.rate` where that changes from step to step: compiled, it would not.

    Also where it does so through other methods, and where another object's code sets it: `trainer.rate = 0.1`.
    """
    queue, seen = [(list(nodes), scope)], {scope}
    while queue:
        parts, at = queue.pop()
        if not at.is_method or not at.parameters or at.parent is None:
            continue
        for node in (inner for outer in parts for inner in ast.walk(outer)):
            if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
                continue
            if node.value.id != at.parameters[0]:
                continue
            method = project.resolve(node, at)
            if method is not None and method.kind == "function" and method.scope is not None:
                if method.scope not in seen:
                    seen.add(method.scope)
                    queue.append(([method.scope.node], method.scope))
                continue
            _refuse_stale(node, at, scope, project)


def _refuse_stale(node: ast.Attribute, at: Scope, scope: Scope, project: Project) -> None:
    bindings = at.parent.attributes.get(node.attr, []) if at.parent else []
    changing = [b.node for b in bindings if b.kind == "augment" or b.where.loop or project.running(b.where)]
    if node.attr not in LIVE_ATTRIBUTES:
        changing += _set_in_loops(node.attr, at.module)
    if changing:
        line = getattr(changing[0], "lineno", 0)
        raise Refused(
            f"`{at.name}` reads `{ast.unparse(node)}`, which changes on line {line}: pass it as an argument first",
            changing[0] if at.module is scope.module else None,
        )


def _set_in_loops(attribute: str, module: Module) -> list[ast.AST]:
    """Where a loop sets an attribute of that name, of whatever object."""
    loops = (loop.node for loop in module.loops if isinstance(loop.node, ast.For | ast.While | ast.AsyncFor))
    inside = (node for loop in loops for node in ast.walk(loop))
    return [n for n in inside if isinstance(n, ast.Attribute) and n.attr == attribute and isinstance(n.ctx, ast.Store)]


def way_out(
    where: Context, needed: dict[str, Scope], what: str, instead: str = "pass it as an argument first"
) -> ast.stmt:
    """The outermost loop around code that changes nothing it needs: it may move before this statement."""
    anchor: ast.stmt | None = None
    loop = where.loop
    while loop is not None:
        for name, owner in sorted(needed.items(), key=lambda item: item[0]):
            culprit = change_of(name, owner, loop)
            if culprit is not None and anchor is None:
                reason = f"`{what}` reads `{name}`, which the loop changes: {instead}"
                raise Refused(reason, culprit)
            if culprit is not None:
                return anchor  # type: ignore[return-value]
        statement = loop.node if isinstance(loop.node, ast.stmt) else loop.where.statement
        around = loop.where.loop
        if around is None or around.node is not statement:  # else: the test of a `while` is run in each step
            anchor = statement
        if around is not None and anchor is not None and statement not in getattr(around.node, "body", []):
            break
        loop = around
    if anchor is None:
        raise Refused(f"`{what}` stands where it cannot be moved from", where.statement)
    return anchor


# -- finding and writing -------------------------------------------------------------------------------------


def call_at(module: Module, place: Place, *lasts: str) -> Call:
    """`lasts`: how a call ends that only the run has seen on a line; the only such call there is meant."""
    for call in module.calls:
        if call.place == place:
            return call
    there = [] if place.end_line else [call for call in module.calls_of(*lasts) if call.place.line == place.line]
    if len(there) == 1:
        return there[0]
    raise not_found(place)


def not_found(place: Place) -> Refused:
    """Why the code of a finding is not there; a finding that only the run has made names a line and no more."""
    if not place.end_line:
        return Refused("the run shows it, but source does not tell which code on this line does it")
    return Refused("the source is no longer what was checked")


def defined_at(module: Module, place: Place) -> Scope | None:
    """The function one of whose decorators stands there."""
    for scope in module.scopes:
        if any(place_of(module, decorator) == place for decorator in scope.decorators):
            return scope
    return None


def tensorflow_name(scope: Scope) -> str:
    """What code in `scope` calls TensorFlow."""
    seeker: Scope | None = scope
    while seeker is not None:
        for name, bindings in seeker.bindings.items():
            if any(b.kind == "import" and canonical(b.imported) == "tf" for b in bindings):
                return name
        seeker = seeker.parent
    raise Refused("the file does not import tensorflow itself: add `import tensorflow as tf` first")


def statements_around(module: Module, statement: ast.stmt) -> list[ast.stmt]:
    """The block that a statement stands in."""
    for node in ast.walk(module.tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and statement in block:
                return block
    raise Refused("the statement is written in a way that cannot be moved", statement)


def not_an_elif(module: Module, statement: ast.stmt) -> ast.stmt:
    """Nothing can be put before an `elif`."""
    line = module.data.splitlines()[statement.lineno - 1]
    if line[statement.col_offset :].startswith(b"elif"):
        raise Refused("it stands in the test of an `elif`", statement)
    return statement


def put_before(rewriter: Rewriter, anchor: ast.stmt, line: Any) -> None:
    """Put a plain statement before `anchor`: it takes over the blank lines there, the comments stay."""
    before = rewriter.statement(anchor)
    blank = []
    for empty in before.leading_lines:
        if empty.comment is not None:
            break
        blank.append(empty)
        rewriter.replace(empty)
    comments = [empty for empty in line.leading_lines if empty.comment is not None]
    rewriter.before(before, line.with_changes(leading_lines=[*blank, *comments]))


def spaced(definition: Any, anchor: Any, top_level: bool, first: bool) -> Any:
    """A function definition that goes before `anchor`, with the blank lines that belong around it."""
    import libcst

    blank, wanted = libcst.EmptyLine(indent=False), 2 if top_level else 1
    comments = [line for line in definition.leading_lines if line.comment is not None]
    given = 0
    for line in anchor.leading_lines:
        if line.comment is not None:
            break
        given += 1
    above = [] if first else [blank] * wanted
    below = [blank] * max(0, wanted - given)
    moved = definition.with_changes(leading_lines=[*above, *comments])
    if not isinstance(definition.body, libcst.IndentedBlock):
        return moved
    return moved.with_changes(body=moved.body.with_changes(footer=[*moved.body.footer, *below]))
