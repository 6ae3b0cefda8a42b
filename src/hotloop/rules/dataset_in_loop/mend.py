"""One iterator, made before the loop, over one data set, built before it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.hoisting import assigned_name, free_name, hoist_statement
from hotloop.rules.moving import needs, put_before, refuse_stale_attributes, way_out
from hotloop.rules.once import Step, bound_names, lift, step_at
from hotloop.source.consumers import read
from hotloop.source.module import Call, Scope
from hotloop.source.project import loops_of
from hotloop.source.rewrite import Refused, Rewriter, substituted

if TYPE_CHECKING:
    from hotloop.source import Project

TITLE = "take the elements from one iterator"
ONE_SHOT = "make_one_shot_iterator"


def iterated(node: ast.Call) -> ast.Call | None:
    """`iter(x)` of `next(iter(x))`, and `x.as_numpy_iterator()` likewise."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "next" and node.args):
        return None
    inner = node.args[0]
    if not isinstance(inner, ast.Call):
        return None
    if isinstance(inner.func, ast.Name) and inner.func.id == "iter" and inner.args:
        return inner
    return inner if isinstance(inner.func, ast.Attribute) and inner.func.attr == "as_numpy_iterator" else None


def keep_one(finding: Finding, project: Project) -> Fix:
    call, step = step_at(finding, project)
    if step.chain:
        raise Refused(
            f"it is made in `{call.where.scope.name}`, which the loop calls: make the iterator once, beside the data "
            "set, and hand it in",
            call.node,
        )
    if call.where.fallible:
        raise Refused("it stands in a `try`, which may wait for the end of the data", call.node)
    rewriter = Rewriter(call.where.scope.module)
    inner = iterated(call.node)
    if inner is not None:
        _hoist_iterator(rewriter, call, inner, project)
    elif call.last.startswith("make_"):
        _hoist_one_shot(rewriter, call, project)
    else:
        _hoist_data_set(rewriter, call, step, project)
    return rewriter.fix(TITLE, "verify")


def _hoist_iterator(rewriter: Rewriter, call: Call, inner: ast.Call, project: Project) -> None:
    scope = call.where.scope
    refuse_stale_attributes([inner], scope, project)
    anchor = way_out(call.where, _needed(inner, call, project), ast.unparse(inner))
    name = free_name("batches", scope)
    put_before(rewriter, anchor, rewriter.parse_block(f"{name} = {_endless(inner, call, rewriter, project)}")[0])
    rewriter.replace(rewriter.expression(inner), rewriter.parse_expression(name))


def _needed(inner: ast.Call, call: Call, project: Project) -> dict[str, Scope]:
    """What the iterator is made of; of `self` only what is read of it must stay as it is."""
    scope = call.where.scope
    needed = needs([inner], scope, project)
    owner = scope.parameters[0] if scope.is_method and scope.parameters else ""
    read = {ast.unparse(n) for n in ast.walk(inner) if isinstance(n, ast.Attribute)}
    bare = sum(isinstance(n, ast.Name) and n.id == owner for n in ast.walk(inner)) > len(
        [n for n in ast.walk(inner) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == owner]
    )
    stored = {
        ast.unparse(n)
        for loop in loops_of(call.where)
        for n in ast.walk(loop.node)
        if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)
    }
    if owner in needed and not bare and not read & stored:
        del needed[owner]
    return needed


def _hoist_one_shot(rewriter: Rewriter, call: Call, project: Project) -> None:
    if call.last != ONE_SHOT:
        raise Refused("the iterator must be initialised, which belongs where it is made: move both by hand", call.node)
    if not assigned_name(call, "iterator") or call.where.statement is None:
        raise Refused("the iterator is part of a larger expression: give it a name first", call.node)
    scope = call.where.scope
    anchor = way_out(call.where, needs([call.node], scope, project), ast.unparse(call.node))
    made = rewriter.parse_expression(_endless(call.node, call, rewriter, project))
    hoist_statement(rewriter, call.where.statement, anchor, changes={rewriter.expression(call.node): [made]})


def _hoist_data_set(rewriter: Rewriter, call: Call, step: Step, project: Project) -> None:
    """The statements that build it, and the iterator over it."""
    asked = [
        (other, inner)
        for other in call.where.scope.module.calls
        if step.loop in loops_of(other.where) and (inner := iterated(other.node)) and _asks(inner, other, call, project)
    ]
    if len(asked) != 1:
        raise Refused("it is not asked for one element by `next(iter(...))` in the loop that builds it", call.node)
    other, inner = asked[0]
    data = _data(inner)
    seeds = [s for s in step.statements if isinstance(data, ast.Name) and data.id in bound_names(s)]
    moved = step.needs(seeds or [step.holding(call.node)])
    if step.holding(other.node) in moved:
        raise Refused("it is built and asked in one statement: give it a name first", call.node)
    step.require_movable(moved)
    name = free_name("batches", call.where.scope)
    line = rewriter.parse_block(f"{name} = {_endless(inner, other, rewriter, project)}")[0]
    changes = {rewriter.expression(inner): [rewriter.parse_expression(name)]}
    lift(rewriter, step, moved, [], change=lambda statement: substituted(statement, changes), extra=[line])


def _data(made: ast.Call) -> ast.expr:
    """The data set that an iterator is made of."""
    return made.args[0] if made.args else made.func.value  # type: ignore[attr-defined]


def _asks(inner: ast.Call, other: Call, built: Call, project: Project) -> bool:
    pipeline = read(_data(inner), other.where.scope, project)
    return pipeline is not None and pipeline.origin is not None and pipeline.origin.node is built.node


def _endless(made: ast.Call, call: Call, rewriter: Rewriter, project: Project) -> str:
    """The call that makes the iterator, over a data set that does not end."""
    data = _data(made)
    text, spelled = rewriter.code(rewriter.expression(made)), rewriter.code(rewriter.expression(data))
    pipeline = read(data, call.where.scope, project)
    if pipeline is not None and any(s.name == "repeat" and not s.call.node.args for s in pipeline.stages):
        return text
    if not isinstance(data, ast.Name | ast.Attribute | ast.Call | ast.Subscript) or text.count(spelled) != 1:
        raise Refused("the data set is written in a way that cannot be rewritten", data)
    return text.replace(spelled, f"{spelled}.repeat()")
