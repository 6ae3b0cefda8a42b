"""Where the time goes between events: one quiet thread looks at the main thread, drains, saves."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from hotloop.model import Place, Sample
from hotloop.record.frames import Stack
from hotloop.record.log import Log, places
from hotloop.record.phases import Phases
from hotloop.record.probes.eager import OpCounter

SAMPLE_EVERY = 0.01
SAMPLE_LATER = 0.02  # after the first few hundred samples: each costs the program a hand-over of the interpreter lock
SAMPLED_WELL = 400
DRAIN_EVERY = 0.05
MEMORY_EVERY = 0.05
SNAPSHOT_EVERY = 1.0
SNAPSHOT_SHARE = 100  # a snapshot is followed by a pause of 100 times what it cost
KEYS = 3000


class _Spent:
    """Time under one stack. Eager operations are counted in some of it (`watched`) and scaled up to all."""

    __slots__ = ("count", "op_seconds", "ops", "seconds", "watched")

    def __init__(self) -> None:
        self.count = self.ops = 0
        self.seconds = self.watched = self.op_seconds = 0.0

    def add(self, seconds: float, ops: tuple[int, float] | None) -> None:
        self.seconds += seconds
        self.count += 1
        if ops is not None:
            self.watched += seconds
            self.ops += ops[0]
            self.op_seconds += ops[1]  # of a call longer than a window, all at its end

    def sample(self, phase: str, stack: tuple[Place, ...]) -> Sample:
        scale = self.seconds / self.watched if self.watched else 0.0
        ops, op_seconds = round(self.ops * scale, 1), round(min(self.op_seconds * scale, self.seconds), 6)
        return Sample(phase, stack, round(self.seconds, 6), self.count, ops, op_seconds)


class Sampler:
    """Seconds by phase and stack. A sample weighs the time since the one before, never one."""

    def __init__(self, log: Log, ops: OpCounter, importing: Callable[[], bool]) -> None:
        self._log = log
        self._importing = importing
        self._phases = Phases(log.frames)
        self._ops = ops
        self._main = threading.main_thread().ident or 0
        self._before = perf_counter()
        self._found: dict[tuple[str, Stack], _Spent] = {}

    def look(self) -> None:
        frame = sys._current_frames().get(self._main)
        now = perf_counter()
        elapsed, self._before = now - self._before, now
        if self._importing():
            return  # counted as `import_seconds`, and nobody's loop
        phase, stack = self._phases.read(frame, self._log.doing)
        del frame  # held no longer than needed: it keeps the program's locals alive
        self._entry(phase, stack).add(elapsed, self._ops.look())

    def _entry(self, phase: str, stack: Stack) -> _Spent:
        key = (phase, stack)
        entry = self._found.get(key)
        if entry is None and len(self._found) >= KEYS:
            key = (phase, stack[:1] if len(self._found) < 2 * KEYS else ())
            entry = self._found.get(key)
        if entry is None:
            entry = self._found[key] = _Spent()
        return entry

    def samples(self) -> tuple[Sample, ...]:
        return tuple(entry.sample(phase, places(stack)) for (phase, stack), entry in list(self._found.items()))


@dataclass
class _Chore:
    every: float
    later: float
    work: Callable[[], None]
    due: float = 0.0
    done: int = 0


class Clockwork:
    """Does chores at their intervals. Not a `threading.Thread`: the program's thread count stays its own."""

    def __init__(self, log: Log, write: Callable[[], None]) -> None:
        self._log = log
        self._write = write
        self._chores: list[_Chore] = []
        self.stopped = False

    def every(self, seconds: float, work: Callable[[], None], *, later: float = 0.0) -> None:
        """`later`: the interval once it was done `SAMPLED_WELL` times."""
        self._chores.append(_Chore(seconds, later or seconds, work))

    def start(self) -> None:
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        due = time.monotonic() + SNAPSHOT_EVERY / 4
        while not self.stopped:
            time.sleep(max(0.001, min(chore.due for chore in self._chores) - time.monotonic()))
            now = time.monotonic()
            for chore in self._chores:
                if now >= chore.due:
                    chore.done += 1
                    chore.due = now + (chore.every if chore.done < SAMPLED_WELL else chore.later)
                    self._do(chore.work)
            if now >= due and not self.stopped:
                self._do(self._write)
                cost = time.monotonic() - now
                due = time.monotonic() + max(SNAPSHOT_EVERY, SNAPSHOT_SHARE * cost)

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  a chore that fails must not print into the program's stderr
            name = getattr(work, "__qualname__", "a chore")
            self._log.note(f"The recorder stumbled in {name}: {type(error).__name__}: {error}.")
