"""Methods of a Keras callback that run for every batch: a loop that stands in no source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hotloop.source.guards import is_guarded
from hotloop.source.module import Call, Scope

if TYPE_CHECKING:
    from hotloop.source import Project

BATCH = re.compile(r"on_((train|test|predict)_)?batch_(begin|end)$")
FAR = 2  # calls from the method to what it does


def batch_hook(call: Call, project: Project, depth: int = 0) -> Scope | None:
    """The method that Keras calls for every batch, and that makes the call each time; None where it does so seldom."""
    scope = call.where.scope
    if not scope.is_function or is_guarded(call.where) or call.where.loop is not None:
        return None
    if scope.is_method and scope.parent is not None and BATCH.match(scope.name):
        bases = project.ancestry(scope.parent)
        return scope if any(name.startswith("keras.callbacks.") for name in bases) else None
    callers = project.callers(scope) if depth < FAR else ()
    return next((hook for one in callers if (hook := batch_hook(one, project, depth + 1)) is not None), None)
