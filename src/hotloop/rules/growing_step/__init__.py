"""A loop's steps take longer and longer, and none of the usual reasons explains it.

**Why**

Something grows with the loop: a list that is searched or sorted, a string or array that is put together again, a log
that is written out anew, a cache that is never emptied. Each step pays for all the steps before it, so that twice the
steps take four times as long. The line in which the loop spent most is named: it is where to look first.

**Instead**

Find what grows and keep it from being gone through in each step: a set or dict for membership, a running sum for a
mean, `bisect` for an order, a list that is joined once at the end.

**Not when**

The steps have more to do as they go: larger inputs, deeper searches, a curriculum. Or the machine got busy meanwhile:
run it again and see whether the growth is there a second time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from hotloop import series, words
from hotloop.model import Evidence, Finding, LoopRun, Place, Recording
from hotloop.rules import Rule, measured

RULE = Rule(__name__)
PARALLEL = True  # which line a sample falls on hangs on a core that is free to take it
TIMES = 2.0  # as long at the end: less may be the machine
WORTH = 0.1  # of the run
CALLED_BACK = 0.3  # of what steps took longer: so much has to go by in a callback's line for it to be the one
KNOWN = ("ops", "session.cold", "session", "concat", "held", "built", "compile", "load", "import", "iterator")


def diagnose(recording: Recording) -> Iterator[Finding]:
    for loop in recording.loops:
        if loop.steps < 10 * series.FEWEST or loop.yields or loop.seconds < WORTH * recording.seconds:
            continue
        line = series.trend(loop.step_seconds.at, loop.step_seconds.values)
        extra = loop.seconds - loop.steps * line.start
        if not line.significant or line.end < TIMES * line.start or extra < WORTH * recording.seconds:
            continue
        if _is_explained(recording, loop):
            continue
        place, spent, phase = _hottest(recording, loop)
        if loop.stack and spent < CALLED_BACK * extra:
            continue  # it is Keras itself, where there are no lines to name
        yield measured.told(
            RULE, recording, place, extra,
            f"Steps took {words.duration(line.start)} at first and {words.duration(line.end)} at the end {{cost}}, for "
            f"no reason that is known. More than on any other, {words.duration(spent)}, went by on this line "
            f"({phase}): look for what grows there.",
            loop,
            [Evidence("at first", line.start, "s/step"), Evidence("at the end", line.end, "s/step")],
            confidence="low",
        )  # fmt: skip


def _is_explained(recording: Recording, loop: LoopRun) -> bool:
    """Whether something recurs in the loop that is known to slow it down: that has a name of its own."""
    if series.with_its_input(loop.clock.values, recording.inputs.at, recording.inputs.values):
        return True
    known = [
        e for e in recording.events if e.kind in KNOWN or (e.kind.startswith("trace.") and e.kind != "trace.first")
    ]
    inside = sum(event.count for event in known if measured.is_in(recording, loop, event.stack))
    return inside >= measured.FEW


def _hottest(recording: Recording, loop: LoopRun) -> tuple[Place, float, str]:
    """The line of the loop's own that most samples went through, and the phase that most of them were in."""
    lines: dict[Place, float] = defaultdict(float)
    phases: dict[Place, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for sample in measured.within(recording, loop):
        frame = sample.stack[0]
        if loop.stack and (frame.path, frame.line) == (loop.place.path, loop.place.line):
            continue  # of Keras' loops, what the program is called back for
        lines[frame] += sample.seconds
        phases[frame][sample.phase] += sample.seconds
    if not lines:
        return loop.place, 0.0 if loop.stack else loop.seconds, "unknown"
    place = max(lines, key=lambda one: lines[one])
    return place, lines[place], max(phases[place], key=lambda phase: phases[place][phase])
