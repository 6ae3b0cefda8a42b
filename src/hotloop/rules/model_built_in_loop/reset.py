"""One model in the place of many that are each trained from the start: its first weights are set back."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Fix
from hotloop.rules.hoisting import assigned_name, free_name
from hotloop.rules.moving import names_in, needs, put_before, way_out
from hotloop.source.module import Call
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

PREPARES = {"add", "build", "compile", "summary"}
SHAPED = ("Input(", "input_shape=", "input_dim=", "Model(", ".build(")  # what gives a model its weights at once


def start_again(call: Call, project: Project) -> Fix:
    """Advice: every run then starts from the same weights, where each had drawn its own."""
    name = assigned_name(call, "model")
    loop = call.where.loop
    if not name or loop is None:
        raise Refused("each step trains a model of its own: make one, and set its first weights back", call.node)
    body: list[ast.stmt] = getattr(loop.node, "body", [])
    moved = _preparation(name, body, call)
    if not any(ast.unparse(part).startswith(f"{name}.compile(") for part in moved):
        raise Refused(f"where `{name}` is compiled cannot be seen", call.node)
    if not any(word in ast.unparse(part) for part in moved for word in SHAPED):
        raise Refused(f"`{name}` has no weights until it is trained: give it an `Input` first", call.node)
    scope = call.where.scope
    needed = needs(moved, scope, project)
    needed = {n: at for n, at in needed.items() if n not in names_in(moved).binds}
    anchor = way_out(call.where, needed, name, "each step needs a model of its own")
    rewriter = Rewriter(scope.module)
    start = free_name("start", scope)
    state = f"{name}.variables + {name}.optimizer.variables"
    keep = f"{name}.optimizer.build({name}.trainable_variables)\n{start} = [v.numpy() for v in {state}]"
    back = f"for variable, value in zip({state}, {start}):\n    variable.assign(value)"
    first, *rest = [rewriter.statement(part) for part in moved]
    rewriter.before(rewriter.statement(anchor), *rest, *rewriter.parse_block(keep))
    put_before(rewriter, anchor, first)
    rewriter.replace(first, *rewriter.parse_block(back))
    for part in rest:
        rewriter.replace(part)
    return rewriter.fix(f"build `{name}` once and set its first state back for each run", "advice")


def _preparation(name: str, body: list[ast.stmt], call: Call) -> list[ast.stmt]:
    """`model = ...`, and the `model.add(...)`s and `model.compile(...)` that follow it."""
    statement = call.where.statement
    assert statement is not None
    found = [statement]
    for following in body[body.index(statement) + 1 :]:
        value = following.value if isinstance(following, ast.Expr) else None
        func = value.func if isinstance(value, ast.Call) else None
        if not (isinstance(func, ast.Attribute) and ast.unparse(func.value) == name and func.attr in PREPARES):
            break
        found.append(following)
    return found
