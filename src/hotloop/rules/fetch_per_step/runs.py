"""Several `session.run` calls of one step that could be one."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.rules.moving import mutated_names
from hotloop.rules.names import SESSION_OBJECTS
from hotloop.source.module import Call, Comprehension, Module, last_name, names_read, names_stored

if TYPE_CHECKING:
    from hotloop.source import Project

UPDATES = re.compile(
    r"train|optim|update|apply|assign|minimize|enqueue|initiali[sz]|\bstep\b|solver|iterator|next"
    r"|sync|copy"
)
DRAWS = re.compile(r"next|rand|sample|noise|draw|shuffle|pop|read|uniform|normal(?!i)|choice|batch")
PLAIN = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
# What is not computed, or not once, where the statement is.
APART = (ast.Lambda, Comprehension, ast.IfExp, ast.BoolOp)


@dataclass(frozen=True)
class Run:
    """`session.run(fetch, feed)`, or `fetch.eval(feed)`, which is a run of the default session."""

    call: Call
    fetch: ast.expr
    feed: ast.expr
    session: str  # as it is spelled; "" is the default one

    @property
    def key(self) -> tuple[str, str]:
        return self.session, ast.unparse(self.feed)

    @property
    def statement(self) -> ast.stmt:
        assert self.call.where.statement is not None
        return self.call.where.statement

    @property
    def is_whole(self) -> bool:
        """`x = session.run(...)` or bare, and nothing else."""
        return isinstance(self.statement, ast.Assign | ast.Expr) and self.statement.value is self.call.node


@dataclass(frozen=True)
class Group:
    """Runs of one session with one feed, one after the other in the same block."""

    runs: tuple[Run, ...]  # each fetches something else
    times: int  # with those that fetch the same again
    trains: bool  # one of them changes variables
    update: Run | None = None  # one before them that does, so that they would fetch other values with it


def groups(module: Module, project: Project) -> Iterator[Group]:
    calls = (*module.calls_of("run"), *module.calls_of("eval"))
    runs = {run.call.node: run for call in calls if (run := _run(call, project))}
    held = Counter(id(run.statement) for run in runs.values())
    for block in _blocks(runs.values(), held):
        group: list[Run] = []
        for statement in block:
            here = [runs[node] for node in _at_once(statement) if node in runs] if id(statement) in held else []
            if group and _disturbs(statement, group[-1], len(here)):
                yield from _told(group, project)
                group = []
            for run in here:
                if group and run.key != group[-1].key:
                    yield from _told(group, project)
                    group = []
                group.append(run)
            if group and here and _rebinds(statement, group[-1]):
                yield from _told(group, project)
                group = []
        yield from _told(group, project)


def _told(group: list[Run], project: Project) -> Iterator[Group]:
    updated = [updates(run, project) for run in group]
    # Two updates in one run have no order: they stay apart. What is fetched before one and after it, too.
    if sum(updated) > 1 or (any(updated) and not updated[0] and not updated[-1]):
        return
    different = {ast.unparse(run.fetch): run for run in reversed(group)}
    runs, first = tuple(reversed(different.values())), group[0] if group and updated[0] else None
    if first is not None and len(runs) > 2:
        yield Group(runs[1:], len(group) - 1, False, first)
    elif len(runs) > 1:  # not one run, nor the same again on purpose
        yield Group(runs, len(group), any(updated))


def updates(run: Run, project: Project) -> bool:
    """Whether a run changes variables."""
    spelled = f"{ast.unparse(run.fetch)} {project.name_of(run.fetch, run.call.where.scope)}".lower()
    return UPDATES.search(spelled) is not None


def _run(call: Call, project: Project) -> Run | None:
    """In a plain statement of a loop or of a function, with a feed that two calls can have in common."""
    func = call.node.func
    if not isinstance(func, ast.Attribute) or not isinstance(call.where.statement, PLAIN):
        return None
    if call.where.loop is None and not call.where.scope.is_function:
        return None
    run = _run_of_session(call, func, project) if func.attr == "run" else _run_of_tensor(call, func, project)
    return run if run and not _draws(run.feed) else None


def _run_of_session(call: Call, func: ast.Attribute, project: Project) -> Run | None:
    feed = call.argument(1, "feed_dict")
    if not call.node.args or feed is None:
        return None  # each run without a feed may draw the next element
    receiver = project.resolve(func.value, call.where.scope)
    if receiver is not None and receiver.name:
        is_session = receiver.name in SESSION_OBJECTS
    else:
        is_session = re.search(r"sess", ast.unparse(func.value).lower()) is not None
    return Run(call, call.node.args[0], feed, ast.unparse(func.value)) if is_session else None


def _run_of_tensor(call: Call, func: ast.Attribute, project: Project) -> Run | None:
    named = {keyword.arg: keyword.value for keyword in call.node.keywords}
    feed = call.argument(0, "feed_dict")
    if len(call.node.args) > 1 or not named.keys() <= {"feed_dict", "session"}:
        return None
    if feed is None or not ("feed_dict" in named or isinstance(feed, ast.Dict)):
        return None  # many things have an `eval`
    receiver = project.resolve(func.value, call.where.scope)
    if receiver is not None and not re.match(r"tf\.|keras\.|\w+$", receiver.name):
        return None  # known to be something else
    return Run(call, func.value, feed, ast.unparse(named["session"]) if "session" in named else "")


def _draws(feed: ast.expr) -> bool:
    """`{x: next(batches)}` spelled twice is two feeds."""
    return any(isinstance(node, ast.Call) and DRAWS.search(last_name(node.func)) for node in ast.walk(feed))


def _at_once(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of a statement that are made each time it runs, as they stand there."""
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node) if not isinstance(node, APART) else ():
        yield from _at_once(child)


def _rebinds(statement: ast.stmt, run: Run) -> bool:
    """Something goes into what the next run would be fed."""
    return bool({*names_stored(statement), *mutated_names(statement)} & names_read(run.feed))


def _disturbs(statement: ast.stmt, last: Run, known: int) -> bool:
    """May change the feed, the session or the order: between two runs only plain statements pass."""
    if not isinstance(statement, PLAIN) or (not known and _rebinds(statement, last)):
        return True
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    runs = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr in ("run", "eval")]
    return len(runs) > known


def _blocks(runs: Iterable[Run], held: Counter[int]) -> Iterator[list[ast.stmt]]:
    """The blocks whose statements hold at least two of these."""
    seen: set[int] = set()
    for scope in {run.call.where.scope: None for run in runs} if held.total() > 1 else ():
        for node in ast.walk(scope.node):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if not isinstance(block, list) or id(block) in seen:
                    continue
                if sum(held[id(statement)] for statement in block) > 1:
                    seen.add(id(block))
                    yield block
