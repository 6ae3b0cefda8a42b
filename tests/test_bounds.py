"""However long a program runs and whatever it does, recording it takes little memory and leaves a small file."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter_ns

import pytest

from hotloop.model import Place, Recording
from hotloop.record import record
from hotloop.record.frames import Frames, Stack
from hotloop.record.probes.eager import OpCounter
from hotloop.record.recorder import Recorder
from hotloop.record.sampler import Sampler
from hotloop.record.track import BACKLOG, REST, Bins, Track, ceiling_for

MEMORY, FILE = 64e6, 50e6
LOOPS, ROUNDS, STEPS = 150, 3, 1000
EVENTS, SAMPLES = 8_000, 6_000


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def stacks(count: int) -> Iterator[Stack]:
    """Hardly two of them equal."""
    draw = random.Random(0)
    for _ in range(count):
        yield tuple((f"package/module_{draw.randrange(50)}.py", draw.randrange(5000)) for _ in range(8))


@pytest.mark.usefixtures("traced")
def test_thousands_of_stacks_and_hundreds_of_full_loops_stay_small_and_exactly_counted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.json", tmp_path / "p.py", [], Frames(tmp_path / "p.py", tmp_path))
    now = perf_counter_ns() - 10**12
    recorder.tracks += [Track(Place("p.py", 3 * i + 1, 0, 3 * i + 2, 0), "for", "main") for i in range(LOOPS)]
    for _ in range(ROUNDS):
        for track in recorder.tracks:
            track.ticks.extend(range(now, now + 7 * STEPS, 7))
            now += 7 * STEPS
            track.marks.append(-now)
        recorder.drain()
    for number, stack in enumerate(stacks(EVENTS)):
        example = {"function": "f" * 40, "argument": "x", "now": "a" * 100, "before": "b" * 100, "number": number}
        recorder.log.emit("trace.value", f"function_{number}", 0.5, stack, {"ops": 2.0, "bytes": 1.0}, example)
    sampler = Sampler(recorder.log, OpCounter(), lambda: False, recorder.saw)
    for stack in stacks(SAMPLES):
        sampler._entry("compute", stack).add(0.25, None)
    recorder.samples = sampler.samples
    recorder.write()
    assert tracemalloc.get_traced_memory()[1] < MEMORY
    assert (tmp_path / "r.json").stat().st_size < FILE
    tracemalloc.stop()
    recording = Recording.load(tmp_path / "r.json")
    assert {run.steps for run in recording.loops} == {ROUNDS * STEPS}
    assert all(len(run.step_seconds.values) >= 32 for run in recording.loops)
    traces = list(recording.of_kind("trace.value"))
    assert len(traces) < 0.5 * EVENTS
    assert sum(event.count for event in traces) == EVENTS
    assert sum(event.totals["ops"] for event in traces) == 2 * EVENTS
    assert sum(sample.count for sample in recording.samples) == SAMPLES
    assert sum(sample.seconds for sample in recording.samples) == pytest.approx(SAMPLES / 4)


@pytest.mark.parametrize("steps", [1, 100, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("ceiling", [16, 512])
def test_fewer_bins_hold_the_same_time(steps: int, ceiling: int) -> None:
    bins = Bins()
    edges = [10 * i for i in range(steps + 1)]
    bins.extend(edges)
    bins.lower(ceiling)
    bins.extend([edges[-1] + 10 * i for i in range(steps + 1)])
    step, clock = bins.series(0)
    assert len(bins.sums) <= ceiling
    assert sum(bins.sums) == 20 * steps
    assert set(step.values) == {1e-8}
    assert clock.at == step.at
    assert bins.starts == [10 * int(at) for at in step.at]


def test_loops_share_a_fixed_number_of_bins() -> None:
    assert [ceiling_for(loops) for loops in (1, 64, 65, 1000, 100_000)] == [1024, 1024, 512, 64, 16]


def short_runs(runs: int, steps: int) -> tuple[list[int], list[int]]:
    """Ticks and marks of a loop that is entered again and again: 3 until its first step, 5 each, 11 until the next."""
    ticks, marks, now = [], [], 100
    for _ in range(runs):
        marks.append(now)
        ticks += [now + 3 + 5 * step for step in range(steps)]
        now += 3 + 5 * steps
        marks.append(-now)
        now += 11
    return ticks, marks


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_short_runs_taken_in_by_the_hundred_count_the_same_as_one_by_one(steps: int) -> None:
    ticks, marks = short_runs(6000, steps)
    place = Place("p.py", 1)
    at_once, one_by_one = Track(place, "comprehension", ""), Track(place, "comprehension", "")
    for track in (at_once, one_by_one):
        track.ticks.extend(ticks)
        track.marks.extend(marks)
    at_once.drain(marks[0])  # the first run has begun
    at_once.drain(10**9)
    for now in range(0, marks[-1] * -1 + 1000, 1000):
        one_by_one.drain(now)
    seen, expected = at_once.loop_run(0, 10**9), one_by_one.loop_run(0, 10**9)
    assert (seen.runs, seen.steps, seen.seconds) == (expected.runs, expected.steps, expected.seconds)
    assert (seen.runs, seen.steps) == (6000, 6000 * steps)
    assert seen.step_seconds.at == expected.step_seconds.at
    assert sum(at_once.bins.sums) == ((3 + 5 * steps) * 6000 - 3) * bool(steps)


def test_a_loop_that_is_entered_too_often_to_note_goes_unmarked_for_a_while_and_its_time_is_still_known() -> None:
    track = Track(Place("p.py", 1), "for", "")

    def enter(begin: int, times: int) -> None:
        for at in range(begin, begin + 2_000 * times, 2_000):  # nanoseconds: half of them in the loop
            track.marks.extend((at, -(at + 1_000)))
            track.ticks.append(at + 10)

    enter(1_000, 100)
    track.drain(201_000)
    assert track.switch.marks
    enter(201_000, 4_000)
    track.drain(8_201_000)
    assert (track.switch.marks, track.switch.on) == (False, False)
    later = 8_201_000 + REST
    track.credit(0.5, (("p.py", 1), ("p.py", 7)))  # it was seen there for half a second
    track.credit(0.3, (("p.py", 7),))
    seen = track.loop_run(0, later)
    assert seen.seconds == pytest.approx(0.0041 + 0.5)
    assert (seen.runs, seen.counted) == (4_100, False)
    assert track.wake(later)
    assert track.switch.marks
    track.marks.append(-(later + 500))  # it was inside when it woke
    enter(later + 1_000, 4_000)
    track.drain(later + 8_001_000)
    assert track.loop_run(0, later + 8_001_000).seconds == pytest.approx(0.0081 + 0.5)


def test_steps_that_could_not_be_held_are_admitted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.json", tmp_path / "p.py", [], Frames(tmp_path / "p.py", tmp_path))
    track = Track(Place("p.py", 1), "for", "")
    recorder.tracks.append(track)
    track.ticks.extend(range(BACKLOG + 1))
    recorder.drain()
    assert recorder.recording().meta["unseen"] == ["Not all steps of the loop at p.py:1 could be counted."]


TIGHT = """\
import resource
total = 0
for i in range(1500):
    for j in range(1000):
        total += [k for k in (j,)][0]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_a_tight_loop_is_counted_to_the_last_step_or_says_that_it_is_not_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TIGHT)
    plain = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, check=True)
    recording, done = record(["program.py"], cwd=tmp_path, capture=True)
    expected = [(1, 1500), (1500, 1_500_000), (1_500_000, 1_500_000)]
    found = sorted(recording.loops, key=lambda run: run.place)
    for run, (runs, steps) in zip(found, expected, strict=True):
        assert (run.runs, run.steps) == (runs, steps) if run.counted else run.runs <= runs and run.steps < steps
    assert found[0].counted
    assert 1.1 * found[0].seconds > found[2].seconds > 0.1 * found[0].seconds, "known nevertheless"
    assert not recording.meta["unseen"]
    assert 1024 * (int(done.stdout) - int(plain.stdout)) < MEMORY
