"""Which names that a block of statements binds are still read after it has run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hotloop.rules.moving import names_in
from hotloop.source.module import Function

BLOCKS = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Kill:
    """A name is bound anew, for all that is read between two lines."""

    name: str
    start: int
    end: int


def read_later(statements: list[ast.stmt], scope: ast.AST, loop: ast.stmt) -> dict[str, ast.AST]:
    """Names read outside the statements, where their value may come from them: after, or in the next step of `loop`."""
    first, last = statements[0].lineno, statements[-1].end_lineno or 0
    inside = {id(node) for statement in statements for node in ast.walk(statement)}
    kills = [kill for kill in _kills(scope) if not first <= kill.start <= last]
    found: dict[str, ast.AST] = {}
    for name, node, line in _reads(scope):
        since = last if line > last else loop.lineno  # from where the value would come on its way to the read
        killed = any(k.name == name and since <= k.start < line <= k.end for k in kills)
        if id(node) not in inside and line >= loop.lineno and not killed:
            found.setdefault(name, node)
    return found | _read_in_functions(scope, inside)


def carried(names: Iterable[str], statements: list[ast.stmt], scope: ast.AST, loop: ast.stmt) -> set[str]:
    """Of names that the statements read and then bind, those whose value comes from the step before."""
    first = statements[0].lineno
    fresh = {kill.name for kill in _kills(scope) if loop.lineno <= kill.start < first <= kill.end}
    return set(names) - fresh


def read_before_bound(statement: ast.stmt) -> set[str]:
    """Names that a statement reads where it has not surely bound them itself: `y` of `if x: y = 1` and then `y`."""
    kills = list(_kills(ast.Module([statement], [])))
    return {
        name
        for name, _, line in _reads(statement)
        if not any(k.name == name and k.start < line <= k.end for k in kills)
    }


def _reads(scope: ast.AST) -> Iterator[tuple[str, ast.AST, int]]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id, node, node.lineno
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.target, node.lineno


def _read_in_functions(scope: ast.AST, inside: set[int]) -> dict[str, ast.AST]:
    """What functions of the scope read from it: nobody knows when they run."""
    found: dict[str, ast.AST] = {}
    for node in ast.walk(scope):
        if node is not scope and isinstance(node, Function) and id(node) not in inside:
            found.update(names_in([node]).reads)
    return found


def _kills(scope: ast.AST) -> Iterator[Kill]:
    for parent in ast.walk(scope):
        for name in BLOCKS:
            block = getattr(parent, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield from _kills_in(block, block[-1].end_lineno or 0)


def _kills_in(block: list[ast.stmt], end: int) -> Iterator[Kill]:
    for statement in block:
        if isinstance(statement, ast.For | ast.AsyncFor):
            start, stop = statement.iter.end_lineno or 0, statement.end_lineno or 0
            bound = names_in([statement.target])
        elif isinstance(statement, ast.With | ast.AsyncWith):
            start, stop, bound = statement.lineno, end, names_in(statement.items)
            yield from _kills_in(statement.body, end)  # which always runs
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom):
            start, stop, bound = statement.end_lineno or 0, end, names_in([statement])
        else:
            continue
        for name in bound.binds:
            yield Kill(name, start, stop)
