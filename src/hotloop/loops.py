"""Which loops matter in a recording, how they lie in each other, and where their time went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from hotloop import series
from hotloop.model import LineCost, LoopRun, LoopSummary, Place, Recording, Sample

KERAS = ("fit", "evaluate", "predict")
MATTERS = 0.05  # of the run
COMPREHENSION_MATTERS = 0.2
HOLDS_ITS_PARENT = 0.5
IN_KERAS = 0.1  # the same, of `fit`, `evaluate` and `predict`
SHOWN = 6


@dataclass(frozen=True)
class Hold:
    """How a loop holds a sample: by which frame of its stack, and whether only by the loop's header line."""

    depth: int
    header: bool


class Nest:
    """The loops of one recording and the samples in each; loops go by their index in `recording.loops`."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.runs = recording.loops
        self._by_path: dict[str, list[int]] = defaultdict(list)
        for index, run in enumerate(self.runs):
            self._by_path[run.place.path].append(index)
        self.held = [(sample, self._holds(sample)) for sample in recording.samples]
        self._sampled: dict[int, float] = defaultdict(float)
        self._shared: dict[tuple[int, int], float] = defaultdict(float)
        for sample, holds in self.held:
            self._count(sample, holds)
        self.around = {index: set(self._around(index)) for index in range(len(self.runs))}

    def parent(self, index: int, among: set[int]) -> int | None:
        """The innermost of `among` around a loop."""
        outer = self.around[index] & among
        return max(outer, key=lambda other: len(self.around[other] & outer), default=None)

    def phases(self, index: int) -> dict[str, float]:
        """Seconds per phase, adding up to the loop's own; empty when no sample fell into it.

        A sample on the header line of a `for` is either the making of the iterable, before the loop, or the
        wait for its next item, within: it counts as far as the loop has time that its body does not explain.
        """
        run = self.runs[index]
        body, header = defaultdict[str, float](float), defaultdict[str, float](float)
        for sample, holds in self.held:
            if hold := holds.get(index):
                (header if hold.header else body)[sample.phase] += sample.seconds
        in_body, in_header = sum(body.values()), sum(header.values())
        waited = min(in_header, max(0.0, run.seconds - in_body))
        for phase, seconds in header.items():
            body[phase] += seconds * waited / in_header if in_header else 0.0
        total = sum(body.values())
        scale = run.seconds / total if total else 0.0
        return {p: s * scale for p, s in sorted(body.items(), key=lambda item: -item[1]) if s * scale > 0}

    def _holds(self, sample: Sample) -> dict[int, Hold]:
        holds: dict[int, Hold] = {}
        for depth, frame in enumerate(sample.stack):
            for index in self._by_path.get(frame.path, ()):
                run = self.runs[index]
                if run.place.covers(frame) and (index not in holds or holds[index].header):
                    holds[index] = Hold(depth, _is_header(run, frame))
        return holds

    def _count(self, sample: Sample, holds: dict[int, Hold]) -> None:
        for inner, hold in holds.items():
            self._sampled[inner] += sample.seconds
            for outer, other in holds.items():
                if hold.depth < other.depth:
                    self._shared[inner, outer] += sample.seconds

    def _around(self, index: int) -> Iterator[int]:
        run = self.runs[index]
        for other, outer in enumerate(self.runs):
            if other == index or outer.kind in KERAS:
                continue
            if run.kind in KERAS:
                inside = any(outer.place.covers(frame) for frame in (run.place, *run.stack))
            else:
                inside = _contains(outer.place, run.place)
            # Through calls: most of what was sampled in the loop was sampled under the other one.
            if inside or (self._shared[index, other] > 0.5 * self._sampled[index] > 0):
                yield other


def summaries(nest: Nest) -> list[tuple[int, LoopSummary]]:
    """The loops worth a line: the outermost by time, each followed by those that hold most of its time."""
    shown: list[int] = []
    candidates = {index for index, run in enumerate(nest.runs) if _matters(run, nest.recording.seconds)}

    def add(parent: int | None) -> None:
        mine = [i for i in candidates if i not in shown and nest.parent(i, candidates) == parent]
        for index in sorted(mine, key=lambda i: -nest.runs[i].seconds):
            if parent is None or _adds_to(nest.runs[parent], nest.runs[index]):
                shown.append(index)
                add(index)

    add(None)
    return [(index, _summary(nest, index)) for index in shown[:SHOWN]]


def line_costs(recording: Recording) -> tuple[LineCost, ...]:
    """What each line of the program cost, in the order of the source."""
    found: dict[Place, dict[str, float]] = {}
    for sample in recording.samples:
        for frame in dict.fromkeys(sample.stack):  # a line that calls itself is paid once
            phases = found.setdefault(frame, {})
            phases[sample.phase] = phases.get(sample.phase, 0.0) + sample.seconds
    return tuple(LineCost(place, sum(phases.values()), phases) for place, phases in sorted(found.items()))


def _summary(nest: Nest, index: int) -> LoopSummary:
    run = nest.runs[index]
    steps = run.step_seconds.values
    return LoopSummary(run, series.median(steps[series.warm_up(steps) :]), nest.phases(index))


def _matters(run: LoopRun, seconds: float) -> bool:
    # A generator's loop is its consumer's time seen from the other side; one step is no loop.
    if run.yields or run.steps < 2:
        return False
    return run.seconds >= seconds * (COMPREHENSION_MATTERS if run.kind == "comprehension" else MATTERS)


def _adds_to(outer: LoopRun, inner: LoopRun) -> bool:
    """Holds most of the time, in steps of its own: one inner step per outer step is the same loop again.

    What Keras does there is work of its own, even beside more of it: training, and then a long evaluation.
    """
    share = IN_KERAS if inner.kind in KERAS else HOLDS_ITS_PARENT
    return inner.seconds >= share * outer.seconds and inner.steps > outer.steps


def _is_header(run: LoopRun, frame: Place) -> bool:
    return run.kind == "for" and frame.line == run.place.line < run.place.end_line


def _contains(outer: Place, inner: Place) -> bool:
    if outer.path != inner.path or outer == inner:
        return False
    starts = (outer.line, outer.col) <= (inner.line, inner.col)
    return starts and (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)
