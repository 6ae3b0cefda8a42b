"""How long the loops of a recording took, whole or over their first steps, and what a step of the main one costs."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from hotloop import series
from hotloop.model import LoopRun, Recording, Series

FEWEST = 5  # steps of a loop that says something about its steps
Interval = tuple[float, float]


def loop_seconds(recording: Recording) -> float | None:
    """Seconds during which the program was in a loop; None when no loop ran.

    That is the length of the union of all steps of the program's own loops on the clock, so that a loop
    inside another, in the same function or in one that it calls, counts once. Generators' loops are left
    out: their steps contain their consumer's time. Added to it is the time of Keras' loops (`fit`,
    `evaluate`, `predict`) that were called outside any loop of the program. What TensorFlow slept is not.
    """
    own = [run for run in recording.loops if not run.stack and not run.yields]
    keras = _of_keras(recording)
    if not own and not keras:
        return None
    total = _union([span for run in own for span in _spans(run)]) + sum(run.seconds for run in keras)
    return max(0.1 * total, total - slept(recording))


def _of_keras(recording: Recording) -> list[LoopRun]:
    """Keras' loops that were called outside any loop: of the program's own, or of Keras, as a callback's are."""
    keras = [run for run in recording.loops if run.stack]
    called = {run.stack for run in keras}
    inner = {stack for stack in called if any(stack[index:] in called for index in range(1, len(stack)))}
    return [run for run in keras if run.stack not in inner and not recording.loops_around(run.stack)]


def slept(recording: Recording) -> float:
    """Seconds that loops over data sets waited at their end for TensorFlow's autotuner to wake up.

    By chance none, or up to as long again as the loop took: two runs of one program differ by that.
    """
    loops = [run.place for run in recording.loops if not run.stack]
    ends = [event for event in recording.of_kind("input") if any(place.covers(event.place) for place in loops)]
    return sum(event.totals.get("slept", 0.0) for event in ends)


def _spans(run: LoopRun) -> list[Interval]:
    """When the steps of a loop began and ended; of a long loop each bin of steps is one span."""
    ends = [*run.clock.at[1:], float(run.steps)]
    # Not strict: a loop that its first step left by an exception has an end and no step.
    steps = zip(run.clock.at, run.clock.values, run.step_seconds.values, ends, strict=False)
    spans = [(start, start + mean * (end - index)) for index, start, mean, end in steps]
    if run.runs == 1 and spans:  # in one piece, from before its first step: waiting for the first item belongs to it
        return [(spans[-1][1] - run.seconds, spans[-1][1])]
    return spans


def _union(spans: list[Interval]) -> float:
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


# -- the main loop -----------------------------------------------------------------------------------------------------


def main_loop(recording: Recording, steps: int = FEWEST) -> LoopRun | None:
    """The loop that took most of the time, of those that came so far."""
    runs = [run for run in recording.loops if not run.yields and run.counted and run.steps >= steps]
    return max(runs, key=lambda run: run.seconds, default=None)


def first_steps(recording: Recording, steps: int) -> float | None:
    """What that many steps of the main loop take once it is warm, by those that it made; None: they were fewer.

    This is how two programs are compared that were ended, not quite on the same step: a trace that the whole program
    would make once must not count as if it were made every so many steps.
    """
    run = _stopped_at(recording) or main_loop(recording, steps)
    if run is None:
        return None
    values = run.step_seconds.values[: bisect_left(run.step_seconds.at, steps)]
    rest = values[series.warm_up(values) :]
    return steps * sum(rest) / len(rest) if rest else None


def _stopped_at(recording: Recording) -> LoopRun | None:
    """The loop in whose step the program was ended."""
    at = recording.meta.get("stopped_at")
    return next((run for run in recording.loops if str(run.place) == at), None)


def moved_out(before: Recording, after: Recording) -> float:
    """Seconds by which Keras' loops outside the program's own are longer: a `predict` that steps made is there now."""
    one, two = (sum(run.seconds for run in _of_keras(side)) for side in (before, after))
    return max(0.0, two - one)


@dataclass(frozen=True)
class Lap:
    """The main loop of a run in numbers."""

    step_seconds: float  # median, after warm-up
    steps: int
    series: Series
    bytes_per_step: float | None  # how memory grows, where it does


def lap(recording: Recording) -> Lap | None:
    run = main_loop(recording)
    if run is None or not run.step_seconds.values:
        return None
    values = run.step_seconds.values
    return Lap(series.median(values[series.warm_up(values) :]), run.steps, run.step_seconds, _slope(run, recording))


def _slope(run: LoopRun, recording: Recording) -> float | None:
    import numpy as np

    clock, memory = run.clock, recording.memory
    if len(clock.values) < 2:
        return None
    within = [i for i, t in enumerate(memory.at) if clock.values[0] <= t <= clock.values[-1]]
    if len(within) < series.FEWEST:
        return None
    steps = [float(s) for s in np.interp([memory.at[i] for i in within], clock.values, clock.at)]
    line = series.growth(steps, [memory.values[i] for i in within])
    return line.slope if line.significant else 0.0


def traces(recording: Recording) -> int:
    """How often TensorFlow turned Python into a graph."""
    return sum(event.count for event in recording.events if event.kind.startswith("trace."))
