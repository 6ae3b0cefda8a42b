"""What the probes saw, counted as it happens: one Event per kind, subject and stack."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any

from hotloop.model import Event, Place
from hotloop.record.frames import Frames, Stack

KEYS = 2000
EXAMPLES = 4  # kept of the first, and of the last


class _Count:
    __slots__ = ("count", "first", "first_examples", "last", "last_examples", "seconds", "totals")

    def __init__(self, now: float) -> None:
        self.count = 0
        self.seconds = 0.0
        self.first = now
        self.last = now
        self.totals: dict[str, float] = {}
        self.first_examples: list[Mapping[str, Any]] = []
        self.last_examples: deque[Mapping[str, Any]] = deque(maxlen=EXAMPLES)


class Log:
    """The probes' ear. `unseen` collects, in sentences, what could not be watched."""

    def __init__(self, frames: Frames, origin: int) -> None:
        self.frames = frames
        self.origin = origin
        self.pid = os.getpid()
        self.unseen: list[str] = []
        self.doing = ""  # a phase that frames cannot show, set by a probe while it lasts
        self.happened = 0
        self._counts: dict[tuple[str, str, Stack], _Count] = {}

    def now(self) -> float:
        return (perf_counter_ns() - self.origin) / 1e9

    def emit(
        self,
        kind: str,
        subject: str = "",
        seconds: float = 0.0,
        stack: Stack | None = None,
        totals: Mapping[str, float] | None = None,
        example: Mapping[str, Any] | None = None,
        count: int = 1,
    ) -> None:
        if stack is None:
            stack = self.frames.here()
        now = self.now()
        entry = self._entry(kind, subject, stack, now)
        self.happened += count
        entry.count += count
        entry.seconds += seconds
        entry.last = now
        if totals:
            for name, value in totals.items():
                entry.totals[name] = entry.totals.get(name, 0.0) + value
        if example is not None:
            if len(entry.first_examples) < EXAMPLES:
                entry.first_examples.append(example)
            else:
                entry.last_examples.append(example)

    def _entry(self, kind: str, subject: str, stack: Stack, now: float) -> _Count:
        key = (kind, subject, stack)
        entry = self._counts.get(key)
        if entry is None and len(self._counts) >= KEYS:
            key = (kind, subject if len(self._counts) < 2 * KEYS else "", stack[:1])
            entry = self._counts.get(key)
        if entry is None:
            entry = self._counts[key] = _Count(now)
        return entry

    def note(self, sentence: str) -> None:
        if sentence not in self.unseen and len(self.unseen) < 50:
            self.unseen.append(sentence)

    def events(self) -> tuple[Event, ...]:
        return tuple(
            Event(
                kind,
                places(stack),
                subject,
                entry.count,
                round(entry.seconds, 9),
                round(entry.first, 6),
                round(entry.last, 6),
                {name: round(value, 9) for name, value in entry.totals.items()},
                (*entry.first_examples, *entry.last_examples),
            )
            for (kind, subject, stack), entry in list(self._counts.items())
        )


def places(stack: Stack) -> tuple[Place, ...]:
    return tuple(Place(path, line) for path, line in stack)
