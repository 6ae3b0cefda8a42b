"""How large the tensor is that an expression holds: `large`, `scalar`, or "" when it is none or nobody knows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from hotloop.rules.names import is_model
from hotloop.source.module import Binding, Scope

if TYPE_CHECKING:
    from hotloop.source import Project
    from hotloop.source.project import Value

SCALARS = (
    "tf.reduce_mean", "tf.reduce_sum", "tf.reduce_max", "tf.reduce_min", "tf.math.reduce_mean", "tf.math.reduce_sum",
    "keras.losses.", "tf.losses.", "tf.nn.l2_loss", "tf.norm", "tf.linalg.norm", "keras.metrics.", "keras.ops.mean",
    "keras.ops.sum",
)  # fmt: skip
# Ops that keep the size of what they are given.
KEEPS = (
    "tf.nn.relu", "tf.nn.softmax", "tf.nn.sigmoid", "tf.sigmoid", "tf.tanh", "tf.nn.tanh", "tf.identity", "tf.abs",
    "tf.square", "tf.stop_gradient", "tf.clip_by_value", "tf.cast", "tf.nn.dropout",
)  # fmt: skip
DEPTH = 6


def size_of(expr: ast.expr, scope: Scope, project: Project, depth: int = 0) -> str:
    if depth > DEPTH:
        return ""
    if isinstance(expr, ast.Name):
        return _size_of_name(expr, scope, project, depth)
    if isinstance(expr, ast.BinOp):
        return _largest([size_of(side, scope, project, depth + 1) for side in (expr.left, expr.right)])
    if isinstance(expr, ast.Call):
        return _size_of_call(expr, scope, project, depth)
    return _largest(parts_of(expr, scope, project, depth))


def parts_of(expr: ast.expr, scope: Scope, project: Project, depth: int = 0) -> list[str]:
    """The size of each of several values: of `(loss, y)`, or of what a function returns so; none where it is one."""
    if depth > DEPTH:
        return []
    if isinstance(expr, ast.Tuple | ast.List) and not any(isinstance(part, ast.Starred) for part in expr.elts):
        return [size_of(part, scope, project, depth + 1) for part in expr.elts]
    if keys_of(expr):
        return [size_of(part, scope, project, depth + 1) for part in cast("ast.Dict", expr).values]
    if isinstance(expr, ast.Name):
        last = _last_binding(expr, scope, project)
        return parts_of(last.value, scope, project, depth + 1) if last and last.kind == "assign" and last.value else []
    if isinstance(expr, ast.Call):
        callee = project.resolve(*_compiled(expr.func, scope, project))
        returned = _returned(callee)
        return parts_of(returned, callee.scope, project, depth + 1) if callee and callee.scope and returned else []
    return []


def keys_of(expr: ast.expr) -> list[str]:
    """Of `{"loss": loss, "y": y}`, one for each of its parts; none of anything else."""
    keys = expr.keys if isinstance(expr, ast.Dict) else []
    named = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return named if len(named) == len(keys) else []


def _largest(sizes: list[str]) -> str:
    return "large" if "large" in sizes else "scalar" if "scalar" in sizes else ""


def _last_binding(expr: ast.Name, scope: Scope, project: Project) -> Binding | None:
    """The one before, in the same function."""
    before = [b for b in project.bindings(expr.id, scope) if getattr(b.node, "lineno", 0) <= expr.lineno]
    return before[-1] if before and before[-1].where.scope is scope else None


def _size_of_name(expr: ast.Name, scope: Scope, project: Project, depth: int) -> str:
    last = _last_binding(expr, scope, project)
    if last is None or last.kind not in ("assign", "other") or last.value is None:
        return ""
    if last.kind == "assign":
        return size_of(last.value, scope, project, depth + 1)
    parts, index = parts_of(last.value, scope, project, depth + 1), _position(last)
    if index is not None and index < len(parts):
        return parts[index]
    # One of several results of a call: which, and how large, is not known.
    return "scalar" if size_of(last.value, scope, project, depth + 1) else ""


def _position(binding: Binding) -> int | None:
    """Which of several results it is: 1 for `y` of `loss, y = step(x)`."""
    targets: list[ast.expr] = getattr(binding.node, "targets", [])
    for target in targets:
        names = [getattr(part, "id", "*") for part in getattr(target, "elts", [])]
        if binding.name in names and not any(isinstance(part, ast.Starred) for part in target.elts):  # type: ignore[attr-defined]
            return names.index(binding.name)
    return None


def _compiled(func: ast.expr, scope: Scope, project: Project) -> tuple[ast.expr, Scope]:
    """`net` of `infer = tf.function(net)`, and where that stands; else what was given."""
    made: tuple[ast.expr, Scope] | None = (func, scope)
    if isinstance(func, ast.Name):
        made = project.literal(func.id, scope)
    elif isinstance(func, ast.Attribute) and scope.is_method and scope.parent and ast.unparse(func.value) == "self":
        bound = scope.parent.attributes.get(func.attr, [])
        made = (bound[0].value, bound[0].where.scope) if len(bound) == 1 and bound[0].value else None
    if made and isinstance(made[0], ast.Call) and made[0].args:
        if project.name_of(made[0].func, made[1]) in ("tf.function", "tf.function()"):
            return made[0].args[0], made[1]
    return func, scope


def _returned(callee: Value | None) -> ast.expr | None:
    """What a function of the project returns, where that is said once."""
    if callee is None or callee.kind not in ("function", "traced") or callee.scope is None:
        return None
    return callee.scope.returns[0] if len(callee.scope.returns) == 1 else None


def _size_of_call(expr: ast.Call, scope: Scope, project: Project, depth: int) -> str:
    func, home = _compiled(expr.func, scope, project)
    value = project.resolve(func, home)
    name = value.name if value else ""
    if name == "tf.GradientTape().gradient":
        return "large"
    if ")." in name or (func is expr.func and isinstance(func, ast.Call)):
        return ""  # a method of a result, such as `numpy`; or `Dense(8)(x)`, which builds a model
    if name.startswith(SCALARS):
        along_an_axis = any(k.arg == "axis" for k in expr.keywords) or (".reduce_" in name and len(expr.args) > 1)
        return "" if along_an_axis else "scalar"
    if name.startswith(KEEPS) and expr.args:
        return size_of(expr.args[0], scope, project, depth + 1)
    if is_model(name) or (name.startswith("keras.layers.") and name.endswith("()")):
        return "large"  # the call of a model or layer: `keras.Model()` is the instance
    if value is not None and value.kind == "object" and value.scope is not None:
        bases = [f"{base}()" for base in project.ancestry(value.scope)]
        return "large" if any(is_model(base) or base.startswith("keras.layers.") for base in bases) else ""
    returned = _returned(value)
    return size_of(returned, value.scope, project, depth + 1) if value and value.scope and returned else ""
