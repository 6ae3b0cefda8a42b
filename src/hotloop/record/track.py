"""One loop's steps, kept in bounded memory: exact below 1,024 steps, binned by doubling above."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import islice, pairwise

from hotloop.model import LoopRun, Place, Series

CEILING = 1024  # bins
BACKLOG = 1 << 20  # ticks not yet drained: bounds a forked child, where nobody drains


class Bins:
    """Durations of consecutive steps. When `CEILING` bins are full, neighbours merge."""

    def __init__(self) -> None:
        self.size = 1
        self.filled = 0  # steps in the last bin
        self.sums: list[int] = []
        self.starts: list[int] = []

    def extend(self, edges: list[int]) -> None:
        """Steps that follow each other without a gap: step i lasts from edges[i] to edges[i + 1]."""
        at, last = 0, len(edges) - 1
        while at < last:
            if self.filled % self.size == 0:
                at += self._whole_bins(edges, at, last)
            else:
                at += self._into_open_bin(edges, at, min(self.size - self.filled, last - at))

    def _whole_bins(self, edges: list[int], at: int, last: int) -> int:
        if len(self.sums) >= CEILING:
            self._merge()
        room = CEILING - len(self.sums)
        count = min(room, (last - at) // self.size)
        if not count:
            self.sums.append(0)
            self.starts.append(edges[at])
            self.filled = 0
            return self._into_open_bin(edges, at, min(self.size, last - at))
        bounds = edges[at : at + count * self.size + 1 : self.size]
        self.sums += [after - before for before, after in pairwise(bounds)]
        self.starts += bounds[:-1]
        self.filled = self.size
        return count * self.size

    def _into_open_bin(self, edges: list[int], at: int, count: int) -> int:
        self.sums[-1] += edges[at + count] - edges[at]
        self.filled += count
        return count

    def _merge(self) -> None:
        self.sums = [a + b for a, b in zip(self.sums[::2], self.sums[1::2], strict=True)]
        self.starts = self.starts[::2]
        self.size *= 2
        self.filled = self.size

    def series(self, origin: int) -> tuple[Series, Series]:
        """Mean seconds of a step, and the clock at its start, by index of the step."""
        at = tuple(float(i * self.size) for i in range(len(self.sums)))
        counts = [self.size] * (len(self.sums) - 1) + [self.filled]
        means = tuple(round(s / n / 1e9, 9) for s, n in zip(self.sums, counts, strict=False))
        clock = tuple(round((start - origin) / 1e9, 6) for start in self.starts)
        return Series("step", "s", at, means), Series("clock", "s", at, clock)


class _Run:
    """One entry into the loop that has not ended."""

    __slots__ = ("entered", "last")

    def __init__(self, entered: int) -> None:
        self.entered = entered
        self.last = 0  # when the step now running began; 0 before the first


class Track:
    """A loop. Its code appends to `ticks` (a step begins) and `marks` (entered; left: negative)."""

    def __init__(
        self, place: Place, kind: str, function: str, *, yields: bool = False, stack: tuple[Place, ...] = ()
    ) -> None:
        self.place, self.kind, self.function, self.yields, self.stack = place, kind, function, yields, stack
        self.ticks: deque[int] = deque(maxlen=BACKLOG)
        self.marks: deque[int] = deque(maxlen=BACKLOG)
        self.bins = Bins()
        self.runs = self.steps = self.nanoseconds = 0
        self._open: list[_Run] = []

    def drain(self, now: int) -> None:
        """Take in all that happened up to `now`. One thread drains; the loop's own appends while we look."""
        ticks = _take(self.ticks, now)
        marks = _take(self.marks, now)
        at = 0
        for mark in marks:
            upto = bisect_right(ticks, abs(mark), at)
            self._feed(ticks[at:upto])
            at = upto
            if mark > 0:
                self._enter(mark)
            else:
                self._leave(-mark)
        self._feed(ticks[at:])

    def _enter(self, at: int) -> None:
        if self.kind == "comprehension" or len(self._open) > 1000:
            while self._open:  # an exception left it without a mark: it ended, as far as can be told, at its last tick
                self._leave(self._open[-1].last or self._open[-1].entered)
        self._open.append(_Run(at))
        self.runs += 1

    def _feed(self, ticks: list[int]) -> None:
        if not ticks:
            return
        if not self._open:
            self._enter(ticks[0])
        run = self._open[-1]
        self.steps += len(ticks)
        self.bins.extend([run.last, *ticks] if run.last else ticks)
        run.last = ticks[-1]

    def _leave(self, at: int) -> None:
        if not self._open:
            return
        run = self._open.pop()
        if run.last:
            self.bins.extend([run.last, at])
        if not self._open:  # a loop that entered itself again is counted once
            self.nanoseconds += at - run.entered

    def loop_run(self, origin: int, now: int) -> LoopRun:
        spent = self.nanoseconds + (now - self._open[0].entered if self._open else 0)
        steps, clock = self.bins.series(origin)
        return LoopRun(
            self.place,
            self.kind,
            self.function,
            self.runs,
            self.steps,
            round(spent / 1e9, 9),
            steps,
            clock,
            self.yields,
            self.stack,
        )


def _take(queue: deque[int], now: int) -> list[int]:
    """Remove and return what was appended up to `now`. Runs in C: ten million ticks stay affordable."""
    waiting = len(queue)
    if not waiting:
        return []
    if abs(queue[-1]) > now:  # what came after `now` waits for the next round: the order across queues must hold
        waiting = bisect_right(list(queue), now, key=abs)
    return list(islice(iter(queue.popleft, None), waiting))
