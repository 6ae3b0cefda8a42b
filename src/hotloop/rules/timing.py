"""Loops that nobody waits for: a benchmark repeats on purpose, and a dialogue waits for a person."""

from __future__ import annotations

import ast

from hotloop.source.module import Context, Loop, names_read
from hotloop.source.project import Project

CLOCKS = {"time.time", "time.perf_counter", "time.monotonic", "time.process_time", "timeit.default_timer"}
TIMERS = {"timeit.timeit", "timeit.repeat", "timeit.Timer"}


def is_timing(where: Context, loop: Loop, project: Project) -> bool:
    """Whether code, in the loop that it runs in, is a timing: handed to `timeit`, or repeated between two clocks."""
    return _is_timed(where, project) or _is_timed(loop.where, project) or _is_repeated_by_the_clock(loop, project)


def is_dialogue(loop: Loop) -> bool:
    """Whether each step asks somebody: next to typing an answer, nothing takes long."""
    if b"input(" not in loop.where.scope.module.data:
        return False
    calls = (node for node in ast.walk(loop.node) if isinstance(node, ast.Call))
    return any(isinstance(call.func, ast.Name) and call.func.id in ("input", "raw_input") for call in calls)


def _is_timed(where: Context, project: Project) -> bool:
    """`timeit.timeit(lambda: ...)`."""
    node, home = where.scope.node, where.scope.parent
    if not isinstance(node, ast.Lambda) or home is None:
        return False
    calls = (call for call in where.scope.module.calls if node in call.node.args)
    return any(project.name_of(call.node.func, call.where.scope) in TIMERS for call in calls)


def _is_repeated_by_the_clock(loop: Loop, project: Project) -> bool:
    """`start = clock(); for _ in range(n): ...; (clock() - start) / n`: the same again, for its mean time."""
    node, count = loop.node, loop.iterable
    if not (isinstance(node, ast.For) and isinstance(count, ast.Call) and len(count.args) == 1):
        return False
    if project.name_of(count.func, loop.where.scope) != "range" or any(_reads(s, loop.targets) for s in node.body):
        return False
    scope = loop.where.scope
    starts = {
        name
        for name, bindings in scope.bindings.items()
        for b in bindings
        if isinstance(b.value, ast.Call) and project.name_of(b.value.func, scope) in CLOCKS
    }
    body = scope.node.body if isinstance(scope.node.body, list) else []
    after = [s for s in body if s.lineno > (node.end_lineno or node.lineno)] if starts else []
    means = (n for s in after for n in ast.walk(s) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div))
    times = ast.dump(count.args[0])
    return any(_is_elapsed(mean.left, starts) and ast.dump(mean.right) == times for mean in means)


def _reads(node: ast.AST, names: set[str]) -> bool:
    return bool(names_read(node) & names)


def _is_elapsed(expr: ast.expr, starts: set[str]) -> bool:
    minus = isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Sub)
    return minus and isinstance(expr, ast.BinOp) and _reads(expr.right, starts)
