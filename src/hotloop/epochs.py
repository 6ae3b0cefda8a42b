"""Rounds over the same data: the epochs of Keras, and a loop that another one enters once in each of its steps."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from hotloop import series, words
from hotloop.loops import Nest
from hotloop.model import LoopRun, Recording, Series
from hotloop.spans import MUCH_TO_START, Span, costs_much, handed_more, of_its_own, spends, took_over

ALIKE = 1.1  # steps of the longest epoch over those of the shortest: beyond, they are not compared
WORTH = 0.1  # of the run, that epochs cost which take longer and longer
STARTS = ("trace", "setup")  # what every first epoch does
ROUNDED = 1e-4  # seconds: what times of events are rounded to
LISTED = 6  # epochs, whose times are listed


@dataclass(frozen=True)
class Epochs:
    """`each`: seconds of an epoch by the step it began with. Of many, every second, fourth ... is known, as a mean."""

    each: Series
    begins: tuple[float, ...]  # seconds since the recording began, and the end of the last
    steps: tuple[float, ...]  # of each
    every: int = 1
    comparable: bool = True  # the same work, as far as can be told

    def beginning(self, step: float, about: float) -> int:
        """Which epoch after the first begins about with a step; 0 if none does, or they are not told apart."""
        if self.every > 1:
            return 0
        return next((n for n, at in enumerate(self.each.at, 1) if n > 1 and abs(at - step) <= about), 0)


def of_keras(run: LoopRun, recording: Recording) -> Epochs | None:
    """The epochs of a `fit`, as Keras began them."""
    events = [event for event in recording.of_kind("epoch") if event.stack == run.stack and event.times]
    if run.kind != "fit" or len(events) != 1 or not run.clock.values:
        return None
    (event,) = events
    every = 1
    while -(-event.count // every) > len(event.times):
        every *= 2
    counts = [*[every] * (len(event.times) - 1), max(1, event.count - every * (len(event.times) - 1))]
    begins = (*event.times, max(_end(run, recording), event.times[-1]))
    first = [_first_step(run, time) for time in event.times]
    if run.runs == 1:
        seconds = [b - a for a, b in itertools.pairwise(begins)]
    else:  # between two calls of `fit` others are at work
        until = list(itertools.accumulate(run.step_seconds.values, initial=0.0))
        size, at = series.stride(run.clock.at), [bisect_left(run.clock.values, time - ROUNDED) for time in event.times]
        seconds = [size * (until[b] - until[a]) for a, b in itertools.pairwise([*at, len(until) - 1])]
    steps = tuple((b - a) / n for (a, b), n in zip(itertools.pairwise([*first, run.steps]), counts, strict=True))
    values = tuple(round(one / n, 6) for one, n in zip(seconds, counts, strict=True))
    return Epochs(Series("epoch", "seconds", tuple(first), values), begins, steps, every, run.runs == 1)


def _end(run: LoopRun, recording: Recording) -> float:
    """Of the last epoch. Then `fit` lets go of its data, which may take a while."""
    ends = [event.last for event in recording.of_kind("epoch.end") if event.stack == run.stack]
    return ends[0] if ends else run.clock.values[-1] + (run.steps - run.clock.at[-1]) * run.step_seconds.values[-1]


def of_rounds(outer: LoopRun, inner: LoopRun) -> Epochs | None:
    """The steps of a loop as rounds of one inside it, which it enters once in each."""
    entered_once = outer.runs == 1 and outer.steps - 1 <= inner.runs <= outer.steps
    if not entered_once or inner.steps < 2 * outer.steps or not inner.clock.values or not outer.clock.values:
        return None
    begins, size = outer.clock.values, series.stride(outer.clock.at)
    first = [_first_step(inner, time) for time in begins]
    end = begins[-1] + (outer.steps - outer.clock.at[-1]) * outer.step_seconds.values[-1]
    steps = tuple((b - a) / size for a, b in itertools.pairwise([*first, float(inner.steps)]))
    each = Series("round", "seconds", tuple(first), outer.step_seconds.values)
    return Epochs(each, (*begins, end), steps, max(1, round(size)))


def of_loops(nest: Nest, shown: Sequence[int]) -> tuple[dict[int, Epochs], dict[int, Epochs]]:
    """By the loop whose steps they hold, and by the loop that tells how they compare: of those that are shown."""
    held: dict[int, Epochs] = {}
    told: dict[int, Epochs] = {}
    for index in shown:
        outer = nest.parent(index, set(shown))
        if keras := of_keras(nest.runs[index], nest.recording):
            held[index] = told[index] = keras
        if outer is not None and (rounds := of_rounds(nest.runs[outer], nest.runs[index])):
            held.setdefault(index, rounds)
            told[outer] = rounds
    return held, told


def one_stands_out(epochs: Epochs, recording: Recording) -> str:
    """In words, one epoch that took much longer than all others, by itself and not for a busy machine; "" if none."""
    compared = _whole(epochs)
    values = epochs.each.values[:compared]
    index = series.stands_out(values) if epochs.every == 1 else None
    if index is None:
        return ""
    usual = series.median([value for at, value in enumerate(values) if at != index])
    longer = values[index] - usual
    if not costs_much(longer, recording):
        return ""
    slow = _span(epochs, recording, index, index + 1)
    before, after = _span(epochs, recording, 0, index), _span(epochs, recording, index + 1, compared)
    fast = max(before, after, key=lambda span: span.steps)
    if index == 0 and took_over(fast, slow)[0] in STARTS and not costs_much(longer, recording, MUCH_TO_START):
        return ""
    if handed_more(fast, slow, values[index] / usual) or not of_its_own(fast, slow, longer / slow.steps):
        return ""
    noun, others = _noun(epochs), "the later ones" if index == 0 else "the others"
    spent = spends(fast, slow, longer / slow.steps, slow.steps)
    took = f"{noun} {index + 1} took {words.duration(values[index])}, {others} {words.duration(usual)}"
    return f"{took}: it spent {spent}" if spent else took


def each_longer(epochs: Epochs, recording: Recording) -> tuple[str, float] | None:
    """In words, epochs of which each takes longer than the one before; and the seconds that 1,000 steps add to one."""
    compared = _whole(epochs)
    values = epochs.each.values[:compared]
    if epochs.every > 1:
        return None
    skip = int(len(values) > 1 and values[0] > values[1])  # the first one traces, and fills caches
    rises = values[skip:]
    each = series.climb(rises)
    if not each or sum(rises) - len(rises) * rises[0] < WORTH * recording.seconds:
        return None
    fast, slow = _span(epochs, recording, skip, skip + 1), _span(epochs, recording, compared - 1, compared)
    longer = each * (len(rises) - 1)
    if handed_more(fast, slow, 1 + longer / rises[0]) or not of_its_own(fast, slow, longer / slow.steps):
        return None
    noun = _noun(epochs)
    listed = [words.duration(value) for value in rises]
    if len(listed) > LISTED:
        listed = [*listed[: LISTED - 2], "…", listed[-1]]
    said = f"each {noun} takes about {words.duration(each)} longer than the one before: {', '.join(listed)}"
    spent = spends(fast, slow, longer / slow.steps, slow.steps)
    return said + (f"; the last one spent {spent}" if spent else ""), 1000 * each / slow.steps**2


def _whole(epochs: Epochs) -> int:
    """How many epochs can be compared: those before one that was cut short, and none where their steps differ."""
    steps = epochs.steps
    if len(steps) > 1 and ALIKE * steps[-1] < series.median(steps[:-1]):
        steps = steps[:-1]
    alike = bool(steps) and min(steps) >= 1 and max(steps) <= ALIKE * min(steps) + 1
    return len(steps) if alike and epochs.comparable else 0


def _span(epochs: Epochs, recording: Recording, first: int, last: int) -> Span:
    """Steps of the loop in some epochs."""
    return Span(recording, epochs.begins[first], epochs.begins[last], sum(epochs.steps[first:last]))


def _noun(epochs: Epochs) -> str:
    """As the line speaks of it on which it is said: rounds are steps of the loop around."""
    return "epoch" if epochs.each.name == "epoch" else "step"


def _first_step(run: LoopRun, time: float) -> float:
    """The step that begins next; within a bin of many, about."""
    import numpy as np

    if series.stride(run.clock.at) > 1:
        return float(np.interp(time, run.clock.values, run.clock.at))
    index = bisect_left(run.clock.values, time - ROUNDED)
    return run.clock.at[index] if index < len(run.clock.at) else float(run.steps)
