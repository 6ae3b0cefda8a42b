"""Which statements of a loop are its step: from the tape to the last update, and what they need and hand on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.rules.eager_training_step import UPDATES
from hotloop.rules.eager_training_step.aside import stays_behind
from hotloop.rules.eager_training_step.live import carried, read_before_bound, read_later
from hotloop.rules.eager_training_step.metrics import updates_metric
from hotloop.rules.moving import names_in
from hotloop.rules.tracing import refuse_python
from hotloop.source.module import Context, Function, Scope
from hotloop.source.project import loops_of
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project

NAME = "train_step"
LOOPS = (ast.For, ast.AsyncFor, ast.While)
BRANCHES = (*LOOPS, ast.If, ast.Match, ast.Try)


@dataclass(frozen=True)
class Block:
    """Statements of one scope that become a function: what they need, bind and hand on."""

    statements: list[ast.stmt]
    needed: list[str]
    bound: list[str]
    returned: list[str]


def step_from(first: ast.stmt, around: list[ast.stmt], where: Context, metrics: bool, project: Project) -> Block:
    """From the tape, or a call that returns gradients, to the last update; what follows stays outside if it must.

    `metrics`: those that are updated right after that belong to it.
    """
    start = around.index(first)
    tapes = set(names_in(first.items).binds) if isinstance(first, ast.With | ast.AsyncWith) else set()
    ends = [i for i in range(start, len(around)) if _updates(around[i], tapes, around[start:i])]
    least = max((i for i in ends if _is_essential(around[i], tapes)), default=None)
    if least is None:
        raise Refused("the gradients are taken in another block than the tape", first)
    while metrics and max(ends) + 1 < len(around) and updates_metric(around[max(ends) + 1], where, project):
        ends.append(max(ends) + 1)
    for end in sorted((i for i in ends if i >= least), reverse=True):
        behind = stays_behind(around[start : end + 1], where, NAME, project)
        statements = [statement for statement in around[start : end + 1] if statement not in behind]
        try:
            _refuse_leaving(statements)
            refuse_python(statements, where.scope, NAME, project)
            return _measured(statements, where, tapes, set(names_in(behind).reads))
        except Refused:
            if end == least:
                raise
    raise AssertionError("the last candidate returns or raises")


def _updates(statement: ast.stmt, tapes: set[str], before: list[ast.stmt]) -> bool:
    """Whether a statement takes gradients, or updates something by what was computed since the tape."""
    reads = set(names_in([statement]).reads)
    computed = tapes | set(names_in(before).binds)
    return any(call.attr in UPDATES | {"gradient"} for call in _methods(statement)) and bool(
        reads & computed or isinstance(statement, ast.With)
    )


def _is_essential(statement: ast.stmt, tapes: set[str]) -> bool:
    for call in _methods(statement):
        taken = call.attr == "gradient" and isinstance(call.value, ast.Name) and call.value.id in tapes
        if taken or call.attr in ("apply_gradients", "apply", "minimize", "assign_sub"):
            return True
    return False


def _methods(statement: ast.stmt) -> Iterator[ast.Attribute]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func


def _refuse_leaving(statements: list[ast.stmt]) -> None:
    """Statements that act on the loop or the function around the block."""
    stack: list[tuple[ast.AST, bool]] = [(statement, False) for statement in statements]
    while stack:
        node, inner = stack.pop()
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not inner):
            word = type(node).__name__.lower()
            raise Refused(f"the `{word}` between the tape and the update cannot move into a function", node)
        if not isinstance(node, Function):
            stack += [(child, inner or isinstance(node, LOOPS)) for child in ast.iter_child_nodes(node)]


def _measured(statements: list[ast.stmt], where: Context, tapes: set[str], behind: set[str]) -> Block:
    """`behind`: what Python reads that stood between the statements and now follows the call."""
    scope = where.scope
    outermost = [loop.node for loop in loops_of(where)][-1]
    later = read_later(statements, scope.node, outermost)  # type: ignore[arg-type]
    inside = names_in(statements)
    outside = _bound_outside(statements, scope)
    needed: dict[str, None] = {}
    bound: set[str] = set()
    for statement in _flat(statements):
        names = names_in([statement] if not isinstance(statement, ast.With) else statement.items)
        simple = not isinstance(statement, BRANCHES)
        # In a compound statement, a name that only the block itself binds is bound there before it is read.
        early = set(names.reads) if simple else outside & read_before_bound(statement)
        reads = [n for n in names.reads if n not in bound and n in early]
        needed.update(dict.fromkeys(reads))
        bound |= set(names.binds) if simple else set()
    unset = [n for n in needed if n in inside.binds and not _bound_before(n, statements[0], scope)]
    if unset:
        raise Refused(f"`{unset[0]}` may have no value yet where the step begins", inside.binds[unset[0]])
    again = carried((n for n in needed if n in inside.binds), statements, scope.node, outermost)  # type: ignore[arg-type]
    returned = [name for name in inside.binds if name in later or name in again or name in behind]
    for name in returned:
        if name in tapes:
            raise Refused(f"the tape `{name}` is used after the update", later.get(name))
    shared = [n for n in inside.binds if n in scope.outer_names]
    if shared:
        raise Refused(f"`{shared[0]}` is a global variable that the step sets", inside.binds[shared[0]])
    return Block(statements, list(needed), list(inside.binds), returned)


def _bound_before(name: str, first: ast.stmt, scope: Scope) -> bool:
    bindings = scope.bindings.get(name, [])
    return any(b.kind == "parameter" or getattr(b.node, "lineno", 0) < first.lineno for b in bindings)


def _flat(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in the order they run; the body of a `with` always runs."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.With):
            yield from _flat(statement.body)


def _bound_outside(statements: list[ast.stmt], scope: Scope) -> set[str]:
    """Names that the scope binds anywhere but in these statements."""
    first, last = statements[0].lineno, statements[-1].end_lineno or 0
    return {
        name
        for name, bindings in scope.bindings.items()
        if any(b.kind == "parameter" or not first <= getattr(b.node, "lineno", 0) <= last for b in bindings)
    }
