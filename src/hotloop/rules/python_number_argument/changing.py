"""The arguments of a call that are Python numbers and change from step to step of a loop, however far away it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.rules.compiled import arguments
from hotloop.rules.loops import FAR, InLoop, ways
from hotloop.source.flow import changing_along
from hotloop.source.heat import loop_heat
from hotloop.source.module import Call, Scope

if TYPE_CHECKING:
    from hotloop.source import Project


@dataclass(frozen=True)
class Changing:
    argument: ast.expr
    name: str  # of the parameter
    there: InLoop


def changing_arguments(call: Call, callee: Scope | None, project: Project) -> Iterator[Changing]:
    """Each argument once, where it changes in the hottest way that the call runs."""
    left = [one for one in arguments(call, callee) if not isinstance(one[0], ast.Constant)]
    for running, found in ways(project, call.where) if left else ():
        for argument, name in tuple(left):
            changing = changing_along(argument, call.where.scope, running, project)
            if changing is None:
                continue
            left.remove((argument, name))
            there = InLoop(*changing, found.heat, found.confidence)
            if there.chain and loop_heat(there.loop, project) == "cold":
                there = InLoop(*changing, "cold", "low")
            elif len(there.chain) > FAR >= len(found.chain):
                there = there.lowered()
            yield Changing(argument, name, there)
