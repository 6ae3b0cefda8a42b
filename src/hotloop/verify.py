"""Proof: before and after run in turns; are the results the same, and how much faster are the loops?"""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hotloop.model import HotloopError, LoopRun, Recording, Report, Trial, Verdict
from hotloop.record import Completed, record
from hotloop.results import Output, Sameness, same_results
from hotloop.series import bootstrap_ratio

Runner = Callable[..., tuple[Recording, Completed]]
Interval = tuple[float, float]

FASTER, SLOWER = 1.02, 0.98
SAME = (0.95, 1.05)


@dataclass
class _Side:
    """One of the two programs and its runs so far."""

    name: str
    argv: Sequence[str]
    cwd: Path | None
    recordings: list[Recording] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def run(self, runner: Runner) -> str:
        """One more run. Returns why it failed, or nothing."""
        recording, done = runner(self.argv, sample=False, observe=True, seed=0, capture=True, cwd=self.cwd)
        self.recordings.append(recording)
        self.outputs.append(Output(done.stdout, recording.observables))
        return _failure(recording, done)


def compare(before: Sequence[str], after: Sequence[str], runs: int) -> Report:
    """`hotloop compare`: two programs, as they stand."""
    outcome = trial(before, after, runs=runs, names=(shlex.join(before), shlex.join(after)))
    return Report(command="compare", trials=(outcome,))


def trial(
    before: Sequence[str],
    after: Sequence[str],
    *,
    before_cwd: Path | None = None,
    after_cwd: Path | None = None,
    runs: int = 5,
    minimum: int = 3,
    names: tuple[str, str] = ("before", "after"),
    runner: Runner = record,
) -> Trial:
    """Run both in turns (A B, B A, A B, ...) until the ratio of their loop seconds is decided.

    It is decided when its interval excludes 1 by a margin or lies within 0.95 to 1.05, and `minimum` runs
    of each were made; after `runs` of each it is left open. What is timed is `loop_seconds`; where one of
    the two has no loop, both are timed by their whole run less the imports of TensorFlow and Keras.
    """
    if runs < 2:
        raise HotloopError("a comparison needs at least 2 runs of each program to know its own noise.")
    one, two = _Side(names[0], before, before_cwd), _Side(names[1], after, after_cwd)
    for turn in range(runs):
        crash = _turn(one, two, runner, swap=turn % 2 == 1)
        if crash:
            return _conclude(one, two, Sameness(False, (f"`{two.name}` fails: {crash}",)))
        if turn + 1 < min(minimum, runs):
            continue
        sameness = same_results(one.outputs, two.outputs)
        if sameness.same is False or _decided(_timing(one, two).interval):
            break
    return _conclude(one, two, same_results(one.outputs, two.outputs))


def _turn(one: _Side, two: _Side, runner: Runner, swap: bool) -> str:
    """Each program once, `two` first if `swap`. Returns why the second program failed, or nothing."""
    crash = ""
    for side in (two, one) if swap else (one, two):
        failure = side.run(runner)
        if failure and side is one:
            raise HotloopError(f"`{one.name}` fails by itself, so there is nothing to compare with: {failure}")
        crash = crash or failure
    return crash


def _failure(recording: Recording, done: Completed) -> str:
    if done.code == 0:
        return ""
    lines = [line for line in done.stderr.decode("utf-8", errors="replace").splitlines() if line.strip()]
    last = lines[-1].strip() if lines else recording.exit.exception
    ending = f"signal {-done.code}" if done.code < 0 else f"exit code {done.code}"
    return f"{last} ({ending})" if last else ending


# -- how long ------------------------------------------------------------------------------------------------


def loop_seconds(recording: Recording) -> float | None:
    """Seconds during which the program was in a loop; None when no loop ran.

    That is the length of the union of all steps of the program's own loops on the clock, so that a loop
    inside another, in the same function or in one that it calls, counts once. Generators' loops are left
    out: their steps contain their consumer's time. Added to it is the time of Keras' loops (`fit`,
    `evaluate`, `predict`) that were called outside any loop of the program.
    """
    own = [run for run in recording.loops if not run.stack and not run.yields]
    keras = [run for run in recording.loops if run.stack and not recording.loops_around(run.stack)]
    if not own and not keras:
        return None
    return _union([span for run in own for span in _spans(run)]) + sum(run.seconds for run in keras)


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


@dataclass(frozen=True)
class _Timing:
    before: list[float]
    after: list[float]
    ratio: float
    interval: Interval
    whole_run: bool  # no loop on one side: timed by the whole run


def _timing(one: _Side, two: _Side) -> _Timing:
    pairs = min(len(one.recordings), len(two.recordings))
    looped = [[loop_seconds(recording) for recording in side.recordings[:pairs]] for side in (one, two)]
    whole_run = any(not seconds for side in looped for seconds in side)
    if whole_run:
        before, after = ([recording.seconds for recording in side.recordings[:pairs]] for side in (one, two))
    else:
        before, after = ([float(seconds or 0.0) for seconds in side] for side in looped)
    ratio, low, high = _ratio(before, after)
    return _Timing(before, after, ratio, (low, high), whole_run)


def _ratio(before: list[float], after: list[float]) -> tuple[float, float, float]:
    if len(before) < 2 or min(*before, *after) <= 0.0:
        return float("nan"), 0.0, float("inf")
    return bootstrap_ratio(before, after)


def _decided(interval: Interval) -> bool:
    low, high = interval
    return low > SAME[1] or high < SAME[0] or (low >= SAME[0] and high <= SAME[1])


# -- what to say ---------------------------------------------------------------------------------------------


def _conclude(one: _Side, two: _Side, sameness: Sameness) -> Trial:
    timing = _timing(one, two)
    notes = list(sameness.notes)
    if timing.whole_run:
        notes.append("no loop ran on one side: timed by the whole run less the imports of TensorFlow and Keras")
    verdict = _verdict(sameness.same, timing.interval)
    if verdict == "faster" and not timing.whole_run:
        ratio, _, high = _ratio(*([recording.seconds for recording in side.recordings] for side in (one, two)))
        if high < SLOWER:
            verdict = "inconclusive"
            notes.append(f"the loops are faster, but the whole run is slower ({ratio:.2f}x)")
    return Trial(
        before=one.name,
        after=two.name,
        verdict=verdict,
        same_results=sameness.same,
        speedup=timing.ratio,
        interval=timing.interval,
        before_seconds=statistics.median(timing.before),
        after_seconds=statistics.median(timing.after),
        runs=len(timing.before),
        notes=tuple(notes),
        before_bytes=_peak(one),
        after_bytes=_peak(two),
    )


def _verdict(same: bool | None, interval: Interval) -> Verdict:
    low, high = interval
    if same is False:
        return "different-results"
    if same is None:
        return "inconclusive"
    if low > FASTER:
        return "faster"
    if high < SLOWER:
        return "slower"
    return "same" if low >= SAME[0] and high <= SAME[1] else "inconclusive"


def _peak(side: _Side) -> float | None:
    peaks = [float(r.meta["peak_rss"]) for r in side.recordings if r.meta.get("peak_rss")]
    return statistics.median(peaks) if peaks else None
