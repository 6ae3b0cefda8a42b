"""What is seen of a loop before any cause: it gets slower, it grows, leaves the device idle, or its epochs differ."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hotloop import changes, series, words
from hotloop.epochs import Epochs, each_longer, of_loops, one_stands_out
from hotloop.loops import Nest
from hotloop.model import Event, LoopRun, LoopSummary, Recording, Series, Symptom

LEAK_PER_STEP = 1_000.0  # bytes
LEAK_IN_ALL = 20e6
LEAK_IF_LINEAR = 8e6  # what we note of a program ourselves grows by less
OF_ITS_OWN = 0.5  # of a loop's growth, at least, that falls within its steps and not between them
COLLECTED = 0.6  # of its growth, that is in arrays which the program keeps itself
NOTICEABLE = 0.1  # seconds in a loop: below, its trend is nobody's trouble
IDLE = 0.5  # of the loop, from which a device that does nothing is worth a word
LOOKS = 8  # at a device during a loop: fewer say nothing, and they are a tenth of a second apart
BYTES_OF_ONE = 400  # at most, that computing needs for each element it is handed: what lies between included
BUSY, MEMORY = " busy", " memory"  # how the series of a device are named, after the device
OF_STEP_TIME = {"degrading", "slowed", "changed"}
MEANWHILE = {
    "trace": "traced", "setup": "prepared", "input": "waited for input", "fetch": "copied results",
    "library": "was in the Python of libraries", "python": "was in its own Python",
}  # fmt: skip


@dataclass(frozen=True)
class Remark:
    """What is worth knowing of a loop, and no ailment."""

    kind: str
    message: str


def examined(nest: Nest, loops: Sequence[tuple[int, LoopSummary]]) -> tuple[list[Symptom], list[LoopSummary]]:
    """The symptoms of some loops, and the loops with their epochs and with what else there is to remark."""
    held, told = of_loops(nest, [index for index, _ in loops])
    said = _without_echo(nest, loops, held)
    said += [(index, one) for index, epochs in told.items() for one in _of_epochs(nest, index, epochs, said)]
    remarks: dict[int, list[str]] = defaultdict(list)
    for index, one in said:
        if isinstance(one, Remark):
            remarks[index].append(one.message)
    summaries = [
        replace(
            summary, epochs=held[index].each if index in held else summary.epochs, remarks=tuple(remarks.get(index, ()))
        )
        for index, summary in loops
    ]
    return [one for _, one in said if isinstance(one, Symptom)], summaries


def _without_echo(
    nest: Nest, loops: Iterable[tuple[int, LoopSummary]], epochs: Mapping[int, Epochs]
) -> list[tuple[int, Symptom | Remark]]:
    """What a loop shares with one around it is said of the outer one alone."""
    said: list[tuple[int, Symptom | Remark]] = []
    for index, summary in loops:
        around = [nest.runs[other].clock.values for other in nest.around[index]]
        for one in _of_loop(nest.runs[index], summary.phases, nest.recording, around, epochs.get(index)):
            if not any(at in nest.around[index] and _covers(other, one) for at, other in said):
                said.append((index, one))
    return said


def _covers(said: Symptom | Remark, one: Symptom | Remark) -> bool:
    """Whether nothing is left to say: an ailment is not passed over for a remark."""
    alike = said.kind == one.kind or {said.kind, one.kind} <= OF_STEP_TIME
    return alike and not (isinstance(said, Remark) and isinstance(one, Symptom))


def _of_epochs(
    nest: Nest, index: int, epochs: Epochs, said: Sequence[tuple[int, Symptom | Remark]]
) -> Iterator[Symptom | Remark]:
    """How the epochs of a loop compare, where nothing has been said yet of how its steps do."""
    told = {at for at, one in said if one.kind in OF_STEP_TIME}
    if any(at == index or at in nest.around[index] or index in nest.around[at] for at in told):
        return
    place = nest.runs[index].place
    if longer := each_longer(epochs, nest.recording):
        yield Symptom("degrading", place, longer[1], "seconds/1000 steps", longer[0])
    elif one := one_stands_out(epochs, nest.recording):
        yield Remark("epoch", one)


def _of_loop(
    run: LoopRun,
    phases: Mapping[str, float],
    recording: Recording,
    around: Sequence[Sequence[float]],
    epochs: Epochs | None,
) -> Iterator[Symptom | Remark]:
    held = [("memory", recording.memory)]
    held += [(f"memory of {s.name.removesuffix(MEMORY)}", s) for s in recording.devices if s.name.endswith(MEMORY)]
    busy = [s for s in recording.devices if s.name.endswith(BUSY)]
    leaks = [_leaking(run, *one, around, recording) for one in held]
    found: list[Symptom | Remark | None] = [
        _degrading(run, recording) or _changed(run, recording, epochs),
        *leaks,
        None if any(leaks) else _more_memory(run, recording, epochs),
        *(_idle(run, phases, one) for one in busy),
    ]
    return (one for one in found if one)


def _degrading(run: LoopRun, recording: Recording) -> Symptom | None:
    if not run.counted:
        return None  # it went uncounted because nothing happens in it
    line = series.trend(run.step_seconds.at, run.step_seconds.values)
    if not line.significant or run.seconds < NOTICEABLE or _fed_more(run, recording):
        return None
    start, end = words.duration(line.start), words.duration(line.end)
    message = f"step time grows from {start} to {end} over {words.plural(run.steps, 'step')}"
    per_thousand = line.slope * 1000, (line.low * 1000, line.high * 1000)
    return Symptom("degrading", run.place, per_thousand[0], "seconds/1000 steps", message, per_thousand[1])


def _changed(run: LoopRun, recording: Recording, epochs: Epochs | None) -> Symptom | Remark | None:
    change = changes.of_steps(run, recording, epochs)
    if change is None:
        return None
    more = change.jump.after - change.jump.before
    return (
        Symptom("slowed", run.place, more, "seconds/step", change.message)
        if change.ailment
        else Remark("changed", change.message)
    )


def _more_memory(run: LoopRun, recording: Recording, epochs: Epochs | None) -> Remark | None:
    message = changes.of_memory(run, recording, epochs)
    return Remark("memory", message) if message else None


def _leaking(
    run: LoopRun, name: str, memory: Series, around: Sequence[Sequence[float]], recording: Recording
) -> Symptom | Remark | None:
    import numpy as np

    clock = run.clock
    if len(clock.values) < 2:
        return None
    within = _within(run, memory)
    levels = [memory.values[i] for i in within]
    steps = [float(s) for s in np.interp([memory.at[i] for i in within], clock.values, clock.at)]
    if len({int(step) for step in steps[len(steps) // 5 :]}) < series.FEWEST:
        return None  # it rose within a few long steps, which says nothing about the next ones
    # Even in steps, not in time: long first steps, which trace, would have most of the looks.
    even = [float(step) for step in np.linspace(steps[0], steps[-1], len(steps))]
    levels = [float(level) for level in np.interp(even, steps, levels)]
    line = series.growth(even, levels)
    rise = line.slope * run.steps
    if not line.significant or line.low < LEAK_PER_STEP:
        return None
    if rise < LEAK_IN_ALL and not (rise > LEAK_IF_LINEAR and series.linear(even, levels)):
        return None
    if rise < BYTES_OF_ONE * _fed_more(run, recording):
        return None  # larger steps need more room
    if any(_gained_within(run, memory, outer) < OF_ITS_OWN * line.slope for outer in around):
        return None  # it rises when the loop is entered, with another model say, and not with its steps
    each, total = words.size(line.slope), words.size(rise)
    message = f"{name} grows by {each} per step, {total} in {words.plural(run.steps, 'step')}"
    if collected := _collected(run, memory, recording):
        return Remark("memory", f"{message}: `{collected.subject}` holds arrays ({collected.place})")
    return Symptom("leaking", run.place, line.slope, "bytes/step", message, (line.low, line.high))


def _collected(run: LoopRun, memory: Series, recording: Recording) -> Event | None:
    """The list, or the like, of arrays that the loop's memory went into: what a program collects is its result."""
    import numpy as np

    for event in recording.of_kind("held.arrays"):
        if any(run.place.covers(frame) for frame in event.stack):
            last = event.examples[-1]
            before, then = np.interp([run.clock.values[0], float(last["at"])], memory.at, memory.values)
            if float(last["bytes"]) >= COLLECTED * (then - before):
                return event
    return None


