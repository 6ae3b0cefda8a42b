"""Data that is called or drawn as a batch, and its rows."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from hotloop.source.module import Call

if TYPE_CHECKING:
    from hotloop.source import Project

BATCH = re.compile(r"(?:^|[^a-z])(?:mini_?)?batch(?!_?size|es|_?norm|e)|(?:^|\.|_)(?:sample\w*|choice)\(")


def is_row_of_batch(data: ast.expr, call: Call, project: Project) -> bool:
    """`for state, action in minibatch: fit(state, ...)`."""
    loop = call.where.loop
    if not (isinstance(data, ast.Name) and loop and data.id in loop.targets and loop.iterable is not None):
        return False
    iterable, scope = loop.iterable, call.where.scope
    if isinstance(iterable, ast.Call) and project.name_of(iterable.func, scope) in ("enumerate", "zip", "tqdm.tqdm"):
        return any(BATCH.search(ast.unparse(a)) for a in iterable.args) and not BATCH.search(data.id)
    return BATCH.search(ast.unparse(iterable)) is not None and not BATCH.search(data.id)
