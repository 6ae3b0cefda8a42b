"""What the probes saw, counted as it happens: one Event per kind, subject and stack."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any

from hotloop.model import Event, Place
from hotloop.record.frames import Frames, Stack

KEYS = 1000  # events told apart in full; up to three times as many in part
EXAMPLES = 4  # kept of the first, and of the last
TIMES = 64  # kept: when there are more, every second goes
PASSING = 63  # events at most that are all alike and counted without a look


class Tally:
    """One Event in the making. A probe on a hot path keeps hold of it and adds to it directly."""

    __slots__ = (
        "_every",
        "_log",
        "_next",
        "count",
        "first",
        "first_examples",
        "last",
        "last_examples",
        "seconds",
        "times",
        "totals",
    )

    def __init__(self, log: Log) -> None:
        self._log = log
        self.count = 0
        self.seconds = 0.0
        self.first = self.last = log.now()
        self.totals: dict[str, float] = {}
        self.first_examples: list[Mapping[str, Any]] = []
        self.last_examples: deque[Mapping[str, Any]] = deque(maxlen=EXAMPLES)
        self.times: list[float] = []
        self._every = self._next = 1

    def add(
        self,
        seconds: float,
        totals: Mapping[str, float] | None = None,
        example: Mapping[str, Any] | None = None,
        count: int = 1,
    ) -> None:
        self._log.happened += 1
        self.count += count
        self.seconds += seconds
        self.last = self._log.now()
        if self.count >= self._next:
            self._keep_time()
        if totals:
            for name, value in totals.items():
                self.totals[name] = self.totals.get(name, 0.0) + value
        if example is not None:
            if len(self.first_examples) < EXAMPLES:
                self.first_examples.append(example)
            else:
                self.last_examples.append(example)

    @property
    def until_next(self) -> int:
        """How many more before the one whose time is kept."""
        return self._next - self.count

    def _keep_time(self) -> None:
        self.times.append(round(self.last, 4))
        self._next = self.count + self._every
        if len(self.times) == TIMES:
            del self.times[1::2]
            self._every *= 2


class Alike:
    """Events that are all alike: fewer and fewer are looked at, and each stands for those that passed before it.

    A look takes some microseconds, and more of the caches of whoever is watched: the count alone next to nothing.
    """

    __slots__ = ("_left", "_passed", "_tally")

    def __init__(self) -> None:
        self._tally: Tally | None = None
        self._passed = self._left = 0  # since the last look, once there are none left before the next

    @property
    def stands_for(self) -> int:
        """How many events the next that is looked at stands for."""
        return 1 + self._passed

    def passes(self) -> bool:
        """Count one more that needs no look."""
        if not self._left or self._tally is None:
            return False
        self._left -= 1
        self._tally.count += 1
        return True

    def add(self, tally: Tally, seconds: float) -> None:
        """One that was looked at, as long as those before it if it was on their line."""
        tally.add(seconds * self.stands_for if tally is self._tally else seconds)
        self._tally = tally
        self._passed = self._left = min(PASSING, tally.until_next - 1)

    def wake(self) -> None:
        """Look at the next. The tally stays: another thread may be about to count."""
        self._passed = self._left = 0


class Log:
    """The probes' ear. `unseen` collects, in sentences, what could not be watched."""

    def __init__(self, frames: Frames, origin: int) -> None:
        self.frames = frames
        self.origin = origin
        self.pid = os.getpid()
        self.unseen: list[str] = []
        self.undo: list[Callable[[], None]] = []  # what takes the probes out again
        self.deaf = False  # in a process forked from the recorded one
        self.doing = ""  # a phase that frames cannot show, set by a probe while it lasts
        self.traced = 0.0  # seconds of tracing so far
        self.happened = 0
        self.handed = 0.0  # elements, to whatever computes: a step that is handed more may take longer
        self._tallies: dict[tuple[str, str, Stack], Tally] = {}

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
    ) -> None:
        self.tally(kind, subject, self.frames.here() if stack is None else stack).add(seconds, totals, example)

    def tally(self, kind: str, subject: str, stack: Stack) -> Tally:
        """Where to count. The more there are, the less a new one is told apart: every count stays exact."""
        tallies = self._tallies
        key = (kind, subject, stack)
        tally = tallies.get(key)
        if tally is None:
            filled = len(tallies)
            if filled >= KEYS:
                key = (kind, subject if filled < 2 * KEYS else "", stack[:1] if filled < 3 * KEYS else ())
                tally = tallies.get(key)
        if tally is None:
            tally = tallies[key] = Tally(self)
        return tally

    def note(self, sentence: str) -> None:
        if sentence not in self.unseen and len(self.unseen) < 50:
            self.unseen.append(sentence)

    def attempt(self, work: Callable[[], object]) -> object:
        """Do some of our own work, and say what it says: should it fail, the program must not hear of it."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001  whatever it is
            name = getattr(work, "__qualname__", "its own work")
            self.note(f"The recorder stumbled in {name}: {type(error).__name__}: {error}.")
            return None

    def events(self) -> tuple[Event, ...]:
        return tuple(
            Event(
                kind,
                places(stack),
                subject,
                tally.count,
                round(tally.seconds, 9),
                round(tally.first, 6),
                round(tally.last, 6),
                {name: round(value, 9) for name, value in tally.totals.items()},
                (*tally.first_examples, *tally.last_examples),
                tuple(tally.times),
            )
            for (kind, subject, stack), tally in list(self._tallies.items())
        )


def places(stack: Stack) -> tuple[Place, ...]:
    return tuple(_place(*line) for line in stack)


@functools.lru_cache(maxsize=10_000)
def _place(path: str, line: int) -> Place:
    return Place(path, line)
