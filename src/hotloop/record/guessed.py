"""Loops of code that was compiled before anybody watched: their steps told from what happened in them."""

from __future__ import annotations

import ast
import linecache
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hotloop.model import Event, LoopRun, Place, Recording, Series

# What happens once whenever its line is run. Those of them that come in two kinds are counted together.
ONCE = {
    "apply": "apply",
    "call": "call",
    "evaluate": "evaluate",
    "fit": "fit",
    "gradient": "gradient",
    "input": "input",
    "load": "load",
    "predict": "predict",
    "session.cold": "session.run",
    "session.run": "session.run",
}
APART = 0.2  # of a loop's time, by which the times of its steps may miss it


def with_guessed_loops(recording: Recording, sources: Mapping[str, str]) -> Recording:
    """As many steps as a line straight inside the loop ran. `sources`: where a text is that lies not below the root."""
    loops: dict[str, list[tuple[Place, str, str]]] = {}
    root = Path(str(recording.meta.get("root", ".")))
    happened: dict[tuple[Place, str, str], dict[tuple[int, str], list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in recording.events:
        if event.kind not in ONCE:
            continue
        for frame in event.stack:
            if frame.path not in loops:
                loops[frame.path] = _loops(frame.path, sources.get(frame.path) or str(root / frame.path))
            around = [loop for loop in loops[frame.path] if _in_a_step(loop[0], loop[1], frame.line, event.kind)]
            if around:
                innermost = max(around, key=lambda loop: (loop[0].line, loop[0].col))
                happened[innermost][frame.line, ONCE[event.kind]].append(event)
                break
    found = [_run(recording, loop, max(lines.values(), key=_count)) for loop, lines in happened.items()]
    known = {run.place.line for run in recording.loops if not run.stack}
    return replace(recording, loops=(*recording.loops, *(run for run in found if run.place.line not in known)))


def _in_a_step(place: Place, kind: str, line: int, event: str) -> bool:
    """The header of a `for` is run before its first step, except that it asks for the next element."""
    if not place.line <= line <= place.end_line:
        return False
    return line > place.line or kind != "for" or place.end_line == place.line or event == "input"


def _count(events: Sequence[Event]) -> int:
    return sum(event.count for event in events)


def _run(recording: Recording, loop: tuple[Place, str, str], events: Sequence[Event]) -> LoopRun:
    """`events`: what happened on the line that tells the steps."""
    place, kind, function = loop
    steps = _count(events)
    inside = [sample for sample in recording.samples if any(place.covers(frame) for frame in sample.stack)]
    seconds = sum(sample.seconds for sample in inside)
    each, clock = _times(events, seconds)
    if not each.at:
        starts = [event.first for event in recording.events if any(place.covers(frame) for frame in event.stack)]
        each = Series("step", "s", (0.0,), (round(seconds / steps, 9),))
        clock = Series("clock", "s", (0.0,), (min(starts, default=0.0),))
    return LoopRun(place, kind, function, 1, steps, round(seconds, 6), each, clock)


def _times(events: Sequence[Event], seconds: float) -> tuple[Series, Series]:
    """Step times, from when it happened: of many times every second, every fourth, ... was kept. None where the loop
    was entered again and again, with other work between."""
    times = events[0].times if len(events) == 1 else ()
    if len(times) < 2 or abs(times[-1] - times[0] - seconds) > APART * seconds:
        return Series("step", "s"), Series("clock", "s")
    every = 1
    while (events[0].count - 1) // every + 1 > len(times):
        every *= 2
    at = tuple(float(index * every) for index in range(len(times) - 1))
    each = tuple(round((after - before) / every, 9) for before, after in pairwise(times))
    return Series("step", "s", at, each), Series("clock", "s", at, times[:-1])


def _loops(path: str, filename: str) -> list[tuple[Place, str, str]]:
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError, RecursionError):
        return []  # a cell with a magic line in it
    found: list[tuple[Place, str, str]] = []
    _collect(tree, path, (), found)
    return found


def _collect(node: ast.AST, path: str, scope: tuple[str, ...], found: list[tuple[Place, str, str]]) -> None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = (*scope, node.name)
    kind = (
        "for" if isinstance(node, ast.For | ast.AsyncFor)
        else "while" if isinstance(node, ast.While)
        else "comprehension" if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp)
        else ""
    )  # fmt: skip
    if kind and isinstance(node, ast.stmt | ast.expr):
        end_line, end_col = node.end_lineno or node.lineno, node.end_col_offset or 0
        place = Place(path, node.lineno, node.col_offset, end_line, end_col)
        found.append((place, kind, ".".join(scope)))
    for child in ast.iter_child_nodes(node):
        _collect(child, path, scope, found)
