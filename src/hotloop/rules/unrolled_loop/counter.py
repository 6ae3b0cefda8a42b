"""What a loop does with its counter: whether a tensor can count in the place of a Python number."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.rules.vectors import is_tensor
from hotloop.source.module import Loop
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project

TAKES = {"tf.cast", "tf.gather", "tf.one_hot", "tf.equal", "tf.identity", "tf.random.experimental.stateless_fold_in"}
METHODS = {"read", "write", "gather"}  # of a TensorArray
WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


def refuse_python_counter(node: ast.For, loop: Loop, project: Project) -> None:
    """Refuses where the counter is needed as a Python number."""
    if not isinstance(node.target, ast.Name):
        raise Refused("the loop counts in several names", node.target)
    name = node.target.id
    parents = {
        child: parent for part in node.body for parent in ast.walk(part) for child in ast.iter_child_nodes(parent)
    }
    for inner in list(parents):
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load):
            if not _is_served(inner, parents, loop, project):
                at = parents[inner] if isinstance(parents[inner], ast.expr) else inner
                reason = f"`{ast.unparse(at)}` needs `{name}` as a Python number: cast it first"
                raise Refused(reason, inner)
    end = node.end_lineno or 0
    for later in ast.walk(loop.where.scope.node):
        if isinstance(later, ast.Name) and later.id == name and isinstance(later.ctx, ast.Load) and later.lineno > end:
            raise Refused(f"`{name}` is read after the loop", later)


def _is_served(node: ast.AST, parents: dict[ast.AST, ast.AST], loop: Loop, project: Project) -> bool:
    """An index of a tensor, or an argument of an op that wants a whole number."""
    parent = parents[node]
    while isinstance(parent, ast.BinOp | ast.Slice | ast.Tuple):
        if isinstance(parent, ast.BinOp) and not _is_whole(parent, node):
            return False
        node, parent = parent, parents.get(parent, parent)
        if parent is node:
            return False
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return isinstance(node, ast.Tuple) or _is_tensor(parent.value, loop, project)
    if isinstance(parent, ast.Call) and parent.func is not node:
        method = isinstance(parent.func, ast.Attribute) and parent.func.attr in METHODS
        return method or project.name_of(parent.func, loop.where.scope) in TAKES
    return False


def _is_whole(sum_: ast.BinOp, node: ast.AST) -> bool:
    other = sum_.right if sum_.left is node else sum_.left
    return isinstance(sum_.op, WHOLE) and isinstance(other, ast.Constant) and type(other.value) is int


def _is_tensor(expr: ast.expr, loop: Loop, project: Project) -> bool:
    """An op's result, or what the compiled function is handed."""
    if is_tensor(expr, loop.where, project):
        return True
    scope = loop.where.scope
    own = scope.parameters[1:] if scope.is_method else scope.parameters
    return isinstance(expr, ast.Name) and expr.id in own and project.is_compiled(scope)
