"""The switch taken out, where nothing in the file is seen to need it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.switches import setting_at, take_out
from hotloop.source.module import Module
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice

if TYPE_CHECKING:
    from hotloop.source import Project

TITLE = "compile the steps again"
STEPS = {"train_step", "test_step", "predict_step", "call", "update_state", "compute_loss"}


def switched_off(finding: Finding, project: Project) -> Fix:
    module = project.modules[finding.place.path]
    _require_compilable(module, project)
    node = setting_at(finding, project)
    if isinstance(node, ast.Call) and any(k.arg is None for k in node.keywords):
        raise Refused("`run_eagerly` is among options that are set elsewhere: take it out there", node)
    named = _by_name(node)
    if named is None:
        return take_out(finding, project, "run_eagerly").fix(TITLE, "verify")
    found = project.literal(named.id, module.contexts[node].scope)
    if found is None:
        raise Refused(f"where `{named.id}` is set cannot be seen", named)
    value, scope = found
    splice = Splice(scope.module)
    splice.replace(splice.span(value), "False")
    return splice.fix(TITLE, "verify")


def _by_name(node: ast.Call | ast.Assign) -> ast.Name | None:
    """`EAGER` of `run_eagerly=EAGER`."""
    values = (
        [*node.args, *[k.value for k in node.keywords if k.arg == "run_eagerly"]] if isinstance(node, ast.Call) else []
    )
    return next((v for v in values[-1:] if isinstance(v, ast.Name)), None)


def _require_compilable(module: Module, project: Project) -> None:
    """Refuses where a step is seen to do what works eagerly alone, or happens once when it is compiled."""
    for call in (*module.called.get("numpy", ()), *module.called.get("print", ())):
        scope = call.where.scope
        if (scope.is_method and scope.name in STEPS) or project.traced(call.where):
            shown = ast.unparse(call.node)[:40]
            raise Refused(f"`{scope.name}` calls `{shown}`, which compiled fails, or happens once", call.node)
    for scope in module.scopes:
        for node in ast.walk(scope.node) if scope.is_method and scope.name in STEPS else ():
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
                raise Refused(f"`{scope.name}` changes `{ast.unparse(node.target)}`, once when it is compiled", node)
