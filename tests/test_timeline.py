"""What happened when is kept in bounded memory, and nothing of it is lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.record.frames import Frames
from hotloop.record.log import TIMES, Log
from hotloop.record.timeline import CEILING, Timeline


@pytest.mark.parametrize("seconds", [1, 100, 100_000])
def test_phases_over_time_add_up_however_long_the_run(seconds: int) -> None:
    timeline = Timeline()
    for tick in range(1000):
        timeline.add(seconds * tick / 1000, "compute" if tick < 500 else "python", 0.25)
    compute, python = timeline.series()
    assert compute.at == python.at
    assert len(compute.at) == len(compute.values) == len(python.values) <= CEILING
    assert (sum(compute.values), sum(python.values)) == (125.0, 125.0)
    middle = compute.at.index(max(at for at, value in zip(compute.at, compute.values, strict=True) if value))
    assert compute.at[middle] == pytest.approx(seconds / 2, rel=0.1, abs=0.1)


@pytest.mark.parametrize("often", [1, 10, 63, 64, 10_000])
def test_an_event_remembers_when_it_happened_evenly_and_in_bounds(often: int, tmp_path: Path) -> None:
    log = Log(Frames(tmp_path / "p.py", tmp_path), 0)
    clock = iter(range(often + 1))
    log.now = lambda: float(next(clock))  # type: ignore[method-assign]
    tally = log.tally("trace.first", "step", ())
    for _ in range(often):
        tally.add(0.1)
    (event,) = log.events()
    assert event.count == often
    assert len(event.times) == often if often < TIMES else TIMES / 2 <= len(event.times) < TIMES
    gaps = {later - earlier for earlier, later in zip(event.times, event.times[1:], strict=False)}
    assert len(gaps) <= 1
