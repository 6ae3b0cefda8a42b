"""How large the tensor is that an expression holds: `large`, `scalar`, or "" when it is none or nobody knows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.rules.names import is_model
from hotloop.source.module import Scope

if TYPE_CHECKING:
    from hotloop.source import Project

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
        sizes = {size_of(side, scope, project, depth + 1) for side in (expr.left, expr.right)}
        return "large" if "large" in sizes else "scalar" if "scalar" in sizes else ""
    if isinstance(expr, ast.Call):
        return _size_of_call(expr, scope, project, depth)
    return ""


def _size_of_name(expr: ast.Name, scope: Scope, project: Project, depth: int) -> str:
    before = [b for b in project.bindings(expr.id, scope) if getattr(b.node, "lineno", 0) <= expr.lineno]
    last = before[-1] if before else None
    if last is None or last.kind not in ("assign", "other") or last.where.scope is not scope or last.value is None:
        return ""
    size = size_of(last.value, scope, project, depth + 1)
    # One of several results of a call: which, and how large, is not known.
    return "scalar" if last.kind == "other" and size else size


def _size_of_call(expr: ast.Call, scope: Scope, project: Project, depth: int) -> str:
    value = project.resolve(expr.func, scope)
    name = value.name if value else ""
    if name == "tf.GradientTape().gradient":
        return "large"
    if ")." in name or isinstance(expr.func, ast.Call):
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
    if value is not None and value.kind in ("function", "traced") and value.scope is not None:
        sizes = [size_of(returned, value.scope, project, depth + 1) for returned in value.scope.returns]
        return sizes[0] if len(sizes) == 1 else ""
    return ""
