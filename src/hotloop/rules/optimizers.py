"""Which optimizers remember nothing from step to step: one of those is as good as a new one for each."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotloop.source import Project
    from hotloop.source.module import Scope

PLAIN = {"keras.optimizers.SGD", "tf.optimizers.SGD", "keras.optimizers.legacy.SGD"}
REMEMBERS = {"momentum", "nesterov", "decay", "weight_decay", "use_ema", "gradient_accumulation_steps"}
RATES = {"learning_rate", "lr"}


def is_stateless(optimizer: ast.expr, scope: Scope, project: Project) -> bool:
    """Gradient descent without momentum, and without a schedule that counts the steps."""
    if isinstance(optimizer, ast.Constant):
        return str(optimizer.value).lower() == "sgd"
    if not isinstance(optimizer, ast.Call) or project.name_of(optimizer.func, scope) not in PLAIN:
        return False
    if len(optimizer.args) > 1 or any(k.arg is None or k.arg in REMEMBERS for k in optimizer.keywords):
        return False
    rate = rate_of(optimizer)
    return rate is None or ".schedules." not in project.name_of(rate, scope)


def rate_of(optimizer: ast.Call) -> ast.expr | None:
    """The learning rate that an optimizer is made with: its first argument, or the keyword."""
    return next((k.value for k in optimizer.keywords if k.arg in RATES), optimizer.args[0] if optimizer.args else None)
