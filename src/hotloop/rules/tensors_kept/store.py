"""The list that something is appended to, and what becomes of what it holds."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.source.module import Call

if TYPE_CHECKING:
    from hotloop.rules.loops import InLoop
    from hotloop.source import Project

# What needs one number of each, or one of all.
REDUCES = {"mean", "sum", "max", "min", "std", "var", "median", "average", "reduce_mean", "reduce_sum", "reduce_max",
           "reduce_min", "len", "print", "add_n", "norm", "global_norm"}  # fmt: skip


@dataclass(frozen=True)
class Store:
    """A list that outlives the step: a local made before the loop, or an attribute."""

    spelled: str
    is_attribute: bool
    home: ast.AST  # all that may read it

    @classmethod
    def of(cls, receiver: ast.expr, call: Call, found: InLoop, project: Project) -> Store | None:
        scope = call.where.scope
        if isinstance(receiver, ast.Attribute) and isinstance(receiver.value, ast.Name) and scope.is_method:
            owner = scope.parent
            made = owner.attributes.get(receiver.attr, []) if owner and receiver.value.id == "self" else []
            if not any(_is_list(b.value) for b in made) or any(b.where.scope.name != "__init__" for b in made):
                return None  # unknown, bounded, or emptied now and then
            return cls(ast.unparse(receiver), True, scope.module.tree)
        if not isinstance(receiver, ast.Name):
            return None
        made = project.bindings(receiver.id, scope)
        if not made or not all(_is_list(b.value) for b in made) or any(b.kind != "assign" for b in made):
            return None
        home = made[0].where.scope
        if any(b.where.loop for b in made) or (found.chain and home is scope and home.is_function):
            return None  # made anew in each step of some loop
        return cls(receiver.id, False, home.node)


def _is_list(value: ast.expr | None) -> bool:
    if isinstance(value, ast.List):
        return not value.elts
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "list" and not value.args


def uses(store: Store, append: Call) -> str:
    """`whole`, `part` or `nothing`: how much of what the list holds the program goes on to use."""
    found = "nothing"
    parents = {child: node for node in ast.walk(store.home) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(store.home):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if ast.unparse(node) != store.spelled or _is_append(node, parents):
            continue
        if not _is_part(node, parents):
            return "whole"
        found = "part"
    return found


def _is_append(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    parent = parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr == "append"


def _is_part(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """`xs[-1]`, `len(xs)`, `np.mean(xs)`, `[float(tf.reduce_mean(x)) for x in xs]`."""
    parent = parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return not isinstance(parent.slice, ast.Slice)
    if isinstance(parent, ast.Call) and node in parent.args:
        return _last(parent.func) in REDUCES
    if isinstance(parent, ast.comprehension):
        owner = parents.get(parent)
        part = _without_fetch(getattr(owner, "elt", None))
        return isinstance(part, ast.Call) and _last(part.func) in REDUCES | {"float", "int"}
    return False


def _without_fetch(expr: ast.expr | None) -> ast.expr | None:
    """`tf.reduce_mean(x)` of `tf.reduce_mean(x).numpy()`."""
    match expr:
        case ast.Call(func=ast.Attribute(value=made, attr="numpy" | "item"), args=[]):
            return made
    return expr


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
