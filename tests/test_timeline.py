"""What happened when is kept in bounded memory, and nothing of it is lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.record.frames import Frames
from hotloop.record.log import PASSING, TIMES, Alike, Log
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


@pytest.mark.parametrize("often", [1, 63, 64, 100, 10_000])
def test_events_that_are_all_alike_are_counted_exactly_and_looked_at_ever_less(often: int, tmp_path: Path) -> None:
    log = Log(Frames(tmp_path / "p.py", tmp_path), 0)
    at = 0
    log.now = lambda: float(at)  # type: ignore[method-assign]
    tally = log.tally("session.run", "", ())
    alike, looks, stood_for = Alike(), 0, 0
    for number in range(often):
        at = number
        if not alike.passes():
            looks += 1
            stood_for += alike.stands_for
            alike.add(tally, 0.5)
    (event,) = log.events()
    assert event.count == often
    assert looks == often if often <= TIMES else often / (1 + PASSING) <= looks < often
    assert often - PASSING <= stood_for <= often
    assert event.seconds == stood_for * 0.5
    gaps = {later - earlier for earlier, later in zip(event.times, event.times[1:], strict=False)}
    assert len(gaps) <= 1


def test_an_event_unlike_those_before_it_has_the_next_looked_at(tmp_path: Path) -> None:
    log = Log(Frames(tmp_path / "p.py", tmp_path), 0)
    here, there, alike = log.tally("call", "f", (("p.py", 1),)), log.tally("call", "f", (("p.py", 2),)), Alike()
    for _ in range(1000):
        if not alike.passes():
            alike.add(here, 1.0)
    while alike.passes():
        pass
    before = here.seconds
    alike.add(there, 1.0)
    assert (here.seconds, there.seconds, there.count) == (before, 1.0, 1)
    assert not alike.passes()  # the other line is known too little
    for _ in range(1000):
        if not alike.passes():
            alike.add(there, 1.0)
    alike.wake()
    assert not alike.passes()
    assert alike.stands_for == 1
