"""Several `session.run` calls of one step that could be one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.rules.names import SESSION_OBJECTS
from hotloop.source.module import Call, Module, names_read, names_stored

if TYPE_CHECKING:
    from hotloop.source import Project

UPDATES = re.compile(
    r"train|optim|update|apply|assign|minimize|enqueue|initiali[sz]|\bstep\b|solver|iterator|next"
    r"|sync|copy"
)


@dataclass(frozen=True)
class Group:
    """Runs of one session with one feed, one after the other in the same block."""

    calls: tuple[Call, ...]
    trains: bool  # one of them changes variables


def groups(module: Module, project: Project) -> Iterator[Group]:
    runs = {id(call.where.statement): call for call in module.calls_of("run") if _is_run(call, project)}
    for block in _blocks(list(runs.values())):
        group: list[Call] = []
        for statement in block:
            call = runs.get(id(statement))
            if call is not None and group and _key(call) == _key(group[-1]):
                group.append(call)
            elif call is not None:
                yield from _told(group, project)
                group = [call]
            elif group and _disturbs(statement, group[-1]):
                yield from _told(group, project)
                group = []
            if group and call is not None and _rebinds(statement, call):
                yield from _told(group, project)
                group = []
        yield from _told(group, project)


def _told(group: list[Call], project: Project) -> Iterator[Group]:
    if len({ast.unparse(call.node.args[0]) for call in group}) < max(2, len(group)):
        return  # one run, or the same again on purpose
    updated = [updates(call, project) for call in group]
    # Two updates in one run have no order: they stay apart.
    if sum(updated) < 2 and not (any(updated) and not updated[0] and not updated[-1]):
        yield Group(tuple(group), any(updated))


def updates(call: Call, project: Project) -> bool:
    """Whether a run changes variables."""
    fetched = call.node.args[0]
    spelled = f"{ast.unparse(fetched)} {project.name_of(fetched, call.where.scope)}".lower()
    return UPDATES.search(spelled) is not None


def _is_run(call: Call, project: Project) -> bool:
    """A whole statement, `x = sess.run(fetches, feed)` or bare, in a loop or in a function."""
    func, statement = call.node.func, call.where.statement
    if not (isinstance(func, ast.Attribute) and func.attr == "run" and len(call.node.args) >= 1):
        return False
    if not isinstance(statement, ast.Assign | ast.Expr) or statement.value is not call.node or _feed(call) is None:
        return False
    if call.where.loop is None and not call.where.scope.is_function:
        return False
    receiver = project.resolve(func.value, call.where.scope)
    if receiver is not None and receiver.name:
        return receiver.name in SESSION_OBJECTS
    return re.search(r"sess", ast.unparse(func.value).lower()) is not None


def _feed(call: Call) -> ast.expr | None:
    return call.argument(1, "feed_dict")


def _key(call: Call) -> tuple[str, str]:
    feed = _feed(call)
    return ast.unparse(call.node.func), ast.unparse(feed) if feed is not None else ""


def _rebinds(statement: ast.stmt, call: Call) -> bool:
    """The result goes into what the next run would be fed."""
    feed = _feed(call)
    return feed is not None and bool(set(names_stored(statement)) & names_read(feed))


def _disturbs(statement: ast.stmt, last: Call) -> bool:
    """May change the feed, the session or the order: between two runs only plain statements pass."""
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr) or _rebinds(statement, last):
        return True
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any(isinstance(node.func, ast.Attribute) and node.func.attr == "run" for node in calls)


def _blocks(runs: list[Call]) -> Iterator[list[ast.stmt]]:
    """The blocks that hold at least two of these."""
    statements = {id(call.where.statement) for call in runs}
    for scope in {call.where.scope for call in runs} if len(runs) > 1 else ():
        for node in ast.walk(scope.node):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and sum(id(statement) in statements for statement in block) > 1:
                    yield block
