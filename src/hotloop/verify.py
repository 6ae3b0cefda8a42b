"""Proof: before and after run in turns; are the results the same, and how much faster are the loops?"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from hotloop import leavings
from hotloop.laps import first_steps, lap, loop_seconds, moved_out, traces
from hotloop.model import HotloopError, Recording, Series, Side, Trial, Verdict
from hotloop.record import NO_LIMIT, Completed, Limit, record
from hotloop.results import Output, Sameness, same_results
from hotloop.series import bootstrap_ratio
from hotloop.uttered import of_stderr

Runner = Callable[..., tuple[Recording, Completed]]
Interval = tuple[float, float]

FASTER, SLOWER = 1.02, 0.98
SAME = (0.95, 1.05)
LAST_WORDS = 3  # lines of a traceback that are kept
ENOUGH = 2  # runs of each, below which nothing is known of the noise
SMALL, MORE = 1.5, 2  # a ratio up to which so many more runs are made: a machine may be as busy as that by chance


def _nothing(sentence: str) -> None:
    pass


@dataclass(frozen=True)
class Terms:
    """How a comparison is held: at most `runs` of each, at least `minimum`, until `deadline` (on the monotonic clock).

    `limit`: programs are ended there; with `limit.steps`, those first steps of the main loop are what is timed.
    """

    runs: int = 5
    minimum: int = 3
    limit: Limit = NO_LIMIT
    deadline: float = float("inf")
    runner: Runner = record
    say: Callable[[str], None] = _nothing  # hears what is going on


@dataclass
class Contender:
    """A program and its runs so far. `watch`: the folder whose files are compared; `own`: it is a copy of ours."""

    name: str
    argv: Sequence[str]
    cwd: Path | None = None
    watch: Path | None = None
    own: bool = False
    recordings: list[Recording] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    failure: str = ""

    def run(self, terms: Terms) -> None:
        before = leavings.seen(self.watch) if self.watch else None
        env = {"PYTHONHASHSEED": "0"} | os.environ
        # Only the sampler sees TensorFlow at work in a loop without events, which a limit in steps has to know.
        settings = {"limit": terms.limit, "sample": terms.limit.steps is not None}
        recording, done = terms.runner(self.argv, observe=True, seed=0, capture=True, cwd=self.cwd, env=env, **settings)
        files = leavings.left(self.watch, before) if self.watch else {}
        if self.watch and self.own:
            leavings.tidy(self.watch, before)
        self.recordings.append(recording)
        self.outputs.append(Output(done.stdout, recording.observables, files, done.code, done.stopped))
        self.failure = _failure(recording, done)

    def seconds(self, steps: int | None) -> list[float | None]:
        return [first_steps(one, steps) if steps else loop_seconds(one) for one in self.recordings]


def trial(before: Contender, after: Contender, terms: Terms | None = None) -> Trial:
    return trials(before, [after], terms)[0]


def trials(
    before: Contender, others: Sequence[Contender], terms: Terms | None = None, leader: Contender | None = None
) -> list[Trial]:
    """Run all in turns (A B C, C B A, ...) until the ratio of their loop seconds to those of `before` is decided.

    It is decided when its interval excludes 1 by a margin or lies within 0.95 to 1.05, and `minimum` runs of each
    were made, or some more where the ratio is small; after `runs` of each it is left open. What is timed is
    `loop_seconds`; where one of the two has no loop, both are timed by their whole run less the imports of TensorFlow
    and Keras. When the `leader` is found to be faster, the others are left as they are by then.
    """
    terms = terms or Terms()
    if terms.runs < ENOUGH:
        raise HotloopError("a comparison needs at least 2 runs of each program to know its own noise.")
    open_ones = list(others)
    longest = 0.0
    for turn in range(terms.runs):
        began = monotonic()
        if began + longest > terms.deadline:
            break
        order = [before, *open_ones]
        for contender in reversed(order) if turn % 2 else order:
            terms.say(f"round {turn + 1} of at most {terms.runs}: {contender.name}")
            contender.run(terms)
            if before.failure:
                raise HotloopError(
                    f"`{before.name}` fails by itself, so there is nothing to compare with: {before.failure}"
                )
        longest = max(longest, monotonic() - began)
        open_ones = [one for one in open_ones if not _settled(before, one, terms, turn + 1)]
        led = leader is not None and leader not in open_ones and _conclude(before, leader, terms).verdict == "faster"
        if led or not open_ones:
            break
    return [_conclude(before, one, terms) for one in others]


def _settled(before: Contender, one: Contender, terms: Terms, turns: int) -> bool:
    if one.failure:
        return True
    if turns < min(terms.minimum, terms.runs):
        return False
    if _sameness(before, one).same is False:
        return True
    timing = _timing(before, one, terms)
    small = 1 / SMALL < timing.ratio < SAME[0] or SAME[1] < timing.ratio < SMALL
    return _decided(timing.interval) and turns >= min(terms.minimum + MORE * small, terms.runs)


def _sameness(before: Contender, one: Contender) -> Sameness:
    if one.failure:
        return Sameness(False, (f"`{one.name}` fails: {one.failure}",))
    if len(one.outputs) < ENOUGH:
        return Sameness(None, ("there was no time for enough runs: allow for more (`--runs`, or a larger `--budget`)",))
    return same_results(before.outputs[: len(one.outputs)], one.outputs)


def _failure(recording: Recording, done: Completed) -> str:
    """The last words of a program that crashed; one that ends with a code of its own choice did not."""
    if done.code == 0 or (done.code > 0 and recording.exit.code == done.code and not recording.exit.exception):
        return ""
    stderr = done.stderr.decode("utf-8", errors="replace")
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    ending = f"signal {-done.code}" if done.code < 0 else f"exit code {done.code}"
    if not lines:
        return f"{recording.exit.exception} ({ending})" if recording.exit.exception else ending
    where = [line for line in lines[-2 * LAST_WORDS : -1] if line.startswith("File ")][-1:]
    return f"{of_stderr(stderr)} ({ending}{''.join(f'; {line}' for line in where)})"


# -- how long ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Timing:
    before: list[float]
    after: list[float]
    ratio: float
    interval: Interval
    whole_run: bool  # no loop on one side: timed by the whole run


def _timing(one: Contender, two: Contender, terms: Terms) -> _Timing:
    pairs = min(len(one.recordings), len(two.recordings))
    looped = [side.seconds(terms.limit.steps)[:pairs] for side in (one, two)]
    whole_run = any(not seconds for side in looped for seconds in side)
    if whole_run:
        before, after = ([recording.seconds for recording in side.recordings[:pairs]] for side in (one, two))
    else:
        before, after = ([float(seconds or 0.0) for seconds in side] for side in looped)
    if terms.limit.steps and not whole_run:
        sides = zip(after, one.recordings, two.recordings, strict=False)
        after = [seconds + moved_out(first, second) for seconds, first, second in sides]
    ratio, low, high = _ratio(before, after)
    return _Timing(before, after, ratio, (low, high), whole_run)


def _ratio(before: list[float], after: list[float]) -> tuple[float, float, float]:
    """With an interval that reaches to the ratio of the quickest runs, which a busy machine has disturbed least."""
    if len(before) < ENOUGH or min(*before, *after) <= 0.0:
        return float("nan"), 0.0, float("inf")
    ratio, low, high = bootstrap_ratio(before, after)
    quickest = min(before) / min(after)
    return ratio, min(low, quickest), max(high, quickest)


def _decided(interval: Interval) -> bool:
    low, high = interval
    return low > SAME[1] or high < SAME[0] or (low >= SAME[0] and high <= SAME[1])


# -- what to say -------------------------------------------------------------------------------------------------------


def _conclude(one: Contender, two: Contender, terms: Terms) -> Trial:
    timing, sameness = _timing(one, two, terms), _sameness(one, two)
    notes = list(sameness.notes)
    verdict = _verdict(sameness.same, timing.interval)
    if timing.whole_run and terms.limit != NO_LIMIT:
        verdict = "inconclusive" if sameness.same is not False else verdict
        if not two.failure:
            notes.append("one of the two did not come to the same number of steps, so that their times say nothing")
    elif timing.whole_run:
        notes.append("no loop ran on one side: timed by the whole run less the imports of TensorFlow and Keras")
    elif terms.limit.steps:
        notes.append(f"compared over the first {terms.limit.steps} steps of the main loop, less its warm-up")
    elif verdict == "faster":
        ratio, _, high = _ratio(*([recording.seconds for recording in side.recordings] for side in _paired(one, two)))
        if high < SLOWER:
            verdict = "inconclusive"
            notes.append(f"the loops are faster, but the whole run is slower ({ratio:.2f}x)")
    sides = (_side(one, timing.before), _side(two, timing.after))
    return Trial(
        before=one.name,
        after=two.name,
        verdict=verdict,
        same_results=sameness.same,
        speedup=timing.ratio,
        interval=timing.interval,
        before_seconds=sides[0].seconds,
        after_seconds=sides[1].seconds,
        runs=len(timing.before),
        notes=tuple(notes),
        before_bytes=sides[0].bytes,
        after_bytes=sides[1].bytes,
        level=sameness.level,
        sides=sides,
    )


def _paired(one: Contender, two: Contender) -> tuple[Contender, Contender]:
    pairs = min(len(one.recordings), len(two.recordings))
    first, second = (Contender(side.name, side.argv, recordings=side.recordings[:pairs]) for side in (one, two))
    return first, second


def _side(side: Contender, seconds: Sequence[float]) -> Side:
    laps = [found for recording in side.recordings if (found := lap(recording))]
    peaks = [float(r.meta["peak_rss"]) for r in side.recordings if r.meta.get("peak_rss")]
    slopes = [one.bytes_per_step for one in laps if one.bytes_per_step is not None]
    return Side(
        side.name,
        seconds=_median(seconds) or 0.0,
        whole_seconds=_median([recording.seconds for recording in side.recordings]) or 0.0,
        runs=tuple(seconds),
        step_seconds=_median([one.step_seconds for one in laps]),
        steps=laps[-1].steps if laps else 0,
        series=laps[-1].series if laps else Series("step", "seconds"),
        traces=_median([traces(recording) for recording in side.recordings]) or 0,
        bytes=_median(peaks),
        bytes_per_step=_median(slopes),
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


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
