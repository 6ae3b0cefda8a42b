"""NumPy arrays of a program: which type they are seen to have, and whether something changes them in place."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from hotloop.rules.moving import mutated_names
from hotloop.source.module import Module, Scope

if TYPE_CHECKING:
    from hotloop.source import Project

CAST = re.compile(r"^(?:np|tf)\.(\w+)$")
# Calls that give a sequence, of which some show its type.
TYPE_AT = {"np.zeros": 1, "np.ones": 1, "np.empty": 1, "np.array": 1, "np.asarray": 1, "np.full": 2}
SEQUENCES = re.compile(r"^np\.|\.load_data$|train_test_split$|^(list|sorted)$")


def array_type(expr: ast.expr, scope: Scope, project: Project, depth: int = 0) -> str | None:
    """`float32`, say; "" where it is a sequence of a type that is not seen, None where it may be something else."""
    if depth > 4:
        return None
    if isinstance(expr, ast.List | ast.ListComp):
        return ""
    if isinstance(expr, ast.BinOp):
        sides = [array_type(side, scope, project, depth + 1) for side in (expr.left, expr.right)]
        return "" if any(side is not None for side in sides) else None
    if not isinstance(expr, ast.Call):
        return None
    func = expr.func
    if isinstance(func, ast.Attribute) and func.attr == "astype" and len(expr.args) == 1:
        return _spelled_type(expr.args[0], scope, project)
    name = project.name_of(func, scope)
    if SEQUENCES.search(name):
        given = [k.value for k in expr.keywords if k.arg == "dtype"] or expr.args[TYPE_AT.get(name, 9) :][:1]
        return _spelled_type(given[0], scope, project) if given else ""
    if isinstance(func, ast.Attribute) and func.attr in ("reshape", "copy", "transpose"):
        return array_type(func.value, scope, project, depth + 1)
    return None


def _spelled_type(expr: ast.expr, scope: Scope, project: Project) -> str:
    value = project.resolve(expr, scope)
    if value is not None and isinstance(value.constant, str):
        return value.constant
    match = CAST.match(value.name) if value is not None else None
    return match[1] if match else ""


def changed_in_place(name: str, module: Module) -> ast.AST | None:
    """Where the object behind a name is changed: `x[0] = 1`, `x += 1`, `np.random.shuffle(x)`."""
    for call in module.called.get("shuffle", ()):
        if any(ast.unparse(argument) == name for argument in call.node.args):
            return call.node
    for node in ast.walk(module.tree):
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name:
            return node
        stored = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if stored and ast.unparse(node.value) == name:  # type: ignore[attr-defined]
            return node
    return mutated_names(module.tree).get(name)
