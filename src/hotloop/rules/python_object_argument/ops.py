"""Whether a compiled function does nothing with an argument but hand it to TensorFlow's ops."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.source.module import Scope
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 4  # of the project's own functions, one calling the other
AS_PYTHON = {"tf.function", "tf.name_scope", "tf.py_function", "tf.numpy_function", "tf.constant_initializer"}


def require_only_in_ops(parameter: str, function: Scope, project: Project, depth: int = DEPTH) -> None:
    """Raises Refused where it is needed as Python: a string in `+`, a list that is counted."""
    if parameter not in function.parameters:
        raise Refused(f"`{function.name}` takes `{parameter}` among others (`*args`, `**kwargs`)", function.node)
    parents = {child: node for node in ast.walk(function.node) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(function.node):
        if not (isinstance(node, ast.Name) and node.id == parameter):
            continue
        parent = parents[node]
        call = parents[parent] if isinstance(parent, ast.keyword) else parent
        keyword = parent.arg if isinstance(parent, ast.keyword) else ""
        if (
            not isinstance(call, ast.Call)
            or call.func is node
            or not _takes(call, node, keyword, function, project, depth)
        ):
            shown = ast.unparse(call if isinstance(call, ast.expr) else node)
            shown = shown if len(shown) <= 50 else shown[:47] + "..."
            raise Refused(f"`{function.name}` needs `{parameter}` as a Python value: `{shown}`", node, function.module)


def _takes(call: ast.Call, node: ast.expr, keyword: str | None, function: Scope, project: Project, depth: int) -> bool:
    target = project.resolve(call.func, function)
    if target is None:
        return False
    if target.kind in ("function", "traced") and target.scope is not None and depth:
        names = target.scope.parameters[1:] if target.scope.is_method else target.scope.parameters
        index = next((i for i, argument in enumerate(call.args) if argument is node), len(names))
        parameter = keyword or (names[index] if index < len(names) else "")
        require_only_in_ops(parameter, target.scope, project, depth - 1)
        return True
    return target.name.startswith("tf.") and target.name not in AS_PYTHON and keyword not in ("name", "shape", "axis")
