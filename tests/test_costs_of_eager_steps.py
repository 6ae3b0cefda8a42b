"""What an eager training step is said to cost: what compiling it saves, and nothing that goes on beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from recordings import PROGRAM, eager, event, loop, recording, sample, stack

from hotloop.model import Event, LoopRun
from hotloop.rules import (
    eager_training_step,
    measured,
    run_eagerly,
)

LOOP = loop(10, 30, [0.1] * 100)


def test_an_eager_step_beside_predict_is_not_charged_with_it() -> None:
    ran = recording(
        [LOOP],
        [eager(2.0, 5, 20), sample("compute", 7.0, 12)],
        events=[event("gradient", 5, 20), event("apply", 6, 20), event("predict", 12, seconds=7.0, rows=100.0)],
    )
    (finding,) = eager_training_step.diagnose(ran)
    assert finding.cost is not None
    assert 1.0 < finding.cost.seconds < 2.0


def test_two_eager_steps_in_a_loop_each_cost_their_own_time() -> None:
    ran = recording(
        [LOOP],
        [eager(5.0, 5, 20), eager(3.0, 8, 21)],
        events=[event("gradient", 5, 20), event("apply", 6, 20), event("gradient", 8, 21), event("apply", 9, 21)],
    )
    actor, critic = eager_training_step.diagnose(ran)
    assert actor.cost
    assert critic.cost
    assert actor.cost.seconds / critic.cost.seconds == pytest.approx(5.0 / 3.0, rel=0.02)
    assert actor.cost.seconds + critic.cost.seconds < 8.0


def test_two_tapes_of_one_step_are_one_finding_also_where_a_line_takes_and_applies_gradients() -> None:
    ran = recording(
        [LOOP],
        [eager(8.0, 5, 20)],
        events=[event("gradient", 5, 20), event("apply", 6, 20), event("gradient", 8, 20), event("apply", 9, 20)],
    )
    (finding,) = eager_training_step.diagnose(ran)
    assert finding.place.line == 5
    assert finding.cost
    on_a_line = [event("gradient", 6, 20), event("apply", 6, 20), event("gradient", 9, 20), event("apply", 9, 20)]
    (other,) = eager_training_step.diagnose(replace(ran, events=tuple(on_a_line)))
    assert other.cost == finding.cost


@pytest.mark.parametrize("applied", [True, False])
def test_a_loop_that_two_places_enter_costs_what_both_spend_in_it(applied: bool) -> None:
    entered = (40, 41)
    ran = recording(
        [loop(10, 30, [0.1] * 200)],
        [eager(4.0, 12, line) for line in entered],
        events=[event(kind, 12, line) for kind in ("gradient", *["apply"] * applied) for line in entered],
    )
    (finding,) = eager_training_step.diagnose(ran)
    assert finding.cost is not None
    assert 4.0 < finding.cost.seconds < 8.0


def test_a_derivative_within_the_loss_is_no_step_of_its_own() -> None:
    ran = recording(
        [LOOP],
        [eager(3.0, 3, 5, 20), eager(5.0, 5, 20)],
        events=[event("gradient", 3, 5, 20, count=300), event("gradient", 6, 20), event("apply", 7, 20)],
    )
    (finding,) = eager_training_step.diagnose(ran)
    assert finding.place.line == 6
    assert finding.cost is not None
    assert finding.cost.seconds > 5.0


def test_a_short_look_at_an_eager_step_expects_less_of_compiling_it_but_not_nothing() -> None:
    def saving(steps: int) -> float:
        ran = recording(
            [loop(10, 30, [0.1] * steps)],
            [replace(eager(0.1 * steps, 5, 20), ops=200.0 * steps)],
            events=[event("gradient", 5, 20, count=steps), event("apply", 6, 20, count=steps)],
        )
        (finding,) = eager_training_step.diagnose(ran)
        assert finding.cost is not None
        return finding.cost.seconds / (0.1 * steps)

    assert 0.0 < saving(10) < saving(100) < saving(1000) < 1.0


def test_a_tape_around_a_loop_over_the_data_is_priced_by_the_steps_of_that_loop() -> None:
    epochs, batches = loop(10, 30, [1.0] * 12), loop(14, 16, [0.01] * 720, runs=12)
    samples = [eager(6.0, 15), eager(4.0, 20), eager(0.6, 21)]
    events = [event("gradient", 20, count=12), event("apply", 21, count=12)]

    def saving(*loops: LoopRun) -> float:
        (finding,) = eager_training_step.diagnose(recording(loops, samples, events=events, seconds=12.0))
        assert finding.cost is not None
        return finding.cost.seconds

    assert saving(epochs) == pytest.approx(10.6 / 4), "12 steps hardly pay for their trace"
    compiled_twice = 10.0 * (1 - measured.TRACE / 720) - 2 * 720 * measured.CALL
    assert saving(epochs, batches) == pytest.approx(compiled_twice)
    assert saving(epochs, loop(14, 16, [0.1] * 12, runs=12)) == saving(epochs)


def test_a_loop_over_the_weights_of_a_step_is_no_loop_over_the_data() -> None:
    weights = loop(22, 23, [0.001] * 6000, runs=100)
    steps = [event("gradient", 20), event("apply", 21)]
    (plain,) = eager_training_step.diagnose(recording([LOOP], [eager(9.0, 20)], events=steps))
    (split,) = eager_training_step.diagnose(recording([LOOP, weights], [eager(6.0, 20), eager(3.0, 23)], events=steps))
    assert plain.cost == split.cost


@pytest.mark.parametrize("keras", [False, True])
def test_what_a_shorter_pass_saves_of_its_end_is_counted_with_an_eager_step(keras: bool) -> None:
    """TensorFlow sleeps in proportion to it before it takes a pipeline down."""

    def saving(slept: float) -> float:
        if keras:
            switched = Event("fit", stack(20), totals={"batches": 100.0}, examples=({"eagerly": f"{PROGRAM}:3"},))
            ends = Event("iterator", stack(20), "library", totals={"slept": slept})
            ran = recording([loop(20, 20, [0.1] * 100, kind="fit", stack=stack(20))], [eager(6.0, 20)])
            (finding,) = run_eagerly.diagnose(replace(ran, events=(switched, ends)))
        else:
            ends = event("input", 10, slept=slept)
            steps = [event("gradient", 5, 20), event("apply", 6, 20), ends]
            (finding,) = eager_training_step.diagnose(recording([LOOP], [eager(6.0, 5, 20)], events=steps))
        assert finding.cost is not None
        return finding.cost.seconds

    assert saving(slept=2.0) == pytest.approx(saving(slept=0.0) / 0.8)
    assert saving(slept=9.0) == pytest.approx(saving(slept=5.0)), "never longer than the pass itself"


def test_a_step_whose_update_stands_in_the_loop_includes_it() -> None:
    ran = recording(
        [LOOP],
        [eager(3.0, 5, 20), eager(4.0, 21)],
        events=[event("gradient", 5, 20), event("apply", 21)],
    )
    (finding,) = eager_training_step.diagnose(ran)
    assert finding.cost is not None
    assert finding.cost.seconds > 4.0


def test_plotting_beside_an_eager_step_is_not_charged_to_it() -> None:
    events = [event("gradient", 5, 20), event("apply", 6, 20)]
    alone = recording([LOOP], [eager(4.0, 5, 20)], events=events)
    plotting = recording(
        [LOOP], [eager(4.0, 5, 20), sample("library", 5.0, 21), sample("library", 5.0, 7, 20)], events=events
    )
    costs = [
        finding.cost.seconds
        for ran in (alone, plotting)
        for finding in eager_training_step.diagnose(ran)
        if finding.cost
    ]
    assert costs[0] == costs[1] > 3.0


def test_a_step_that_keras_runs_eagerly_is_no_training_step_of_the_programs_own() -> None:
    fit = loop(40, 40, [0.1] * 100, kind="fit", stack=stack(40))
    events = [event("gradient", 12, 40), event("apply", 13, 40), event("fit", 40, count=1, eager=1.0)]
    assert not list(eager_training_step.diagnose(recording([fit], [eager(8.0, 12, 40)], events=events)))
