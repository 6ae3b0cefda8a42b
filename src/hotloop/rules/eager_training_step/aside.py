"""What stands between the tape and the update and can as well follow: `losses.append(loss.numpy())`, some metrics."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from hotloop.rules.eager_training_step.metrics import updates_one_of_several
from hotloop.rules.moving import names_in
from hotloop.rules.tracing import refuse_python
from hotloop.source.module import Context
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project


def stays_behind(statements: list[ast.stmt], where: Context, what: str, project: Project) -> list[ast.stmt]:
    """Those of the statements that only look at what was computed, and hand nothing on to the rest."""
    found: list[ast.stmt] = []
    for index, statement in enumerate(statements[:-1]):
        aside = _is_python(statement, where, what, project) or updates_one_of_several(statement, where, project)
        if index and aside:
            rest = [s for s in statements if s is not statement and s not in found]
            if _only_looks(statement, statements[:index], rest, where):
                found.append(statement)
    return found


def _is_python(statement: ast.stmt, where: Context, what: str, project: Project) -> bool:
    if not isinstance(statement, ast.Expr | ast.AugAssign):
        return False
    try:
        refuse_python([statement], where.scope, what, project)
    except Refused:
        return True
    return False


def _only_looks(statement: ast.stmt, before: list[ast.stmt], rest: list[ast.stmt], where: Context) -> bool:
    """What it reads must be results of the step, or nothing that the step knows: a variable has another value later."""
    names, around = names_in([statement]), names_in(rest)
    if set(names.binds) & {*around.reads, *around.binds}:
        return False
    results = set(names_in(before).binds)
    after = names_in([s for s in rest if s.lineno > statement.lineno])
    if set(names.reads) & set(after.binds):
        return False
    foreign = {n for n in set(names.reads) - results - set(dir(builtins)) if not _is_fixed(n, where)}
    return not foreign & set(around.reads)


def _is_fixed(name: str, where: Context) -> bool:
    """A module, or what the loop counts or goes over."""
    owner = where.scope.owner(name)
    bindings = owner.bindings[name] if owner else []
    return bool(bindings) and all(b.kind in ("import", "target") for b in bindings)
