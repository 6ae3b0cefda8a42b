"""What changes for good within a loop, and how its epochs compare: from recordings made by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from recordings import PROGRAM, loop, memory, recording, sample

from hotloop.diagnose import diagnose
from hotloop.model import Event, LoopSummary, Place, Recording, Series, Symptom
from hotloop.rules import all_rules

HERE = (Place(PROGRAM, 12),)
N = 400


def noisy(shape: Callable[[float], float], seed: int = 1, spread: float = 0.05, n: int = N) -> list[float]:
    """Steps of some 20 ms."""
    source = random.Random(seed)
    return [0.02 * shape(i / n) * math.exp(source.gauss(0, spread)) for i in range(n)]


def jumped(x: float) -> float:
    return 1.0 if x < 0.5 else 2.2


def summed(name: str, unit: str, steps: Sequence[float], each: Sequence[float]) -> Series:
    """So much in each step, in all until then, over time."""
    return Series(name, unit, tuple(accumulate(steps, initial=0.0)), tuple(accumulate(each, initial=0.0)))


def in_phases(steps: Sequence[float], **shares: Callable[[float], float]) -> tuple[Series, ...]:
    """Seconds by phase in bins of 0.1 s; of each phase its share over the course of the loop."""
    bins = int(sum(steps) / 0.1)
    at = tuple(0.1 * index for index in range(bins))
    return tuple(
        Series(name, "s", at, tuple(0.1 * share(i / bins) for i in range(bins))) for name, share in shares.items()
    )


def ran(steps: Sequence[float], *, computes: Sequence[float] | None = None, **more: Any) -> Recording:
    """A loop whose process computes all of its time, unless it is said for each step."""
    made = recording([loop(10, 20, steps)], seconds=sum(steps), events=more.pop("events", ()))
    return replace(made, cpu=summed("cpu", "seconds", steps, steps if computes is None else computes), **more)


def seen(taken: Recording) -> tuple[tuple[Symptom, ...], tuple[str, ...]]:
    found = diagnose(taken, [])
    return found.symptoms, tuple(remark for summary in found.loops for remark in summary.remarks)


# -- step time -----------------------------------------------------------------------------------------------


def test_a_loop_that_slows_down_at_once_says_from_which_step_on_and_by_how_much() -> None:
    (symptom,), remarks = seen(ran([0.9, *noisy(jumped, spread=0.01)]))
    assert (symptom.kind, symptom.unit, remarks) == ("slowed", "seconds/step", ())
    assert symptom.size == pytest.approx(0.024, rel=0.05)
    assert symptom.message == "from step 202 on each step takes 44.0 ms instead of 20.0 ms"


@pytest.mark.parametrize(
    "shape",
    [
        lambda x: 1.0,
        lambda x: 1.8 if 0.3 < x < 0.7 else 1.0,
        lambda x: 1.8 if x % 0.2 > 0.1 else 1.0,
        lambda x: 1.0 + x % 0.25 * 4,
        lambda x: 1.8 if x > 0.98 else 1.0,
        lambda x: 1.2 if x > 0.5 else 1.0,
    ],
    ids=["flat", "comes and goes", "comes and goes often", "sawtooth", "at the very end", "little"],
)
def test_what_is_no_lasting_slowdown_is_not_called_one(shape: Callable[[float], float]) -> None:
    for seed in range(5):
        assert seen(ran(noisy(shape, seed))) == ((), ())


def test_a_jump_within_the_noise_is_not_said() -> None:
    for seed in range(20):
        assert seen(ran(noisy(lambda x: 1.0 if x < 0.5 else 1.4, seed, spread=0.3)))[0] == ()


def test_a_loop_that_slows_down_step_by_step_is_degrading_and_nothing_else() -> None:
    assert [symptom.kind for symptom in seen(ran(noisy(lambda x: 1.0 + 2 * x)))[0]] == ["degrading"]


def test_a_few_steps_or_a_moment_are_too_few_to_tell() -> None:
    assert seen(ran([0.2] * 8 + [0.4] * 8)) == ((), ())
    assert seen(ran([0.002] * 200 + [0.004] * 200)) == ((), ())


def test_a_step_for_which_the_process_computes_no_more_waits_for_a_busy_machine() -> None:
    steps = noisy(jumped)
    assert seen(ran(steps, computes=[0.02] * N)) == ((), ())
    unknown = replace(ran(steps), cpu=Series("cpu", "seconds"))
    assert seen(unknown) == ((), ())


def test_a_step_that_does_the_same_and_takes_less_than_twice_as_long_is_a_remark() -> None:
    steps = noisy(lambda x: 1.0 if x < 0.5 else 1.7, spread=0.01)
    said = "from step 201 on each step takes 34.0 ms instead of 20.0 ms; the machine may have been busier"
    assert seen(ran(steps)) == ((), (said,))


def test_the_phase_that_took_over_is_named_though_the_process_computes_no_more() -> None:
    steps = noisy(jumped, spread=0.01)
    turned = 0.5 / 1.6
    phases = in_phases(
        steps,
        input=lambda t: 0.05 if t < turned else 0.45,
        compute=lambda t: 0.95 if t < turned else 0.55,
    )
    (symptom,), _ = seen(ran(steps, computes=[0.019] * N, phases=phases))
    assert "instead of 20.0 ms: it spends 18." in symptom.message
    assert symptom.message.endswith(" ms more waiting for input")
    # A neighbour that takes half of one core slows down all of it: the mix stays.
    alike = in_phases(steps, input=lambda t: 0.3, compute=lambda t: 0.7)
    assert seen(ran(steps, computes=[0.019] * N, phases=alike)) == ((), ())


def test_what_happened_right_there_is_said_and_what_happened_elsewhere_is_not() -> None:
    steps = noisy(jumped, spread=0.01)
    when = sum(steps[: N // 2])

    def message(first: float, count: int = 1, times: tuple[float, ...] = ()) -> str:
        traced = Event("trace.shape", HERE, "step", count, 0.5, first, times[-1] if times else first, times=times)
        ((symptom,), _) = seen(ran(steps, events=[traced]))
        return symptom.message.partition(": ")[2]

    assert message(when + 0.01) == "`step` was traced there (train.py:12)"
    assert message(1.0, 2, (1.0, when)) == "`step` was traced there (train.py:12)"
    assert message(when, 180, (when, when + 1)) == "`step` was traced 180 times from there on (train.py:12)"
    assert message(when + 2.0) == ""
    assert message(0.1, 400, tuple(0.1 * n for n in range(60))) == ""


def test_a_loop_that_goes_on_to_other_work_is_no_ailment() -> None:
    steps = noisy(jumped, spread=0.01)
    when = sum(steps[: N // 2])
    learns = Event("call", HERE, "learn", N // 2, 3.0, when, sum(steps) - 0.02)
    assert seen(ran(steps, events=[learns])) == (
        (),
        ("from step 201 on each step takes 44.0 ms instead of 20.0 ms: `learn` is called from there on",),
    )
    once = replace(learns, count=3, last=when + 1)
    assert [symptom.kind for symptom in seen(ran(steps, events=[once]))[0]] == ["slowed"]


@pytest.mark.parametrize(("sizes", "kinds"), [((1.0, 1.0), ["slowed"]), ((1.0, 1.8), []), ((1.0, 1.1), ["slowed"])])
def test_a_step_that_is_handed_more_may_take_longer(sizes: tuple[float, float], kinds: list[str]) -> None:
    steps = noisy(jumped)
    handed = summed("inputs", "elements", steps, [1e5 * sizes[index >= N // 2] for index in range(N)])
    assert [symptom.kind for symptom in seen(ran(steps, inputs=handed))[0]] == kinds


def test_a_loop_that_is_entered_anew_with_other_work_has_not_slowed() -> None:
    steps = noisy(jumped)
    taken = ran(steps)

    def entered_again(at: int) -> Recording:
        (run,) = taken.loops
        times = tuple(time + 0.001 * (index >= at) for index, time in enumerate(run.clock.values))
        return replace(taken, loops=(replace(run, runs=2, clock=replace(run.clock, values=times)),))

    assert seen(entered_again(N // 2)) == ((), ())
    assert [symptom.kind for symptom in seen(entered_again(N // 4))[0]] == ["slowed"]


def test_what_two_nested_loops_share_is_said_of_the_outer_one_alone() -> None:
    steps = noisy(jumped, n=60, spread=0.01)
    long = [50 * seconds for seconds in steps]
    inner = replace(loop(12, 14, [s for s in steps for _ in range(50)]), runs=60, seconds=0.9 * sum(long))
    taken = recording([loop(10, 20, long), inner], seconds=sum(long))
    taken = replace(taken, cpu=summed("cpu", "seconds", long, long))
    assert [(s.kind, s.loop.line) for s in seen(taken)[0]] == [("slowed", 10)]


def test_a_loop_that_becomes_faster_is_a_remark_where_that_cost_much() -> None:
    steps = [0.04] * 150 + [0.02] * 250
    assert seen(ran(steps)) == ((), ("up to step 151 each step took 40.0 ms, from there on 20.0 ms",))
    assert seen(ran([seconds / 4 for seconds in steps])) == ((), ())


# -- memory --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (
            lambda t: 8e8 if t < 5 else 1.2e9,
            "from about step 251 on the process holds 1.20 GB of memory instead of 800 MB",
        ),
        (lambda t: 8e8 if t < 1 else 1.2e9, ""),
        (lambda t: 8e8 if not 4 < t < 7 else 1.2e9, ""),
        (lambda t: 8e7 if t < 5 else 1.2e8, ""),
        (lambda t: 1.2e9 if t < 5 else 8e8, ""),
    ],
    ids=["rises and stays", "fills at first", "comes and goes", "little", "falls"],
)
def test_memory_that_rises_once_and_stays_is_a_remark(level: Callable[[float], float], said: str) -> None:
    symptoms, remarks = seen(ran([0.02] * 500, memory=memory(10, level)))
    assert (symptoms, remarks) == ((), (said,) if said else ())


# -- epochs --------------------------------------------------------------------------------------------------

FIT = (Place(PROGRAM, 15),)


def fitted(*epochs: float, each: int = 50, last: int = 0, **more: Any) -> Recording:
    """A `fit` whose epochs took so long, in as many steps each."""
    steps = [seconds / each for seconds in epochs for _ in range(each)]
    steps = steps[: len(steps) - each + last] if last else steps
    run = loop(15, 15, steps, kind="fit", stack=FIT)
    times = tuple(accumulate(epochs, initial=0.0))[: len(epochs)]
    taken = recording([run], seconds=sum(steps), events=[Event("epoch", FIT, count=len(epochs), times=times)])
    return replace(taken, cpu=summed("cpu", "seconds", steps, steps), **more)


def only(taken: Recording) -> LoopSummary:
    (summary,) = diagnose(taken, []).loops
    return summary


def test_the_epochs_of_a_fit_are_kept_apart_with_the_step_each_began_with() -> None:
    epochs = only(fitted(3.0, 2.0, 2.5)).epochs
    assert (epochs.name, epochs.at) == ("epoch", (0.0, 50.0, 100.0))
    assert epochs.values == pytest.approx((3.0, 2.0, 2.5))


def test_a_fit_that_slows_down_with_an_epoch_names_it() -> None:
    symptoms, _ = seen(fitted(1.0, 1.0, 1.0, 2.0, 2.0, 2.0))
    assert [symptom.message for symptom in symptoms] == [
        "from step 151 on, where epoch 4 begins, each step takes 40.0 ms instead of 20.0 ms"
    ]


def test_of_many_epochs_means_are_kept() -> None:
    taken = fitted(*[1.0] * 100)
    (event,) = taken.events
    epochs = only(replace(taken, events=(replace(event, times=event.times[::2]),))).epochs
    assert epochs.at[:3] == pytest.approx((0.0, 100.0, 200.0))
    assert epochs.values == pytest.approx([1.0] * 50)


def test_epochs_that_take_as_long_as_each_other_are_no_news() -> None:
    assert seen(fitted(2.0, 2.1, 1.9, 2.2, 2.0)) == ((), ())
    assert seen(fitted(2.0, 2.1)) == ((), ())


def test_one_epoch_that_took_much_longer_is_a_remark_with_what_it_spent_it_on() -> None:
    durations = (9.0, 2.0, 2.0, 2.0)
    waits = in_phases(durations, input=lambda t: 0.9 if t < 0.6 else 0.1, compute=lambda t: 0.1 if t < 0.6 else 0.9)
    symptoms, (remark,) = seen(fitted(*durations, phases=waits))
    assert symptoms == ()
    assert remark.startswith("epoch 1 took 9.00 s, the later ones 2.00 s: it spent 7.0")
    assert remark.endswith(" s more waiting for input")
    assert seen(fitted(2.0, 2.0, 9.0, 2.0, 2.0))[1] == ("epoch 3 took 9.00 s, the others 2.00 s",)


def test_a_first_epoch_that_traces_is_said_only_where_that_takes_long() -> None:
    def remarks(factor: float) -> tuple[str, ...]:
        durations = [factor * seconds for seconds in (4.0, 0.5, 0.5, 0.5)]
        phases = in_phases(
            durations, trace=lambda t: 0.9 if t < 0.7 else 0.0, compute=lambda t: 0.1 if t < 0.7 else 1.0
        )
        return seen(fitted(*durations, phases=phases))[1]

    assert remarks(1.0) == ()
    assert len(remarks(5.0)) == 1


def test_an_epoch_on_a_busy_machine_is_not_the_programs_fault() -> None:
    taken = fitted(2.0, 2.0, 9.0, 2.0, 2.0)
    at = taken.cpu.at
    assert seen(replace(taken, cpu=replace(taken.cpu, values=tuple(n * 0.04 for n in range(len(at)))))) == ((), ())


@pytest.mark.parametrize(
    ("epochs", "kinds"),
    [
        ((2.0, 2.4, 2.9, 3.4), ["degrading"]),
        ((5.0, 2.0, 2.4, 2.9, 3.4), ["degrading"]),
        (tuple(2.0 + 0.3 * n for n in range(12)), ["degrading"]),
        ((2.0, 2.4, 2.9), []),
        ((2.0, 2.05, 2.1, 2.15), []),
        ((2.0, 2.9, 2.4, 3.4), []),
        ((3.4, 2.9, 2.4, 2.0), []),
    ],
)
def test_epochs_that_take_longer_and_longer_are_degrading(epochs: tuple[float, ...], kinds: list[str]) -> None:
    taken = fitted(*epochs)
    # Only the last step of each is long: the steps themselves show no trend.
    steps = tuple(0.02 if (n + 1) % 50 else epochs[n // 50] - 0.98 for n in range(50 * len(epochs)))
    run = loop(15, 15, steps, kind="fit", stack=FIT)
    symptoms, remarks = seen(replace(taken, loops=(run,), cpu=summed("cpu", "seconds", steps, steps)))
    assert ([symptom.kind for symptom in symptoms], remarks) == (kinds, ())


def test_how_much_longer_each_epoch_takes_is_said_and_counted_like_any_trend() -> None:
    epochs = (2.0, 2.5, 3.0, 3.5, 4.0)
    steps = [0.02 if (n + 1) % 50 else epochs[n // 50] - 0.98 for n in range(250)]
    taken = replace(fitted(*epochs), loops=(loop(15, 15, steps, kind="fit", stack=FIT),))
    ends_in_python = in_phases(
        epochs, python=lambda t: 0.3 if t < 0.5 else 0.75, compute=lambda t: 0.7 if t < 0.5 else 0.25
    )
    (symptom,), _ = seen(replace(taken, cpu=summed("cpu", "seconds", steps, steps), phases=ends_in_python))
    assert symptom.message == (
        "each epoch takes about 500 ms longer than the one before: 2.00 s, 2.50 s, 3.00 s, 3.50 s, 4.00 s; "
        "the last one spent 2.00 s more in its own Python"
    )
    # Half a second on 50 steps: each step takes 10 ms longer every 50 steps.
    assert (symptom.kind, symptom.unit) == ("degrading", "seconds/1000 steps")
    assert symptom.size == pytest.approx(0.2)


def test_an_epoch_that_was_cut_short_is_not_compared() -> None:
    assert seen(fitted(9.0, 2.0, 2.0, 2.0, last=10))[1] == ("epoch 1 took 9.00 s, the later ones 2.00 s",)


def rounds(*steps: int, seconds: Sequence[float]) -> Recording:
    """A loop around another, which takes so many steps in each of its own."""
    each = [took / count for took, count in zip(seconds, steps, strict=True) for _ in range(count)]
    outer, inner = loop(10, 20, seconds), loop(12, 14, each, runs=len(steps))
    taken = recording([outer, inner], seconds=sum(seconds))
    return replace(taken, cpu=summed("cpu", "seconds", each, each))


def test_the_steps_of_a_loop_around_another_are_compared_like_epochs() -> None:
    taken = rounds(40, 40, 40, 40, seconds=(9.0, 2.0, 2.0, 2.0))
    outer, inner = diagnose(taken, []).loops
    assert outer.remarks == ("step 1 took 9.00 s, the later ones 2.00 s",)
    assert (inner.epochs.name, inner.epochs.at, inner.remarks) == ("round", (0.0, 40.0, 80.0, 120.0), ())
    slowing = rounds(40, 40, 40, 40, seconds=(2.0, 2.5, 3.0, 3.5))
    assert {symptom.kind for symptom in seen(slowing)[0]} == {"degrading"}


def test_rounds_of_different_length_are_not_compared() -> None:
    assert seen(rounds(180, 40, 40, 40, seconds=(9.0, 2.0, 2.0, 2.0))) == ((), ())


@pytest.mark.parametrize(
    "path", sorted(p for r in all_rules() for p in r.folder.glob("fast.json.gz")), ids=lambda path: path.parent.name
)
def test_a_mended_program_neither_slows_down_nor_has_anything_remarked(path: Path) -> None:
    symptoms, remarks = seen(Recording.load(path))
    assert ([symptom.message for symptom in symptoms if symptom.kind != "leaking"], remarks) == ([], ())


@pytest.mark.parametrize(("times", "told"), [(2.2, 0), (6.0, 1)])
def test_a_plain_jump_is_told_though_quick_steps_took_a_third_of_a_second(times: float, told: int) -> None:
    steps = [value / 20 for value in noisy(lambda x: 1.0 if x < 0.5 else times, n=700)]
    symptoms, _ = seen(ran(steps))
    assert [symptom.kind for symptom in symptoms] == ["slowed"] * told


def test_a_callback_that_takes_longer_each_time_is_named_by_its_line() -> None:
    steps = noisy(lambda x: 1 + 5 * x)
    fit = loop(30, 30, steps, kind="fit", stack=(Place(PROGRAM, 30),))
    called = replace(sample("library", sum(steps) / 2, 12), stack=(Place(PROGRAM, 12), Place(PROGRAM, 30)))
    own = sample("compute", sum(steps) / 2, 30)
    (finding,) = diagnose(recording([fit], [called, own]), all_rules()).findings
    assert (finding.rule, finding.place.line) == ("growing-step", 12)
    assert not diagnose(recording([fit], [replace(own, seconds=sum(steps))]), all_rules()).findings
