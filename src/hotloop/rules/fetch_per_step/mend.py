"""Several runs of a session with one feed become one run that fetches a list."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.fetch_per_step.runs import Group, groups, updates
from hotloop.rules.fetch_per_step.seldom import show_seldom
from hotloop.rules.moving import statements_around
from hotloop.source.module import Call, names_read, names_stored
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice

if TYPE_CHECKING:
    from hotloop.source import Project

NOTHING = "_"


def fetch_together(finding: Finding, project: Project) -> Fix:
    module = project.modules[finding.place.path]
    group = next((g for g in groups(module, project) if g.calls[1].place == finding.place), None)
    if group is None:
        return show_seldom(finding, project)
    _require_quiet(group)
    splice, first = Splice(module), group.calls[0]
    parts = [part for call in group.calls for part in _fetched(call, splice)]
    argument, statement = first.node.args[0], _statement(first)
    run = splice.data[splice.span(first.node)[0] : splice.span(argument)[0]].decode()
    rest = splice.data[splice.span(argument)[1] : splice.span(first.node)[1]].decode()
    targets, fetches = ", ".join(target for target, _ in parts), ", ".join(fetch for _, fetch in parts)
    if NOTHING in [target for target, _ in parts] and NOTHING in names_read(first.where.scope.node):
        raise Refused("`_` is a name that is read here", statement)
    splice.replace(splice.span(statement), f"{targets} = {run}[{fetches}]{rest}")
    for call in group.calls[1:]:
        splice.remove(_statement(call), statements_around(module, _statement(call)))
    late = group.trains and not updates(group.calls[-1], project)
    if late:
        return splice.fix("fetch them in one run: the values are then those before the update", "advice")
    return splice.fix("fetch them in one run", "verify")


def _statement(call: Call) -> ast.Assign | ast.Expr:
    statement = call.where.statement
    if not isinstance(statement, ast.Assign | ast.Expr):
        raise Refused("the run is part of a larger statement", call.node)
    return statement


def _fetched(call: Call, splice: Splice) -> list[tuple[str, str]]:
    """What the run is asked for, and what each goes into."""
    fetch, statement = call.node.args[0], _statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
        raise Refused("the result goes into several names", statement)
    if not isinstance(fetch, ast.List | ast.Tuple):
        if isinstance(target, ast.Tuple | ast.List):
            raise Refused("what it fetches is not spelled out", fetch)
        return [(splice.text(target) if target is not None else NOTHING, splice.text(fetch))]
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [None] * len(fetch.elts)
    if len(targets) != len(fetch.elts) or (target is not None and targets[:1] == [None]):
        raise Refused("its results are kept as one list", statement)
    if any(isinstance(part, ast.Starred) for part in (*targets, *fetch.elts)):
        raise Refused("what it fetches is not spelled out", fetch)
    texts = [splice.text(part) if part is not None else NOTHING for part in targets]
    return list(zip(texts, [splice.text(part) for part in fetch.elts], strict=True))


def _require_quiet(group: Group) -> None:
    """Values come earlier than before: nothing in between may look at their names, or make what is fetched."""
    block = statements_around(group.calls[0].where.scope.module, _statement(group.calls[0]))
    mine = [_statement(call) for call in group.calls]
    between = block[block.index(mine[0]) : block.index(mine[-1])]
    session = ast.unparse(getattr(group.calls[0].node.func, "value", group.calls[0].node.func))
    for other in between:
        if other not in mine and any(ast.unparse(n) == session for n in ast.walk(other) if isinstance(n, ast.expr)):
            raise Refused(f"`{session}` is used in between", other)
    for call, statement in zip(group.calls[1:], mine[1:], strict=True):
        stored, needed = set(names_stored(statement)), names_read(call.node)
        if isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Name | ast.Tuple | ast.List):
            raise Refused("a result goes into something else than a name", statement)
        for earlier in between[: between.index(statement)] if statement in between else between:
            read = names_read(earlier) & stored
            if read and earlier not in mine:
                raise Refused(f"`{min(read)}` is still read as it was before", earlier)
            if set(names_stored(earlier)) & (needed | stored) - {NOTHING}:
                raise Refused(f"`{min(set(names_stored(earlier)) & (needed | stored))}` is bound in between", earlier)
