"""What a function that is compiled once would no longer notice: names that change, numbers that are new each time."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.rules.loops import in_loop
from hotloop.rules.moving import change_of, needs
from hotloop.source.flow import changing_number
from hotloop.source.module import Scope
from hotloop.source.project import argument_for
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project


def refuse_new_function_per_step(scope: Scope, project: Project) -> None:
    if scope.where is not None and (scope.where.loop or in_loop(project, scope.where)):
        raise Refused(
            f"`{scope.name}` is defined anew in a loop and would be traced anew: define it once, before the loop",
            scope.node,
        )


def refuse_changing_numbers(scope: Scope, project: Project) -> None:
    for call in project.callers(scope):
        for name in scope.parameters:
            argument = argument_for(call, scope, name)
            if argument is not None and changing_number(argument, call.where, project):
                shown = f"`{ast.unparse(argument)}` at {call.place}"
                raise Refused(
                    f"`{name}` is a Python number that changes ({shown}): each value would be traced anew. "
                    "Pass a tensor first"
                )


def refuse_stale_names(scope: Scope, project: Project) -> None:
    """A compiled function keeps what it saw of the names around it when it was traced."""
    outside = scope.where.scope if scope.where else scope
    for name, owner in sorted(needs([scope.node], outside, project).items(), key=lambda item: item[0]):
        for loop in owner.module.loops:
            culprit = change_of(name, owner, loop)
            if culprit is not None:
                line = getattr(culprit, "lineno", 0)
                raise Refused(
                    f"`{scope.name}` reads `{name}`, which a loop changes on line {line}: pass it as an argument first",
                    culprit if owner.module is scope.module else None,
                )
        _refuse_rebound(scope, name, owner, project)


def _refuse_rebound(scope: Scope, name: str, owner: Scope, project: Project) -> None:
    """`model = a(); step(); model = b(); step()`."""
    calls = [c.node.lineno for c in project.callers(scope) if c.where.scope is owner]
    bindings = owner.bindings.get(name, [])
    later = [b.node for b in bindings if calls and getattr(b.node, "lineno", 0) > min(calls)]
    if later and len(bindings) > 1:
        line = getattr(later[0], "lineno", 0)
        raise Refused(
            f"`{scope.name}` reads `{name}`, which gets another value on line {line}: pass it as an argument first",
            later[0] if owner.module is scope.module else None,
        )