def _gained_within(run: LoopRun, memory: Series, outer: Sequence[float]) -> float:
    """Bytes per step within the steps of a loop around this one, less the first fifth of each, where code is traced."""
    import numpy as np

    clock, gained, walked = run.clock.values, 0.0, 0.0
    for begin, end in itertools.pairwise((*outer, math.inf)):
        inner = [index for index, at in enumerate(clock) if begin <= at < end]
        first = inner[-(-len(inner) // 5)] if len(inner) > 2 else 0
        if len(inner) > 2 and inner[-1] > first:
            levels = np.interp([clock[first], clock[inner[-1]]], memory.at, memory.values)
            gained += float(levels[1] - levels[0])
            walked += run.clock.at[inner[-1]] - run.clock.at[first]
    return gained / walked if walked else math.inf


def _idle(run: LoopRun, phases: Mapping[str, float], busy: Series) -> Symptom | None:
    """Of the looks at a device during a loop, how much it did nothing, and what the loop did most meanwhile.

    Its first step traces, with the device idle: that is no more than a part of starting.
    """
    first = run.step_seconds.values[0] if run.steps > 1 and run.step_seconds.at[1:2] == (1.0,) else 0.0
    looks = [busy.values[i] for i in _within(run, busy) if busy.at[i] >= run.clock.values[0] + first]
    phases = {**phases, "trace": max(0.0, phases.get("trace", 0.0) - first)}
    if len(looks) < LOOKS:
        return None
    idle = 1.0 - sum(looks) / len(looks)
    if idle < IDLE:
        return None
    beside = {phase: seconds for phase, seconds in phases.items() if phase in MEANWHILE}
    most = max(beside, key=lambda phase: beside[phase], default="")
    share = beside.get(most, 0.0) / max(1e-9, sum(phases.values()))
    meanwhile = f"; the loop {MEANWHILE[most]} for {words.percent(share)} of its time" if share > 0.1 else ""
    message = f"{busy.name.removesuffix(BUSY)} was idle for {words.percent(idle)} of the time{meanwhile}"
    return Symptom("idle-device", run.place, idle, "share", message)


def _fed_more(run: LoopRun, recording: Recording) -> float:
    return series.with_its_input(run.clock.values, recording.inputs.at, recording.inputs.values)


def _within(run: LoopRun, seen: Series) -> Sequence[int]:
    """Which points of a series over time fall into a loop."""
    times = run.clock.values
    return [i for i, t in enumerate(seen.at) if times and times[0] <= t <= times[-1]]
