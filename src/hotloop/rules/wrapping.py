"""A data set that a loop wraps again in each step: an element then goes through the stages of all steps before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hotloop import series
from hotloop.model import Event, LoopRun, Place, Recording
from hotloop.rules import measured

LONGER = 1.5  # times what a step takes at first: less is the machine


@dataclass(frozen=True)
class Wrapped:
    """How many stages it had at first and in the end, and what steps took longer meanwhile than the first did."""

    loop: LoopRun
    place: Place
    first: int
    last: int
    seconds: float


def wrapped(recording: Recording, iterators: Event) -> Wrapped | None:
    """Of the iterators that one line made, whether each went through more stages than the one before."""
    depths = [int(example["stages"]) for example in iterators.examples if "stages" in example]
    loop = measured.loop_of(recording, iterators) if depths else None
    if loop is None or depths != sorted(depths) or depths[-1] - depths[0] < measured.FEW:
        return None
    line = series.trend(loop.step_seconds.at, loop.step_seconds.values)
    if line.low <= 0 or line.end < LONGER * line.start:  # a jump, too: why it rises is known
        return None
    more = loop.seconds - loop.steps * line.start
    return Wrapped(loop, _wraps(recording, iterators, loop), depths[0], depths[-1], more)


def _wraps(recording: Recording, iterators: Event, loop: LoopRun) -> Place:
    """The first line of the loop that made several of the last stages."""
    looks = [e for e in recording.of_kind("pipeline") if (e.subject, e.stack) == (iterators.subject, iterators.stack)]
    made = [str(stage.get("line", "")) for look in looks for stage in look.examples[-1].get("made", ())]
    lines = [measured.at_line(text) for text, times in Counter(made).items() if text and times > 1]
    return min((line for line in lines if loop.place.covers(line)), default=iterators.place)
