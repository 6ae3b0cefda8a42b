"""The fix: make it once, before the loop or before the function that the loop calls."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix, Safety
from hotloop.rules.hoisting import assigned_name, free_name, hoist_expression, hoist_statement, put_above
from hotloop.rules.model_built_in_loop.made import TRAINS
from hotloop.rules.model_built_in_loop.reset import start_again
from hotloop.rules.moving import call_at, needs, not_an_elif, way_out
from hotloop.rules.once import Step, extract, step_at
from hotloop.rules.optimizers import is_stateless
from hotloop.source.module import Call
from hotloop.source.rewrite import Refused, Rewriter, without_blank_lines

if TYPE_CHECKING:
    from hotloop.source import Project

# Layers that make no variables: one is as good as many.
PLAIN_LAYERS = {
    "Activation", "Add", "AveragePooling1D", "AveragePooling2D", "Average", "CenterCrop", "Concatenate", "Cropping1D",
    "Cropping2D", "Dot", "ELU", "Flatten", "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalMaxPooling1D",
    "GlobalMaxPooling2D", "LeakyReLU", "MaxPooling1D", "MaxPooling2D", "Maximum", "Minimum", "Multiply", "Permute",
    "ReLU", "RepeatVector", "Rescaling", "Reshape", "Resizing", "Softmax", "Subtract", "UnitNormalization",
    "UpSampling1D", "UpSampling2D", "ZeroPadding1D", "ZeroPadding2D",
}  # fmt: skip
INSTEAD = "make it once for each"


def build_once(finding: Finding, project: Project, kind: str) -> Fix:
    call = call_at(project.modules[finding.place.path], finding.place)
    if finding.chain:
        return _outside_function(finding, call, kind, project)
    if kind == "model" and _is_trained(call):
        return start_again(call, project)
    what = ast.unparse(call.node.func)
    anchor = way_out(call.where, needs([call.node], call.where.scope, project), what, INSTEAD)
    anchor = not_an_elif(call.where.scope.module, anchor)
    name = assigned_name(call, kind)
    rewriter = Rewriter(call.where.scope.module)
    statement = call.where.statement
    assert statement is not None
    if name:
        hoist_statement(rewriter, statement, anchor, *_reset(rewriter, name, kind))
    else:
        name = free_name(_snake(what), call.where.scope)
        if kind == "metric":
            if statement not in getattr(getattr(call.where.loop, "node", None), "body", []):
                raise Refused("the metric is made in a block within the loop, not in each step", call.node)
            rewriter.before(rewriter.statement(statement), *_reset(rewriter, name, kind))
        hoist_expression(rewriter, call.node, name, anchor)
    return rewriter.fix(*_said(call, name, kind, project))


def _is_trained(call: Call) -> bool:
    nodes = ast.walk(call.where.loop.node) if call.where.loop else ()
    return any(isinstance(node, ast.Attribute) and node.attr in TRAINS for node in nodes)


def _reset(rewriter: Rewriter, name: str, kind: str) -> list[Any]:
    return list(rewriter.parse_block(f"{name}.reset_state()")) if kind == "metric" else []


def _snake(what: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", what.rpartition(".")[2]).lower()


def _said(call: Call, name: str, kind: str, project: Project) -> tuple[str, Safety]:
    """The title, and whether one object in the place of many gives the same numbers."""
    if kind == "metric" or _keeps_nothing(call, kind, project):
        return f"make `{name}` once, before the loop", "verify"
    memory = "state" if kind == "optimizer" else "weights"
    return f"make `{name}` once: it then keeps its {memory} from step to step", "advice"


def _keeps_nothing(call: Call, kind: str, project: Project) -> bool:
    scope = call.where.scope
    if kind == "optimizer":
        return is_stateless(call.node, scope, project)
    name = project.name_of(call.node.func, scope)
    if kind == "layer":
        return name.rpartition(".")[2] in PLAIN_LAYERS
    # `keras.Model(net.inputs, net.layers[3].output)` has the weights of the network that it is cut out of.
    cut_out = [*call.node.args, *[k.value for k in call.node.keywords]]
    return (
        name in ("keras.Model", "keras.backend.function")
        and bool(cut_out)
        and not any(
            isinstance(node, ast.Call) and project.name_of(node.func, scope).startswith("keras.layers.")
            for part in cut_out
            for node in ast.walk(part)
        )
    )


# -- in a function that a loop calls -----------------------------------------------------------------------------------


def _outside_function(finding: Finding, call: Call, kind: str, project: Project) -> Fix:
    _, step = step_at(finding, project)
    scope, statement = call.where.scope, call.where.statement
    if not isinstance(statement, ast.Assign) or statement.value is not call.node or statement not in step.statements:
        raise Refused(f"it is made anew in each call of `{scope.name}`: make it once and hand it over", call.node)
    if len(statement.targets) > 1 or not isinstance(statement.targets[0], ast.Name):
        raise Refused(f"each call of `{scope.name}` keeps its own", statement)
    if kind == "model" and any(isinstance(n, ast.Attribute) and n.attr in TRAINS for n in ast.walk(scope.node)):
        raise Refused(f"each call of `{scope.name}` trains a model of its own", call.node)
    name = statement.targets[0].id
    step.require_movable([statement])
    rewriter = Rewriter(scope.module)
    if _is_global(name, call, project):
        moved = rewriter.statement(statement)
        put_above(rewriter, scope.node, without_blank_lines(moved))  # type: ignore[arg-type]
        rewriter.replace(moved, *_reset(rewriter, name, kind))
    else:
        _remembered(rewriter, step, statement, name, kind)
    return rewriter.fix(*_said(call, name, kind, project))


def _remembered(rewriter: Rewriter, step: Step, statement: ast.stmt, name: str, kind: str) -> None:
    moved = rewriter.statement(statement)
    following = step.statements[step.statements.index(statement) + 1 :]
    extract(rewriter, step, [statement], f"make_{name}", [name], [moved])
    if kind == "metric" and following:
        rewriter.before(rewriter.statement(following[0]), *_reset(rewriter, name, kind))


def _is_global(name: str, call: Call, project: Project) -> bool:
    """Whether a plain function of the module makes it from nothing but what the module has by then."""
    scope, module = call.where.scope, call.where.scope.module
    if scope.parent is not module.scope or scope.node not in module.tree.body or name in module.scope.bindings:
        return False
    line = getattr(scope.node, "lineno", 0)
    for needed, owner in needs([call.node], scope, project).items():
        bindings = owner.bindings.get(needed, [])
        if owner is not module.scope or len(bindings) > 1:
            return False
        if any(getattr(b.node, "lineno", line) >= line or b.where.loop or b.where.tests for b in bindings):
            return False
    return True
