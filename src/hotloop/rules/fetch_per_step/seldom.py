"""A value that is only shown: shown every hundred steps, it is fetched as seldom."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.moving import call_at
from hotloop.source.heat import trips
from hotloop.source.module import Loop, last_name
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice

if TYPE_CHECKING:
    from hotloop.source import Project

SELDOM = 10  # steps, of fewer than a hundred
SHOWS = {"print", "info", "debug", "write", "set_postfix", "set_description"}


def show_seldom(finding: Finding, project: Project) -> Fix:
    call = call_at(project.modules[finding.place.path], finding.place)
    statement, loop = call.where.statement, call.where.loop
    shown = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    if not (shown and last_name(statement.value) in SHOWS):  # type: ignore[union-attr]
        raise Refused("which steps need the value only you can say: read it every hundred steps, or after the loop")
    if loop is None or not isinstance(loop.node, ast.For) or statement not in loop.node.body:
        raise Refused("it is not shown in each step of a plain `for`", statement)
    every = _every(trips(loop, project), statement)
    splice, counter = Splice(call.where.scope.module), _counter(loop)
    start = splice.span(statement)[0]
    indent = splice.data[splice.at(statement.lineno, 0) : start]
    unit = indent[len(splice.data[splice.at(loop.node.lineno, 0) : splice.span(loop.node)[0]]) :]
    splice.lines_of(statement)  # refuses where others share its line
    splice.insert(start, f"if {counter} % {every} == 0:".encode() + splice.line_end + indent + unit)
    return splice.fix(f"look every {every} steps: you see less, so for you to decide", "advice")


def _every(steps: float | None, statement: ast.stmt) -> int:
    """So that a loop of few steps is still looked at some times."""
    if steps is not None and steps < 2 * SELDOM:
        raise Refused(f"the loop has {steps:,.0f} steps: few enough to look at each", statement)
    return 100 if steps is None or steps >= 100 else SELDOM


def _counter(loop: Loop) -> str:
    """The name that counts the steps: of a `range`, or of `enumerate`."""
    node = loop.node
    assert isinstance(node, ast.For)
    over, target = last_name(node.iter) if isinstance(node.iter, ast.Call) else "", node.target
    if over == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    if over not in ("enumerate", "range", "trange") or not isinstance(target, ast.Name):
        raise Refused("nothing counts the steps: loop over `enumerate(...)`", node)
    return target.id
