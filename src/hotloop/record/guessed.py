"""Loops of code that was compiled before anybody watched: their steps told from what happened in them."""

from __future__ import annotations

import ast
import linecache
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hotloop.model import LoopRun, Place, Recording, Series

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


def with_guessed_loops(recording: Recording, sources: Mapping[str, str]) -> Recording:
    """As many steps as a line straight inside the loop ran. `sources`: where a text is that lies not below the root."""
    loops: dict[str, list[tuple[Place, str, str]]] = {}
    root = Path(str(recording.meta.get("root", ".")))
    counts: dict[tuple[Place, str, str], dict[tuple[int, str], int]] = defaultdict(lambda: defaultdict(int))
    for event in recording.events:
        if event.kind not in ONCE:
            continue
        for frame in event.stack:
            if frame.path not in loops:
                loops[frame.path] = _loops(frame.path, sources.get(frame.path) or str(root / frame.path))
            around = [loop for loop in loops[frame.path] if _in_a_step(loop[0], loop[1], frame.line, event.kind)]
            if around:
                innermost = max(around, key=lambda loop: (loop[0].line, loop[0].col))
                counts[innermost][frame.line, ONCE[event.kind]] += event.count
                break
    found = [_run(recording, loop, max(lines.values())) for loop, lines in counts.items()]
    known = {run.place.line for run in recording.loops if not run.stack}
    return replace(recording, loops=(*recording.loops, *(run for run in found if run.place.line not in known)))


def _in_a_step(place: Place, kind: str, line: int, event: str) -> bool:
    """The header of a `for` is run before its first step, except that it asks for the next element."""
    if not place.line <= line <= place.end_line:
        return False
    return line > place.line or kind != "for" or place.end_line == place.line or event == "input"


def _run(recording: Recording, loop: tuple[Place, str, str], steps: int) -> LoopRun:
    place, kind, function = loop
    inside = [sample for sample in recording.samples if any(place.covers(frame) for frame in sample.stack)]
    seconds = sum(sample.seconds for sample in inside)
    starts = [event.first for event in recording.events if any(place.covers(frame) for frame in event.stack)]
    each = Series("step", "s", (0.0,), (round(seconds / steps, 9),))
    clock = Series("clock", "s", (0.0,), (min(starts, default=0.0),))
    return LoopRun(place, kind, function, 1, steps, round(seconds, 6), each, clock)


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
