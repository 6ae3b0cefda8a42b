"""Where the time goes between events: one quiet thread looks at the main thread, drains, saves."""

from __future__ import annotations

import _thread
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from hotloop.garbage import collection_off
from hotloop.model import Place, Sample
from hotloop.record.frames import Stack
from hotloop.record.log import Log, places
from hotloop.record.phases import Phases
from hotloop.record.probes.eager import OpCounter
from hotloop.record.threads import Threads
from hotloop.record.timeline import Timeline
from hotloop.record.turns import Turns

SAMPLE_EVERY = 0.01
SAMPLE_MOST = 0.05  # each look costs the program a hand-over of the interpreter lock: a long run needs fewer a second
SLOWING = 50  # looks after which the interval has doubled
GAUGES_EVERY = 0.02  # at first: a short loop has soon made the first third of its steps, and grown
GAUGES_MOST = 0.1
SNAPSHOT_EVERY = 1.0
SNAPSHOT_SHARE = 100  # a snapshot is followed by a pause of 100 times what it cost
TOGETHER = 0.004  # seconds before it is due at which a chore is done with another: each waking costs the program
PATIENCE = 5.0
KEYS = 2000


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

    def sample(self, phase: str, stack: tuple[Place, ...], scale: float) -> Sample:
        """`scale`: what a second in which operations were counted stands for."""
        ops, op_seconds = round(self.ops * scale, 1), round(min(self.op_seconds * scale, self.seconds), 6)
        return Sample(phase, stack, round(self.seconds, 6), self.count, ops, op_seconds)


class Sampler:
    """Seconds by phase and stack, of the thread that makes it. A sample weighs the time since the one before."""

    def __init__(
        self, log: Log, ops: OpCounter, importing: Callable[[], bool], saw: Callable[[str, Stack, float], None]
    ) -> None:
        """`saw` hears of each phase and stack, and of the seconds that it stands for."""
        self._log = log
        self._saw = saw
        self._importing = importing
        self._phases = Phases(log.frames)
        self._ops = ops
        self._threads = Threads()
        self._thread = self._threads.current()
        self._before = perf_counter()
        self._found: dict[tuple[str, Stack], _Spent] = {}
        self.timeline = Timeline()

    def look(self) -> bool:
        """False: there was nothing to see."""
        now = perf_counter()
        elapsed, self._before = now - self._before, now
        if self._importing():
            return False  # counted as `import_seconds`, and nobody's loop
        with collection_off():
            phase, stack = self._phases.read(self._threads.frame(self._thread), self._log.doing)
        self._saw(phase, stack, elapsed)
        self._entry(phase, stack).add(elapsed, self._ops.look())
        self.timeline.add(self._log.now(), phase, elapsed)
        return True

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
        found = list(self._found.items())
        seconds, watched = defaultdict[Stack, float](float), defaultdict[Stack, float](float)
        for (_, stack), entry in found:  # in some phase of a line nobody may have counted
            seconds[stack] += entry.seconds
            watched[stack] += entry.watched
        return tuple(
            entry.sample(phase, places(stack), seconds[stack] / watched[stack] if watched[stack] else 0.0)
            for (phase, stack), entry in found
        )


@dataclass
class _Chore:
    every: float
    most: float
    work: Callable[[], object]
    wait: Callable[[], float] | None
    due: float = 0.0
    done: int = 0

    def do(self, log: Log, now: float) -> None:
        self.done += log.attempt(self.work) is not False
        self.due = now + (self.wait() if self.wait else min(self.every * (1 + self.done / SLOWING), self.most))


class Clockwork:
    """Does chores at their intervals. Not a `threading.Thread`: the program's thread count stays its own."""

    def __init__(self, log: Log, write: Callable[[], None]) -> None:
        self._log = log
        self._write = write
        self.turns = Turns()
        self._chores: list[_Chore] = []
        self._ending = _thread.allocate_lock()  # held while the thread shall run
        self._running = _thread.allocate_lock()  # held while it does
        self._due = 0.0  # when to write next
        self._stopped = 0.0

    def every(
        self,
        seconds: float,
        work: Callable[[], object],
        *,
        most: float = 0.0,
        wait: Callable[[], float] | None = None,
    ) -> None:
        """`most`: what the interval grows to as the run gets longer. `wait`: asked each time, instead."""
        self._chores.append(_Chore(seconds, most or seconds, work, wait))

    def start(self) -> None:
        """Again: it goes on where it stopped, as if no time had passed."""
        if self._stopped:
            paused = time.monotonic() - self._stopped
            self._due += paused
            for chore in self._chores:
                chore.due += paused
        self._ending.acquire()
        self._running.acquire()
        _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """And wait for it: a thread that outlives the interpreter may crash the process on its way out."""
        if self._ending.locked():
            self._ending.release()
            if self._running.acquire(timeout=PATIENCE):
                self._running.release()
            self._stopped = time.monotonic()

    def _ended(self, seconds: float) -> bool:
        return self._ending.acquire(timeout=max(0.001, seconds))

    def _run(self) -> None:
        self._due = self._due or time.monotonic() + SNAPSHOT_EVERY / 4
        while not self.turns.wait(self._ended, min(chore.due for chore in self._chores) - time.monotonic()):
            now = time.monotonic()
            for chore in self._chores:
                if now >= chore.due - TOGETHER:
                    chore.do(self._log, now)
            if now >= self._due:
                self._log.attempt(self._write)
                cost = time.monotonic() - now
                self._due = time.monotonic() + max(SNAPSHOT_EVERY, SNAPSHOT_SHARE * cost)
        self._ending.release()
        self._running.release()
