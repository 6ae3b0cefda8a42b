"""The proof, with programs that are made up: what a trial says, when it stops, and what it times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from hotloop.laps import loop_seconds
from hotloop.model import Event, Exit, HotloopError, LoopRun, Place, Recording, Series, Trial
from hotloop.record import Completed, Limit
from hotloop.verify import Contender, Terms, trial, trials

Run = tuple[Recording, Completed]


def loop(first: int, last: int, spans: Sequence[tuple[float, float]], **more: Any) -> LoopRun:
    """A loop on the lines first to last, one step per span on the clock."""
    at = tuple(float(i) for i in range(len(spans)))
    steps = Series("step", "s", at, tuple(end - start for start, end in spans))
    clock = Series("clock", "s", at, tuple(start for start, _ in spans))
    seconds = sum(end - start for start, end in spans)
    place = Place(str(more.pop("path", "a.py")), first, 0, last, 0)
    more = {"kind": "for", "function": "", "runs": 1, **more}
    return LoopRun(place, steps=len(spans), seconds=seconds, step_seconds=steps, clock=clock, **more)


def ran(seconds: float, stdout: str = "sum 4.5", wall: float | None = None, code: int = 0, **more: Any) -> Run:
    """One run of a program whose one loop took so long."""
    loops = more.pop("loops", (loop(3, 9, [(1.0, 1.0 + seconds)]),))
    meta = {"seconds": 6.0 + (seconds + 1 if wall is None else wall), "import_seconds": 6.0, "peak_rss": 1e8}
    recording = Recording(meta=meta, loops=loops, exit=Exit(code, exception="ValueError" if code else ""), **more)
    stderr = b"" if code == 0 else b"Traceback (most recent call last):\n  ...\nValueError: no such label\n"
    return recording, Completed(code, stdout.encode(), stderr)


def judged(before: Sequence[Run], after: Sequence[Run], **more: Any) -> tuple[Trial, list[str]]:
    """A trial of two programs that do what these lists say, over and over; and the order they ran in."""
    runs = {"before": cycle(before), "after": cycle(after)}
    order: list[str] = []

    def runner(argv: Sequence[str], **settings: Any) -> Run:
        assert settings["seed"] == 0
        order.append(argv[0])
        return next(runs[argv[0]])

    return trial(Contender("before", ["before"]), Contender("after", ["after"]), Terms(runner=runner, **more)), order


NOISY = [ran(1.0), ran(1.3), ran(0.8)]


def test_a_faster_program_with_the_same_answer_is_faster() -> None:
    outcome, _ = judged([ran(4.0), ran(4.2), ran(4.1)], [ran(1.0), ran(1.1), ran(0.9)])
    assert outcome.verdict == "faster"
    assert outcome.same_results is True
    assert 3.5 < outcome.speedup < 4.8
    assert 1.02 < outcome.interval[0] < outcome.speedup < outcome.interval[1]
    assert (outcome.before_seconds, outcome.after_seconds) == pytest.approx((4.1, 1.0))
    assert (outcome.before_bytes, outcome.after_bytes) == (1e8, 1e8)


def test_the_programs_take_turns_and_the_trial_stops_when_it_is_decided() -> None:
    outcome, order = judged([ran(4.0), ran(4.2), ran(4.1)], [ran(1.0), ran(1.1), ran(0.9)])
    assert order == ["before", "after", "after", "before", "before", "after"]
    assert outcome.runs == 3


def test_a_trial_that_cannot_be_decided_uses_all_its_runs_and_says_so() -> None:
    outcome, order = judged(NOISY, [ran(1.2), ran(0.8), ran(1.1)], runs=6)
    assert outcome.verdict == "inconclusive"
    assert len(order) == 12


def test_a_machine_that_was_busy_with_something_else_makes_nothing_faster() -> None:
    """The quickest runs of both take as long, the others of one side by chance fell into the busy time."""
    calm, busy = [ran(1.0), ran(1.02), ran(1.01)], [ran(1.3), ran(1.31), ran(1.29)]
    outcome, order = judged([*busy, ran(1.0), ran(1.0)], [*calm, ran(1.0), ran(1.0)])
    assert (outcome.verdict, len(order)) == ("inconclusive", 10)
    outcome, order = judged([*busy, ran(1.28), ran(1.0)], [*calm, ran(1.01), ran(1.0)])
    assert (outcome.verdict, len(order)) == ("inconclusive", 10)
    assert outcome.interval[0] <= 1.0 < outcome.speedup
    assert judged(busy, calm)[0].verdict == "faster"


def test_a_slower_program_is_slower() -> None:
    assert judged([ran(1.0), ran(1.1), ran(0.9)], [ran(4.0), ran(4.2)])[0].verdict == "slower"


def test_equal_programs_are_the_same() -> None:
    assert judged([ran(1.0), ran(1.001), ran(1.002)], [ran(1.001), ran(1.0)])[0].verdict == "same"


def test_another_answer_is_no_improvement_however_fast() -> None:
    outcome, order = judged([ran(4.0), ran(4.1)], [ran(1.0, "sum 4.6")])
    assert (outcome.verdict, outcome.same_results) == ("different-results", False)
    assert "`4.5` before, `4.6` after" in " ".join(outcome.notes)
    assert len(order) == 6


def test_a_program_that_crashes_after_the_change_is_not_run_again_and_its_last_words_are_kept() -> None:
    outcome, order = judged([ran(4.0)], [ran(1.0, code=1)])
    assert (outcome.verdict, outcome.same_results) == ("different-results", False)
    assert "ValueError: no such label (exit code 1)" in outcome.notes[0]
    assert order == ["before", "after"]


def test_a_program_that_fails_before_the_change_is_the_users_to_mend() -> None:
    with pytest.raises(HotloopError, match=r"`before` fails by itself.*no such label"):
        judged([ran(4.0, code=1)], [ran(1.0)])


def test_nothing_to_compare_is_inconclusive() -> None:
    outcome, _ = judged([ran(4.0, ""), ran(4.1, "")], [ran(1.0, "")])
    assert (outcome.verdict, outcome.same_results) == ("inconclusive", None)


def test_a_faster_loop_in_a_slower_run_is_inconclusive() -> None:
    before = [ran(4.0, wall=5.0), ran(4.1, wall=5.1)]
    outcome, _ = judged(before, [ran(1.0, wall=15.0), ran(1.1, wall=15.1)])
    assert outcome.verdict == "inconclusive"
    assert "whole run is slower" in " ".join(outcome.notes)


def test_a_program_without_loops_is_timed_by_its_run_less_the_imports() -> None:
    after = [ran(0.0, wall=1.0, loops=()), ran(0.0, wall=1.1, loops=())]
    outcome, _ = judged([ran(4.0, wall=5.0), ran(4.1, wall=5.2)], after)
    assert outcome.verdict == "faster"
    assert 4.0 < outcome.speedup < 5.5
    assert "no loop ran" in " ".join(outcome.notes)


def test_one_run_is_refused() -> None:
    with pytest.raises(HotloopError, match="at least 2"):
        judged(NOISY, NOISY, runs=1)


# -- the first steps -------------------------------------------------------------------------------------------------


def cut(each: float, steps: int, stdout: str = "") -> Run:
    """A run that was ended after some steps of its loop."""
    long = loop(3, 9, [(1 + i * each, 1 + (i + 1) * each) for i in range(steps)])
    recording, done = ran(0.0, stdout or "".join(f"loss {i}.5\n" for i in range(steps)), loops=(long,))
    return recording, Completed(0, done.stdout, b"", stopped=True)


def test_programs_that_are_ended_are_timed_and_compared_over_the_steps_that_both_made() -> None:
    before, after = [cut(0.1, 21), cut(0.11, 20)], [cut(0.01, 95), cut(0.011, 90)]
    outcome, _ = judged(before, after, limit=Limit(steps=20))
    assert (outcome.verdict, outcome.same_results) == ("faster", True)
    assert (outcome.before_seconds, outcome.after_seconds) == pytest.approx((2.0, 0.2), rel=0.2)
    assert "compared over the first 20 steps" in outcome.notes[-1]


def test_the_trace_of_a_first_step_does_not_count_against_a_program_that_was_ended_early() -> None:
    def traced() -> Run:
        first = loop(3, 9, [(1.0, 9.0), *((9 + i / 100, 9.01 + i / 100) for i in range(60))])
        recording, done = ran(0.0, "".join(f"loss {i}.5\n" for i in range(60)), loops=(first,))
        return recording, replace(done, stopped=True)

    outcome, _ = judged([cut(0.1, 21), cut(0.11, 20)], [traced()], limit=Limit(steps=20))
    assert outcome.verdict == "faster"
    assert outcome.after_seconds == pytest.approx(0.2)


def test_programs_are_compared_over_the_loop_that_was_meant_whatever_else_made_as_many_steps() -> None:
    def before() -> Run:
        recording, done = cut(0.1, 20)
        layers = loop(20, 22, [(1 + i / 100, 1.001 + i / 100) for i in range(200)])  # in the model, nine a step
        return replace(recording, loops=(layers, *recording.loops)), done

    def meant(run: Run) -> Run:
        return replace(run[0], meta={**run[0].meta, "stopped_at": "a.py:3"}), run[1]

    assert judged([meant(before())], [meant(cut(0.01, 60))], limit=Limit(steps=20))[0].verdict == "faster"
    long = loop(20, 22, [(1 + i / 20, 1.05 + i / 20) for i in range(200)])  # more of it, in more time
    both = [meant((replace(one, loops=(long, *one.loops)), done)) for one, done in [cut(0.1, 20)]]
    assert judged(both, [meant(cut(0.01, 60))], limit=Limit(steps=20))[0].before_seconds == pytest.approx(2.0)


def test_work_that_moves_from_the_steps_into_a_call_of_keras_before_them_still_counts() -> None:
    def moved() -> Run:
        recording, done = cut(0.001, 60)
        predicted = loop(1, 2, [(0.0, 0.5)], path="keras.py", kind="keras", stack=(Place("a.py", 2),))
        return replace(recording, loops=(*recording.loops, predicted)), done

    outcome, _ = judged([cut(0.1, 21), cut(0.11, 20)], [moved()], limit=Limit(steps=20))
    assert outcome.after_seconds == pytest.approx(0.52)
    assert outcome.verdict == "faster"


def test_another_answer_within_the_steps_that_both_made_is_different() -> None:
    lines = [f"loss {i}.5" for i in range(60)]
    wrong = "\n".join([*lines[:10], "loss 9.9", *lines[11:]])
    outcome, _ = judged([cut(0.1, 21), cut(0.1, 20)], [cut(0.01, 60, wrong)], limit=Limit(steps=20))
    assert outcome.verdict == "different-results"


def test_a_program_that_does_not_come_so_far_proves_nothing() -> None:
    outcome, _ = judged([cut(0.1, 21), cut(0.1, 20)], [cut(0.01, 3)], limit=Limit(steps=20))
    assert outcome.verdict == "inconclusive"
    assert "same number of steps" in outcome.notes[-1]


# -- several at a time -------------------------------------------------------------------------------------------------


def contest(terms: Terms, programs: dict[str, list[Run]], leader: bool = True) -> tuple[dict[str, str], list[str]]:
    """The verdicts on all but the first of some programs, of which the second leads; and the order they ran in."""
    runs, order = {name: cycle(found) for name, found in programs.items()}, list[str]()

    def runner(argv: Sequence[str], **settings: Any) -> Run:
        order.append(argv[0])
        return next(runs[argv[0]])

    before, *others = (Contender(name, [name]) for name in programs)
    found = trials(before, others, replace(terms, runner=runner), others[0] if leader else None)
    return {outcome.after: outcome.verdict for outcome in found}, order


def test_several_changes_take_turns_and_what_is_decided_runs_no_more() -> None:
    quick, wrong = [ran(1.0), ran(1.01)], [ran(1.0, "sum 9.9")]
    programs = {"a": [ran(4.0), ran(4.1)], "b": [ran(4.0), ran(4.6), ran(3.4)], "c": quick, "d": wrong}
    verdicts, order = contest(Terms(runs=4), programs)
    assert verdicts == {"b": "inconclusive", "c": "faster", "d": "different-results"}
    assert order == [*"abcd", *"dcba", *"abcd", *"ba"]


def test_once_the_leader_is_faster_the_others_are_left_as_they_are() -> None:
    programs = {"a": [ran(4.0), ran(4.1)], "b": [ran(1.0), ran(1.01)], "c": [ran(4.0), ran(4.6), ran(3.4)]}
    verdicts, order = contest(Terms(runs=6), programs)
    assert (verdicts["b"], order) == ("faster", [*"abc", *"cba", *"abc"])
    assert len(contest(Terms(runs=6), programs, leader=False)[1]) > 9


def test_there_is_an_end_to_it_when_time_is_up() -> None:
    outcome, order = judged([ran(4.0)], [ran(1.0)], deadline=0.0)
    assert (outcome.verdict, outcome.notes, order) == (
        "inconclusive",
        ("there was no time for enough runs: allow for more (`--runs`, or a larger `--budget`)",),
        [],
    )


def test_what_tensorflow_slept_at_the_end_of_a_loop_over_data_is_left_out() -> None:
    run = loop(3, 9, [(1.0, 2.0), (2.0, 5.0)])
    header, elsewhere = (
        Event("input", (replace(run.place, line=line, end_line=line),), totals={"slept": 2.5}) for line in (3, 20)
    )
    assert loop_seconds(Recording(meta={}, loops=(run,), events=(header, elsewhere))) == pytest.approx(1.5)


def seconds_of(*loops: LoopRun) -> float | None:
    return loop_seconds(Recording(meta={}, loops=loops))


@pytest.mark.parametrize(
    "inner",
    [
        lambda: loop(4, 5, [(1.2, 1.6), (2.2, 2.6)], runs=2),  # in the loop's own body
        lambda: loop(40, 41, [(1.2, 1.6), (2.2, 2.6)], runs=2, path="b.py"),  # in a function that it calls
    ],
)
def test_a_loop_inside_another_counts_once(inner: Callable[[], LoopRun]) -> None:
    assert seconds_of(loop(3, 9, [(1.0, 2.0), (2.0, 3.0)]), inner()) == pytest.approx(2.0)


def test_loops_that_follow_each_other_add_up() -> None:
    assert seconds_of(loop(3, 5, [(1.0, 2.0)]), loop(7, 9, [(5.0, 8.0)])) == pytest.approx(4.0)


def test_the_time_between_two_runs_of_a_loop_is_not_the_loops() -> None:
    assert seconds_of(loop(3, 5, [(1.0, 2.0), (9.0, 10.0)], runs=2)) == pytest.approx(2.0)


def test_a_generators_loop_does_not_count() -> None:
    assert seconds_of(loop(3, 5, [(1.0, 9.0)], yields=True), loop(7, 9, [(2.0, 3.0)])) == pytest.approx(1.0)


def test_keras_loops_count_only_outside_the_programs_own() -> None:
    own = loop(3, 9, [(1.0, 2.0)])
    inside = loop(5, 5, [(1.0, 1.9)], kind="predict", stack=(Place("a.py", 5),))
    outside = loop(20, 20, [(4.0, 7.0)], kind="fit", stack=(Place("a.py", 20),))
    assert seconds_of(own, inside) == pytest.approx(1.0)
    assert seconds_of(own, inside, outside) == pytest.approx(4.0)


def test_the_bins_of_a_long_loop_add_up_to_all_its_steps() -> None:
    steps = Series("step", "s", (0.0, 100.0), (0.01, 0.02))
    clock = Series("clock", "s", (0.0, 100.0), (1.0, 2.0))
    long = LoopRun(Place("a.py", 3), "for", "", 1, 200, 3.0, steps, clock)
    assert seconds_of(long) == pytest.approx(3.0)


def test_no_loop_is_none() -> None:
    assert seconds_of() is None
