"""Recordings made by hand, for tests that need no TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from types import ModuleType
from typing import Any

from hotloop.model import Event, Exit, Finding, LoopRun, Place, Recording, Sample, Series
from hotloop.rules import Rule

PROGRAM = "train.py"


def loop(
    line: int,
    end_line: int,
    steps: Sequence[float],
    *,
    path: str = PROGRAM,
    kind: str = "for",
    start: float = 0.0,
    yields: bool = False,
    runs: int = 1,
    stack: tuple[Place, ...] = (),
) -> LoopRun:
    """A loop over lines `line`..`end_line` whose steps took `steps` seconds, entered at `start`."""
    at = tuple(float(index) for index in range(len(steps)))
    clock = tuple(accumulate(steps, initial=start))[: len(steps)]
    return LoopRun(
        place=Place(path, line, 0, end_line, 80),
        kind=kind,
        function="main",
        runs=runs,
        steps=len(steps),
        seconds=sum(steps),
        step_seconds=Series("step", "seconds", at, tuple(steps)),
        clock=Series("clock", "seconds", at, clock),
        yields=yields,
        stack=stack,
    )


def sample(phase: str, seconds: float, *lines: int, path: str = PROGRAM) -> Sample:
    """Seconds in one phase, under the user's frames on `lines`, innermost first."""
    return Sample(phase, tuple(Place(path, line) for line in lines), seconds, count=max(1, int(seconds * 100)))


def memory(seconds: float, level: Callable[[float], float]) -> Series:
    at = tuple(index * seconds / 200 for index in range(201))
    return Series("rss", "bytes", at, tuple(level(t) for t in at))


def recording(
    loops: Iterable[LoopRun] = (),
    samples: Iterable[Sample] = (),
    *,
    seconds: float = 10.0,
    events: Iterable[Event] = (),
    rss: Series | None = None,
    ended: Exit | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Recording:
    about = {
        "program": PROGRAM,
        "argv": [PROGRAM],
        "seconds": seconds + 2.0,
        "import_seconds": 2.0,
        "python": "3.11.7",
        "tensorflow": "2.21.0",
    }
    return Recording(
        meta={**about, **(meta or {})},
        loops=tuple(loops),
        samples=tuple(samples),
        events=tuple(events),
        memory=rss or Series("rss", "bytes"),
        exit=ended or Exit(code=0),
    )


def rule(
    name: str,
    diagnose: Callable[[Recording], Iterable[Finding]] | None = None,
    doc: str = "Something is slow.",
) -> Rule:
    """A rule without a folder: a module made up for the test."""
    import sys

    module = ModuleType(f"made_up_rules.{name.replace('-', '_')}", doc)
    if diagnose:
        module.__dict__["diagnose"] = diagnose
    sys.modules[module.__name__] = module
    return Rule(module.__name__)


def stack(*lines: int) -> tuple[Place, ...]:
    return tuple(Place(PROGRAM, line) for line in lines)


def event(kind: str, *lines: int, seconds: float = 0.1, count: int = 100, **totals: float) -> Event:
    return Event(kind, stack(*lines), count=count, seconds=seconds, totals=totals)


def eager(seconds: float, *lines: int) -> Sample:
    return replace(sample("compute", seconds, *lines), ops=20_000.0)
