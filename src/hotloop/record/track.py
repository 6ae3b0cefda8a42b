"""One loop's steps, kept in bounded memory: exact below 1,024 steps, binned by doubling above."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise, zip_longest
from operator import itemgetter
from time import perf_counter_ns
from typing import Any

from hotloop.model import LoopRun, Place, Series
from hotloop.record.frames import Stack

CEILING = 1024  # bins of a loop
FLOOR = 16
MANY = 4096  # marks at once: a short loop that is entered again and again; its runs are then taken in by the hundred
CHUNKS = 64
ALL_BINS = 1 << 16  # of all loops together: where there are many, each has fewer
BACKLOG = 1 << 20  # ticks not yet drained: bounds a forked child, where nobody drains
TIGHT = 1_000  # nanoseconds: a step as short as this does nothing with TensorFlow, and counting it costs more than it
PLENTY = 5_000  # ticks at once that show a loop to be tight
REST = 2_000_000_000  # nanoseconds for which it then goes uncounted; twice as long each time it proves as tight
LONGEST_REST = 32_000_000_000
FLURRY = 1_000  # marks at once that show a loop to be entered again and again
RESTLESS = 20_000  # nanoseconds from one entry to the next: with fewer, to note each takes more than a few percent
STRETCH = 64  # steps over a range after which it is asked whether to tick
LATE = 256  # of so many steps so far, one may go by before that

_first = itemgetter(0)


class Bins:
    """Durations of consecutive steps. When `ceiling` bins are full, neighbours merge."""

    def __init__(self) -> None:
        self.ceiling = CEILING
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
        if len(self.sums) >= self.ceiling:
            self._merge()
        room = self.ceiling - len(self.sums)
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

    def spread(self, start: int, count: int, total: int) -> None:
        """`count` steps that took `total`, of which no more is known."""
        while count:
            if self.filled % self.size == 0:
                if len(self.sums) >= self.ceiling:
                    self._merge()
                self.sums.append(0)
                self.starts.append(start)
                self.filled = 0
            some = min(self.size - self.filled, count)
            share = total * some // count
            self.sums[-1] += share
            self.filled += some
            start, count, total = start + share, count - some, total - share

    def _into_open_bin(self, edges: list[int], at: int, count: int) -> int:
        self.sums[-1] += edges[at + count] - edges[at]
        self.filled += count
        return count

    def lower(self, ceiling: int) -> None:
        """Room for fewer, from now on."""
        self.ceiling = ceiling
        while len(self.sums) > self.ceiling:
            self._merge()

    def _merge(self) -> None:
        alone = len(self.sums) % 2  # the last bin
        self.sums = [a + b for a, b in zip_longest(self.sums[::2], self.sums[1::2], fillvalue=0)]
        self.starts = self.starts[::2]
        self.filled += 0 if alone else self.size
        self.size *= 2

    def series(self, origin: int) -> tuple[Series, Series]:
        """Mean seconds of a step, and the clock at its start, by index of the step."""
        at = tuple(float(i * self.size) for i in range(len(self.sums)))
        counts = [self.size] * (len(self.sums) - 1) + [self.filled]
        means = tuple(round(s / n / 1e9, 9) for s, n in zip(self.sums, counts, strict=False))
        clock = tuple(round((start - origin) / 1e9, 6) for start in self.starts)
        return Series("step", "s", at, means), Series("clock", "s", at, clock)


def ceiling_for(loops: int) -> int:
    """How many bins each of so many loops may have: a power of two, for full bins to merge in pairs."""
    ceiling = CEILING
    while ceiling > FLOOR and ceiling * loops > ALL_BINS:
        ceiling //= 2
    return ceiling


class _Run:
    """One entry into the loop that has not ended."""

    __slots__ = ("entered", "last")

    def __init__(self, entered: int) -> None:
        self.entered = entered
        self.last = 0  # when the step now running began; 0 before the first


class Switch:
    """Whether a loop's code shall tick, and mark. A constant of that code, which must have a hash."""

    __slots__ = ("marks", "on", "stretch")

    def __init__(self) -> None:
        self.on = self.marks = True
        self.stretch: Iterable[Any] = ()  # of a loop over a range: what it goes over next


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
        self.lost = False  # more happened at once than could be held
        self.switch = Switch()  # the loop's code asks it before each tick
        self.counted = True  # to the last step: not once it was found to be tight
        self._rests_until = 0
        self._rest = REST
        self._drained = 0  # when it last was
        self._open: list[_Run] = []

    def drain(self, now: int) -> int:
        """Take in all that happened up to `now`, and say how much. One thread drains; the loop's own appends."""
        self.lost |= BACKLOG in (len(self.ticks), len(self.marks))
        ticks = _take(self.ticks, now)
        marks = _take(self.marks, now)
        at = done = 0
        before, begin = self.nanoseconds, self._drained or (abs(marks[0]) if marks else now)
        self._drained = now
        if len(marks) > MANY:
            if len(self._open) == 1 or marks[0] < 0:
                at, done = self._take_mark(ticks, 0, marks[0]), 1
            at, done = self._short_runs(ticks, marks, at, done)
        for mark in marks[done:]:
            at = self._take_mark(ticks, at, mark)
        self._feed(ticks[at:])
        inside = self.nanoseconds - before
        self._rest_if_tight(ticks, now, inside if inside and not self._open else now - begin)
        if self.switch.marks and len(marks) > FLURRY and now - begin < RESTLESS * len(marks) // 2:
            self._rest_altogether(now)
        while self._open and not self.switch.marks:  # nobody will say when it ends
            self._leave(self._open[-1].last or self._open[-1].entered)
        return len(ticks) + len(marks)

    # -- loops over a range -------------------------------------------------------------------------

    def over(self, items: Any) -> Iterable[Iterable[Any]]:
        """`items` in stretches, of which each item ticks unless the loop rests."""
        if type(items) is not range:  # the program has a `range` of its own
            return (self._ticking(items),)
        if items[STRETCH:]:  # `len` fails where it is huge
            return self._stretches(items)
        return (self._ticking(items) if self.switch.on else items,)

    def _stretches(self, items: range) -> Iterator[Iterable[int]]:
        at = 0
        while items[at:]:
            awake = self.switch.on
            size = STRETCH if awake else max(STRETCH, at // LATE)
            some = items[at : at + size]
            yield self._ticking(some) if awake else some
            at += size

    def _ticking(self, items: Iterable[Any]) -> Iterator[Any]:
        """All of it runs in C: no frame of ours stands in a traceback, and a tick costs what a call of it would."""
        ticks = map(self.ticks.append, iter(perf_counter_ns, None))
        return map(_first, zip(items, ticks, strict=False))

    # -- tight loops --------------------------------------------------------------------------------

    @property
    def resting(self) -> bool:
        return not self.switch.on

    def _rest_if_tight(self, ticks: list[int], now: int, spent: int) -> None:
        """`spent`: nanoseconds in the loop, of which at most those from the first tick to the last are its steps'."""
        if len(ticks) >= PLENTY and min(spent, ticks[-1] - ticks[0]) < TIGHT * len(ticks):
            self._rests_until = now + self._rest
            self._rest = min(2 * self._rest, LONGEST_REST)
            self.switch.on = self.counted = False
            for run in self._open:
                run.last = 0  # what follows is no step of known length

    def _rest_altogether(self, now: int) -> None:
        """It is so short and so often entered that even its beginnings and ends go unmarked for a while."""
        self._rests_until = now + self._rest
        self._rest = min(2 * self._rest, LONGEST_REST)
        self.switch.on = self.switch.marks = self.counted = False

    def credit(self, seconds: float, stack: Stack) -> None:
        """Time that the program was seen to spend under these lines: its own, while it does not mark."""
        if not self.switch.marks and self._covers(stack):
            self.nanoseconds += round(seconds * 1e9)

    def _covers(self, stack: Stack) -> bool:
        return any(self.place.covers(Place(path, line)) for path, line in stack)

    def wake(self, now: int, stack: Stack = ()) -> bool:
        """Count again: because it is time, or because TensorFlow works inside the loop."""
        if self.resting and (now >= self._rests_until or self._covers(stack)):
            self._drained = now or perf_counter_ns()
            self.switch.on = self.switch.marks = True
        return self.switch.on

    def _take_mark(self, ticks: list[int], at: int, mark: int) -> int:
        """And the ticks before it; returns the first one after."""
        upto = bisect_right(ticks, abs(mark), at)
        self._feed(ticks[at:upto])
        if mark > 0:
            self._enter(mark)
        else:
            self._leave(-mark)
        return upto

    def _short_runs(self, ticks: list[int], marks: list[int], at: int, done: int) -> tuple[int, int]:
        """Take in runs that follow each other, many at a time; up to which tick and mark that was possible.

        Counts and seconds stay exact. A step's time is the mean of its chunk, with what a run does before its first.
        """
        if self._open or min(marks[done::2]) < 0 or max(marks[done + 1 :: 2]) > 0:
            return at, done  # one inside the other, or left without a mark
        whole = done + (len(marks) - done) // 2 * 2
        size = max(2, whole // CHUNKS // 2 * 2)
        for begin in range(done, whole, size):
            chunk = marks[begin : min(begin + size, whole)]
            upto = bisect_right(ticks, -chunk[-1], at)
            spent = -sum(chunk)
            steps = upto - at
            if steps:
                self.bins.spread(chunk[0], steps, spent)
            self.steps += steps
            self.runs += len(chunk) // 2
            self.nanoseconds += spent
            at = upto
        return at, whole

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
        run.last = ticks[-1] if not self.resting else 0

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
            self.counted,
        )


def _take(queue: deque[int], now: int) -> list[int]:
    """Remove and return what was appended up to `now`. Runs in C: ten million ticks stay affordable."""
    waiting = len(queue)
    if not waiting:
        return []
    if abs(queue[-1]) > now:  # what came after `now` waits for the next round: the order across queues must hold
        waiting = bisect_right(list(queue), now, key=abs)
    return list(islice(iter(queue.popleft, None), waiting))
