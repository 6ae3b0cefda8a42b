"""Seconds per phase over time, in bounded memory: when all bins are full, neighbours merge."""

from __future__ import annotations

from hotloop.model import Series

CEILING = 256  # bins
NARROWEST = 0.1  # seconds: a few samples


class Timeline:
    def __init__(self) -> None:
        self._width = NARROWEST
        self._bins: dict[str, list[float]] = {}

    def add(self, now: float, phase: str, seconds: float) -> None:
        """`seconds` that ended `now`."""
        at = max(0, int(now / self._width))
        while at >= CEILING:
            self._merge()
            at = int(now / self._width)
        bins = self._bins.setdefault(phase, [])
        if at >= len(bins):
            bins += [0.0] * (at + 1 - len(bins))
        bins[at] += seconds

    def _merge(self) -> None:
        self._width *= 2
        for phase, bins in self._bins.items():
            self._bins[phase] = [sum(bins[at : at + 2]) for at in range(0, len(bins), 2)]

    def series(self) -> tuple[Series, ...]:
        """One for each phase, all over the same bins. `at`: where a bin begins."""
        bins = {phase: list(values) for phase, values in list(self._bins.items())}
        length = max(map(len, bins.values()), default=0)
        at = tuple(round(index * self._width, 3) for index in range(length))
        return tuple(
            Series(phase, "s", at, tuple(round(v, 4) for v in values) + (0.0,) * (length - len(values)))
            for phase, values in bins.items()
        )
