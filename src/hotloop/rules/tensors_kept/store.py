"""The list that something is appended to, and what becomes of what it holds."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hotloop.source.module import Call, names_read

if TYPE_CHECKING:
    from hotloop.rules.loops import InLoop
    from hotloop.source import Project

# What needs one number of each, or one of all.
REDUCES = {"mean", "sum", "max", "min", "std", "var", "median", "average", "reduce_mean", "reduce_sum", "reduce_max",
           "reduce_min", "len", "print", "add_n", "norm", "global_norm"}  # fmt: skip


@dataclass(frozen=True)
class Store:
    """A list that outlives the step: a local made before the loop, an attribute, or an entry of a dict that is one."""

    spelled: str
    is_attribute: bool
    home: ast.AST  # all that may read it
    dict: str = ""  # whose entry it is

    @classmethod
    def of(cls, receiver: ast.expr, call: Call, found: InLoop, project: Project) -> Store | None:
        match receiver:
            case ast.Subscript(value=ast.Name() | ast.Attribute() as owner, slice=ast.Constant(value=str() as entry)):
                found_in = cls._made(owner, call, found, project, entry)
                spelled = ast.unparse(receiver)
                return replace(found_in, spelled=spelled, dict=found_in.spelled) if found_in else None
        return cls._made(receiver, call, found, project)

    @classmethod
    def _made(
        cls, receiver: ast.expr, call: Call, found: InLoop, project: Project, entry: str | None = None
    ) -> Store | None:
        scope = call.where.scope
        if isinstance(receiver, ast.Attribute) and isinstance(receiver.value, ast.Name) and scope.is_method:
            owner = scope.parent
            made = owner.attributes.get(receiver.attr, []) if owner and receiver.value.id == "self" else []
            if not any(_is_list(b.value, entry) for b in made) or any(b.where.scope.name != "__init__" for b in made):
                return None  # unknown, bounded, or emptied now and then
            return cls(ast.unparse(receiver), True, scope.module.tree)
        if not isinstance(receiver, ast.Name):
            return None
        made = project.bindings(receiver.id, scope)
        if not made or not all(_is_list(b.value, entry) for b in made) or any(b.kind != "assign" for b in made):
            return None
        home = made[0].where.scope
        if any(b.where.loop for b in made) or (found.chain and home is scope and home.is_function):
            return None  # made anew in each step of some loop
        return cls(receiver.id, False, home.node)


def _is_list(value: ast.expr | None, entry: str | None = None) -> bool:
    """An empty one; with an `entry`, a dict that holds one there."""
    if entry is not None:
        held = zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ()
        return any(isinstance(key, ast.Constant) and key.value == entry and _is_list(made) for key, made in held)
    if isinstance(value, ast.List):
        return not value.elts
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "list" and not value.args


def uses(store: Store, sizes: Sequence[str], keys: Sequence[str] = ()) -> str:
    """`whole`, `part` or `nothing`: how much of what the list holds the program goes on to use.

    `sizes` are those of what each of its items holds, where that is a tuple, or a dict with these `keys`.
    """
    found, kinds = "nothing", (ast.Name, ast.Attribute, *([ast.Subscript] if store.dict else []))
    parents = {child: node for node in ast.walk(store.home) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(store.home):
        if not isinstance(node, kinds) or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        spelled = ast.unparse(node)
        if spelled == store.dict and not _is_entry(node, parents):
            return "whole"
        if spelled != store.spelled or _is_append(node, parents):
            continue
        if not _is_part(node, parents, sizes, keys):
            return "whole"
        found = "part"
    return found


def _is_append(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    parent = parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr == "append"


def _is_entry(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    parent = parents.get(node)
    return isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.slice, ast.Constant)


def _is_part(node: ast.AST, parents: dict[ast.AST, ast.AST], sizes: Sequence[str], keys: Sequence[str]) -> bool:
    """`xs[-1]`, `xs[-9:]`, `len(xs)`, `np.mean(xs)`, `[float(tf.reduce_mean(x)) for x in xs]`."""
    parent = parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return (
            not isinstance(parent.slice, ast.Slice) or _is_part(parent, parents, sizes, keys) or _are_last(parent.slice)
        )
    if isinstance(parent, ast.Call) and node in parent.args:
        return _last(parent.func) in REDUCES
    if isinstance(parent, ast.For) and parent.iter is node:
        return _leaves_large(parent.target, parent.body, sizes, keys)
    if isinstance(parent, ast.comprehension) and parent.iter is node:
        owner = parents.get(parent)
        part = _without_fetch(getattr(owner, "elt", None))
        reduced = isinstance(part, ast.Call) and _last(part.func) in REDUCES | {"float", "int"}
        return reduced or (owner is not None and _leaves_large(parent.target, [owner], sizes, keys))
    return False


def _are_last(part: ast.Slice) -> bool:
    return part.upper is None and isinstance(part.lower, ast.UnaryOp) and isinstance(part.lower.operand, ast.Constant)


def _leaves_large(target: ast.expr, users: Sequence[ast.AST], sizes: Sequence[str], keys: Sequence[str]) -> bool:
    """`for loss, _ in kept`: what is large in each is not read."""
    if isinstance(target, ast.Name) and keys:
        large = {key for key, size in zip(keys, sizes, strict=True) if size == "large"}
        return bool(large) and all(_reads_another(target.id, user, large) for user in users)
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(sizes) or "large" not in sizes:
        return False
    read = set().union(*(names_read(user) for user in users))
    parts = zip(target.elts, sizes, strict=True)
    return all(isinstance(part, ast.Name) and part.id not in read for part, size in parts if size == "large")


def _reads_another(name: str, user: ast.AST, large: set[str]) -> bool:
    """Whether of what goes by the name it reads entries alone, `kept["loss"]`, and none that is large."""
    inner = list(ast.walk(user))
    small = {
        node.value for node in inner
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value not in large
    }  # fmt: skip
    return all(n in small for n in inner if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))


def _without_fetch(expr: ast.expr | None) -> ast.expr | None:
    """`tf.reduce_mean(x)` of `tf.reduce_mean(x).numpy()`."""
    match expr:
        case ast.Call(func=ast.Attribute(value=made, attr="numpy" | "item"), args=[]):
            return made
    return expr


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
