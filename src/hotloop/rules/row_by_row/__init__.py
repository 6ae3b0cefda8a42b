"""Rows of a tensor are worked on one by one, where the ops in use take all of them at once.

**Why**

`tf.map_fn` runs its function once per row in a `while` loop: a handful of small ops for each row, one after the other.
A Python loop over rows with a `tf.stack` at its end sends every op from Python, or, in a `tf.function`, unrolls into as
many copies as there are rows. Elementwise ops, reductions and matrix products have a batched form that does all rows in
one kernel.

**Instead**

Write it for the whole tensor: `tf.reduce_sum(x * w, axis=1)`, `tf.gather(x, indices)`, `tf.einsum`, an `axis` one
higher than for a row. `tf.vectorized_map(f, x)` in place of `tf.map_fn(f, x)` does it without a rewrite.

**Not when**

The function decides by what it sees, works on rows of different lengths, decodes images or text, or draws random
numbers. Nor when all rows at once do not fit in memory: `map_fn` holds one row's intermediate results at a time. Where
each row is broadcast against another array (its distance to every point of a set), rows times points times numbers are
held at once: write it with a matrix product, or take some hundred rows at a time. The fix leaves these alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Cost, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named
from hotloop.rules.loops import InLoop, each, in_loop, outside_loops
from hotloop.rules.row_by_row.memory import met_by_row, met_in_function
from hotloop.rules.vectors import (
    index_of,
    is_batched,
    is_batched_function,
    is_one_tensor,
    is_tensor,
    only_indexes,
    rows_of,
    rows_taken,
)
from hotloop.source.heat import loop_heat, trips
from hotloop.source.module import Call, Loop, Module, names_read, names_stored, place_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
MANY_ROWS = 8
QUICK = 1e-4  # seconds a row: calling costs about a third of that, so that little is left for work

MAPS = {"tf.map_fn", "keras.backend.map_fn"}
JOINS = {"tf.stack", "tf.convert_to_tensor", "tf.concat", "keras.ops.stack"}
SPARING = {"parallel_iterations", "swap_memory", "back_prop"}  # said on purpose, for memory


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call, name in named(module, project, MAPS | JOINS):
            if name in MAPS:
                yield from _mapped(call, project)
            elif call.node.args:
                yield from _joined(call, module, project)


# -- tf.map_fn ---------------------------------------------------------------------------------------------------------


def _mapped(call: Call, project: Project) -> Iterator[Finding]:
    function, rows = call.argument(0, "fn"), call.argument(1, "elems")
    if function is None or rows is None or "ragged" in ast.unparse(call.node).lower():
        return
    passed = project.resolve(function, call.where.scope)
    if passed is None or passed.kind != "function" or passed.scope is None:
        return
    if not is_batched_function(passed.scope, project):
        return
    found = in_loop(project, call.where)  # eagerly, that is: each op of each row sent from Python
    sure: Confidence = "high" if found is not None and found.confidence == "high" else "medium"
    if any(keyword.arg in SPARING for keyword in call.node.keywords):
        sure = "low"
    met = met_in_function(passed.scope, project)
    cure = _in_parts(met) if met else "Write it for the whole tensor, or use `tf.vectorized_map`."
    message = (
        f"`{ast.unparse(call.node.func)}` runs its function once per row of `{_short(rows)}`, and all that it does "
        f"works on whole batches. {cure}"
    )
    sure = "medium" if met and sure == "high" else sure
    yield RULE.finding(call.place, message, **outside_loops(call.where, sure))


def _in_parts(met: str) -> str:
    return (
        f"Write it for many rows, but not for all at once if every row with all of `{met}` may not fit in memory: "
        "some hundred at a time."
    )


def _short(expr: ast.expr) -> str:
    text = ast.unparse(expr)
    return text if len(text) <= 40 else text[:37] + "..."


# -- a Python loop and a stack -----------------------------------------------------------------------------------------


def _joined(call: Call, module: Module, project: Project) -> Iterator[Finding]:
    parts = call.node.args[0]
    if isinstance(parts, ast.ListComp):
        loop = next((lp for lp in module.loops if lp.node is parts), None)
        work = [parts.elt]
    elif isinstance(parts, ast.Name):
        appended = _appended(parts.id, call, module)
        loop, work = appended if appended else (None, [])
    else:
        return
    found = _over_rows(loop, work, project) if loop else None
    if found:
        met = met_by_row(work, set(names_stored(found.loop.node)), found.loop.where.scope, project)
        place = place_of(module, found.loop.node if not isinstance(parts, ast.ListComp) else call.node)
        message = (
            f"Rows are worked on one by one {each(found, place)} and put together by `{ast.unparse(call.node.func)}`: "
            f"these ops take all rows at once. {_in_parts(met) if met else 'Write it for the whole tensor.'}"
        )
        found = found.lowered() if met and found.confidence == "high" else found
        yield RULE.finding(place, message, **found.where)


def _appended(name: str, join: Call, module: Module) -> tuple[Loop, list[ast.expr]] | None:
    """The one loop that appends to a list, and all that it computes; None when it does more than that."""
    appends = [
        call for call in module.calls
        if call.where.scope is join.where.scope and ast.unparse(call.node.func) == f"{name}.append"
    ]  # fmt: skip
    loop = appends[0].where.loop if len(appends) == 1 else None
    if loop is None or not isinstance(loop.node, ast.For) or loop is join.where.loop:
        return None
    work: list[ast.expr] = []
    assigned: set[str] = set()
    last = loop.node.body[-1]
    for statement in loop.node.body[:-1]:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
            return None
        target = statement.targets[0].id
        if target in names_read(statement.value) - assigned:
            return None  # carried over from the step before
        assigned.add(target)
        work.append(statement.value)
    if not (isinstance(last, ast.Expr) and last.value is appends[0].node):
        return None
    return loop, [*work, *appends[0].node.args]


def _over_rows(loop: Loop, work: list[ast.expr], project: Project) -> InLoop | None:
    index = index_of(loop, project)
    scope = loop.where.scope
    if index is None:
        return _over_elements(loop, work, project)
    if not only_indexes(work, index, scope, project) or not is_batched(work, scope, project):
        return None
    taken = [whole for one in work for whole, _ in rows_taken(one, index, scope, project)]
    if not any(is_tensor(whole, loop.where, project) for whole in taken):
        return None
    return _as_hot_as(loop, project)


def _asks_for_kind(test: ast.expr) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "isinstance" for n in ast.walk(test))


def _over_elements(loop: Loop, work: list[ast.expr], project: Project) -> InLoop | None:
    """`for row in x`: how many there are the source does not say, and a list of tensors may be called so too."""
    rows, scope = rows_of(loop, project), loop.where.scope
    if any(_asks_for_kind(test) for test in loop.where.tests):
        return None  # `if isinstance(x, list)`: there it is a list of tensors
    if not rows or not all(is_one_tensor(whole, loop.where, project) for whole in rows.values()):
        return None
    used = set().union(*(names_read(one) for one in work))
    if not used & set(rows) or not is_batched(work, scope, project):
        return None
    found = _as_hot_as(loop, project)
    return found.lowered() if trips(loop, project) is None else found


def _as_hot_as(loop: Loop, project: Project) -> InLoop:
    heat = loop_heat(loop, project)
    sure: dict[str, Confidence] = {"hot": "high", "warm": "medium", "cold": "low"}
    told = outside_loops(loop.where, sure[heat])["confidence"]
    return InLoop(loop, (), heat, told)  # type: ignore[arg-type]


def diagnose(recording: Recording) -> Iterator[Finding]:
    for event in recording.of_kind("map_fn"):
        rows = event.totals.get("rows", 0.0) / event.count
        calls = [e for e in recording.of_kind("call") if e.stack == event.stack] if event.subject else []
        first = sum(
            e.totals.get("first_run_seconds", 0.0) for e in recording.of_kind("trace.first") if e.stack == event.stack
        )
        spent = sum(e.seconds for e in calls) - first if event.subject else event.seconds
        times = sum(e.count for e in calls) if event.subject else event.count
        if rows < MANY_ROWS or times < measured.FEW or spent / (times * rows) > QUICK:
            continue  # few rows, or each is so much work that calling is not the cost
        place = measured.at_line(event.subject) if event.subject else event.place
        yield measured.told(
            RULE, recording, place, spent * (1 - 1 / rows),
            f"`map_fn` went through {words.count(round(rows))} rows one by one, {words.count(times)} times {{cost}}: "
            f"{words.duration(spent / (times * rows))} a row. Write the function for all rows at once.",
            measured.loop_of(recording, event),
            [Evidence("rows", rows), Evidence("calls", times)],
            confidence="medium",
        )  # fmt: skip


def price(finding: Finding, recording: Recording) -> Cost | None:
    """A Python loop over rows leaves no event."""
    return measured.sent_one_by_one(recording, finding.place, MANY_ROWS)


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.row_by_row.vectorise import vectorise

    return vectorise(finding, project)
