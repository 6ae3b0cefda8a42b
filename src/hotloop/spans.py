"""Stretches of a run against each other: what a step of each is handed, computes, and spends in each phase."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from hotloop import series, words
from hotloop.model import Recording, Series

MOMENT = 0.5  # seconds: in less, neither the machine nor the phases can be judged
LOOKS = 3  # at least
OWN = 0.5  # of what a step takes longer, that the program itself computes: else the machine had others to serve
OTHER_MIX = 0.25  # by which a phase's share rises: a neighbour that halves the speed of one phase alone makes 0.18
MOSTLY = 0.4  # of what a step takes longer, for a phase to be named
MUCH, MUCH_OF_THE_RUN = 2.0, 0.1  # seconds, that something harmless costs before it is worth a word
MUCH_TO_START = 10.0  # the same, of a first epoch that traces: they all do
SPENDS = {
    "trace": "tracing", "setup": "preparing sessions and models", "input": "waiting for input",
    "compute": "in TensorFlow", "fetch": "copying results", "library": "in the Python of libraries",
    "python": "in its own Python",
}  # fmt: skip


@dataclass(frozen=True)
class Span:
    """So many steps, from `begin` to `end` in seconds since the recording began."""

    recording: Recording
    begin: float
    end: float
    steps: float

    @property
    def cpu(self) -> float | None:
        return self._each(self.recording.cpu.at, self.recording.cpu.values)

    @property
    def queued(self) -> float | None:
        return self._each(self.recording.queued.at, self.recording.queued.values)

    @property
    def handed(self) -> float | None:
        return self._each(self.recording.inputs.at, self.recording.inputs.values)

    @property
    def phases(self) -> dict[str, float]:
        """Seconds of a step by phase; empty where the run was not looked at closely enough."""
        found = {one.name: self._each(*_summed(one)) for one in self.recording.phases}
        return {name: seconds for name, seconds in found.items() if seconds is not None}

    def _each(self, at: Sequence[float], totals: Sequence[float]) -> float | None:
        """What a sum over time gained meanwhile, by step; None: there are too few looks to tell."""
        import numpy as np

        if self.steps <= 0 or sum(self.begin <= one <= self.end for one in at) < LOOKS:
            return None
        begin, end = np.interp([self.begin, self.end], at, totals)
        return float(end - begin) / self.steps


def costs_much(seconds: float, recording: Recording, least: float = MUCH) -> bool:
    return seconds >= max(least, MUCH_OF_THE_RUN * recording.seconds)


def handed_more(fast: Span, slow: Span, times: float) -> bool:
    """Whether a step of `slow` is handed so much more that it may well take `times` as long: up to the square."""
    before, after = fast.handed, slow.handed
    if not before or not after or before < 0:
        return False
    more = after / before
    return more >= series.SUBSTANTIAL and times <= series.SUBSTANTIAL * more**2


def of_its_own(fast: Span, slow: Span, longer: float) -> bool:
    """Whether the program made a step so much `longer`, not the machine: it computes more, or does other things.

    Where others take their share of the machine, a step computes as much as before, and all phases take longer alike.
    """
    before, after = fast.cpu, slow.cpu
    if before is not None and after is not None and after - before >= OWN * longer:
        return True
    return does_other_things(fast, slow)


def does_other_things(fast: Span, slow: Span) -> bool:
    """Whether a phase has a much larger share of a step."""
    usual, unusual = _shares(fast.phases), _shares(slow.phases)
    return any(share - usual.get(name, 0.0) >= OTHER_MIX for name, share in unusual.items())


def spends(fast: Span, slow: Span, longer: float, steps: float = 1.0) -> str:
    """Where so many steps of `slow` spent most of what each took `longer`: "1.9 s more waiting for input", or ""."""
    most, more = took_over(fast, slow)
    if not most or more < MOSTLY * longer:
        return ""
    return f"{words.duration(min(more, longer) * steps)} more {SPENDS[most]}"


def took_over(fast: Span, slow: Span) -> tuple[str, float]:
    """The phase in which a step of `slow` spends more, and how many seconds."""
    usual = fast.phases
    more = {name: seconds - usual.get(name, 0.0) for name, seconds in slow.phases.items() if name in SPENDS}
    most = max(more, key=lambda name: more[name], default="")
    return most, more.get(most, 0.0)


def _summed(bins: Series) -> tuple[list[float], list[float]]:
    """Seconds by bin as seconds until then."""
    edges = [*bins.at, bins.at[-1] + series.stride(bins.at)] if bins.at else []
    return edges, list(itertools.accumulate(bins.values, initial=0.0))


def _shares(seconds: dict[str, float]) -> dict[str, float]:
    total = sum(seconds.values())
    return {name: value / total for name, value in seconds.items()} if total > 0 else {}
