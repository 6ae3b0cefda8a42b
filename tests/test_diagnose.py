"""What is seen of loops, why, and what it cost: from recordings made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from recordings import PROGRAM, loop, memory, recording, rule, sample

from hotloop.cli import main
from hotloop.diagnose import diagnose, diagnose_recording, merge, run_and_diagnose
from hotloop.model import Cost, Diagnosis, Event, Exit, Finding, Fix, LoopRun, Place, Recording, Series
from hotloop.rules import find_rule

FLAT = [0.01] * 400
MAIN = loop(10, 20, FLAT)
FIX = Fix("do it once", (), "verify")


def found(
    line: int, *, seconds: float | None = None, end_line: int = 0, loop: LoopRun | None = MAIN, **more: Any
) -> Finding:
    cost = None if seconds is None else Cost(seconds, 0.0)
    basis = "static" if seconds is None else "measured"
    given: dict[str, Any] = {"basis": basis, "confidence": "medium", "cost": cost, **more}
    return Finding(
        "made-up", Place(PROGRAM, line, 0, end_line), "It hurts.", loop=loop.place if loop else None, **given
    )


def diagnosed(
    *findings: Finding,
    static: tuple[Finding, ...] = (),
    seconds: float = 10.0,
    loops: tuple[LoopRun, ...] = (MAIN,),
) -> Diagnosis:
    return diagnose(recording(loops, seconds=seconds), [rule("made-up", lambda _: findings)], static)


# -- symptoms ------------------------------------------------------------------------------------------------


def test_a_loop_that_slows_down_is_degrading_by_so_much_per_thousand_steps() -> None:
    slowing = loop(10, 20, [0.5] + [0.01 + 0.0001 * i for i in range(400)])
    (symptom,) = diagnose(recording([slowing]), []).symptoms
    assert (symptom.kind, symptom.loop) == ("degrading", slowing.place)
    assert symptom.size == pytest.approx(0.1, rel=0.05)
    assert symptom.interval is not None
    assert symptom.interval[0] <= symptom.size <= symptom.interval[1]
    assert symptom.message == "step time grows from 10.0 ms to 49.9 ms over 401 steps"


def test_a_steady_loop_in_steady_memory_has_no_symptom() -> None:
    assert diagnose(recording([MAIN], rss=memory(4, lambda t: 1e9)), []).symptoms == ()


@pytest.mark.parametrize(("power", "explained"), [(1, True), (2, True), (3, False)])
def test_a_loop_whose_inputs_grow_is_not_degrading_nor_leaking_unless_it_slows_down_much_faster(
    power: int, explained: bool
) -> None:
    sizes = [1.0 + index / 50 for index in range(200)]
    steps = [0.01 * size**power for size in sizes]
    ran = recording([loop(10, 20, steps)], [sample("compute", sum(steps), 12)], seconds=sum(steps))
    handed = Series("inputs", "elements", tuple(accumulate(steps, initial=0.0)), tuple(accumulate(sizes, initial=0.0)))
    assert [s.kind for s in diagnose(ran, []).symptoms] == ["degrading"]
    fed = replace(ran, inputs=replace(handed, values=tuple(1e5 * value for value in handed.values)))
    assert [s.kind for s in diagnose(fed, []).symptoms] == ([] if explained else ["degrading"])
    grows = memory(sum(steps), lambda t: 1e9 + 6e7 * t / sum(steps))
    assert "leaking" in {s.kind for s in diagnose(replace(ran, memory=grows), []).symptoms}
    assert ("leaking" in {s.kind for s in diagnose(replace(fed, memory=grows), []).symptoms}) is not explained


def test_memory_that_grows_with_the_steps_is_a_leak_of_so_many_bytes_per_step() -> None:
    (symptom,) = diagnose(recording([MAIN], rss=memory(4, lambda t: 3e8 + 1e7 * t)), []).symptoms
    assert symptom.kind == "leaking"
    assert symptom.size == pytest.approx(1e5, rel=0.05)  # 10 MB a second, 100 steps a second


@pytest.mark.parametrize(
    "level",
    [lambda t: 3e8 + 5e7 * min(t, 1.5), lambda t: 3e8 + 2e7 * t if t > 4 else 3e8, lambda t: 3e8 + 1e4 * t],
    ids=["a pool that fills", "growth after the loop", "a few bytes"],
)
def test_memory_that_does_not_keep_growing_in_the_loop_is_no_leak(level: Any) -> None:
    assert diagnose(recording([MAIN], rss=memory(8, level)), []).symptoms == ()


def test_memory_that_grows_within_one_long_step_is_no_leak() -> None:
    waits_then_works = loop(10, 20, [0.001] * 32 + [4.0, 4.0])
    assert diagnose(recording([waits_then_works], rss=memory(8, lambda t: 3e8 + 3e7 * t)), []).symptoms == ()


def test_a_few_steps_on_a_shared_machine_must_slow_down_by_half_to_be_degrading() -> None:
    for steps, kinds in ((28, []), (400, ["degrading"])):
        drifts = loop(10, 20, [1.2 + 0.5 * i / steps for i in range(steps)])
        assert [symptom.kind for symptom in diagnose(recording([drifts]), []).symptoms] == kinds


def test_what_two_nested_loops_share_is_said_of_the_outer_one() -> None:
    inner = replace(loop(12, 14, [0.002] * 1000), seconds=3.9)
    leak = memory(4, lambda t: 3e8 + 1e7 * t)
    assert [s.loop for s in diagnose(recording([inner, MAIN], rss=leak), []).symptoms] == [MAIN.place]


def test_memory_that_grows_when_an_inner_loop_is_entered_is_no_leak_of_its_steps() -> None:
    folds, steps = loop(10, 20, [4.0] * 5), loop(12, 14, [0.04] * 500)

    def kinds(level: Any) -> list[str]:
        return [s.kind for s in diagnose(recording([folds, steps], rss=memory(20, level)), []).symptoms]

    assert kinds(lambda t: 3e8 + 4e7 * (t // 4 + min(1.0, t % 4 / 0.8))) == []  # a fifth of a fold traces a model
    assert kinds(lambda t: 3e8 + 1e7 * t) == ["leaking"]


# -- loops ---------------------------------------------------------------------------------------------------


def test_phases_add_up_to_the_loop_and_follow_the_samples_inside_it() -> None:
    samples = [sample("setup", 1.5, 15, 30), sample("compute", 0.5, 3, 12, 30), sample("python", 5.0, 30)]
    (summary,) = diagnose(recording([MAIN], samples), []).loops
    assert sum(summary.phases.values()) == pytest.approx(MAIN.seconds)
    assert summary.phases == pytest.approx({"setup": 3.0, "compute": 1.0})
    assert summary.step_median == pytest.approx(0.01)


def test_waiting_on_the_header_line_counts_but_making_the_iterable_does_not() -> None:
    waiting = diagnose(recording([MAIN], [sample("compute", 1.0, 15), sample("input", 3.0, 10)]), []).loops[0]
    assert waiting.phases == pytest.approx({"input": 3.0, "compute": 1.0})
    loading = diagnose(recording([MAIN], [sample("compute", 4.0, 15), sample("python", 9.0, 10)]), []).loops[0]
    assert loading.phases == pytest.approx({"compute": 4.0})


def test_only_loops_that_matter_are_shown_and_the_outermost_first() -> None:
    heavy = loop(30, 40, [0.5] * 10)
    holding = replace(loop(32, 38, [0.05] * 90), seconds=4.5)
    light = replace(loop(34, 35, [0.001] * 900), seconds=0.9)
    trifle = loop(50, 52, [0.001] * 100)
    generator = loop(60, 66, [0.05] * 100, yields=True)
    once = loop(1, 90, [9.9])
    shown = diagnose(recording([trifle, light, holding, once, generator, MAIN, heavy]), []).loops
    assert [summary.run.place.line for summary in shown] == [30, 32, 10]


def test_a_loop_in_a_function_that_a_loop_calls_is_inside_it() -> None:
    called = loop(70, 75, [0.001] * 900)
    samples = [sample("python", 0.9, 72, 15), sample("python", 3.0, 15)]
    assert [s.run.place.line for s in diagnose(recording([called, MAIN], samples), []).loops] == [10]


def test_a_keras_loop_knows_the_loop_around_it() -> None:
    fit = loop(15, 15, [0.005] * 780, kind="fit", stack=(Place(PROGRAM, 15), Place(PROGRAM, 90)))
    shown = diagnose(recording([fit, MAIN], [sample("compute", 3.0, 15, 90)]), []).loops
    assert [s.run.kind for s in shown] == ["for", "fit"]
    assert [sum(s.phases.values()) for s in shown] == pytest.approx([4.0, 3.9])


def test_one_keras_call_of_one_batch_per_step_is_not_shown_twice() -> None:
    predict = replace(loop(15, 15, FLAT, kind="predict", stack=(Place(PROGRAM, 15),)), runs=len(FLAT))
    assert [s.run.kind for s in diagnose(recording([predict, MAIN]), []).loops] == ["for"]


# -- causes --------------------------------------------------------------------------------------------------


def test_what_source_and_run_say_of_one_line_becomes_one_finding() -> None:
    (finding,) = diagnosed(found(13, seconds=4.0), static=(found(12, end_line=14, fix=FIX),)).findings
    assert (finding.basis, finding.confidence, finding.place.line) == ("both", "high", 12)
    assert finding.cost == Cost(4.0, 0.4)
    assert finding.fix == FIX


def test_findings_on_different_lines_of_one_loop_meet_at_the_line_the_source_names() -> None:
    (finding,) = diagnosed(found(18, seconds=4.0), static=(found(12, fix=FIX),)).findings
    assert (finding.basis, finding.place.line, finding.fix) == ("both", 12, FIX)


def test_findings_of_another_rule_file_or_loop_stay_apart() -> None:
    elsewhere = Place(PROGRAM, 50, 0, 60)
    strangers = (
        replace(found(13), rule="other"),
        replace(found(13), place=Place("other.py", 13), loop=None),
        replace(found(55), loop=elsewhere),
    )
    for stranger in strangers:
        finding = diagnosed(found(13, seconds=4.0), static=(stranger,)).findings[0]
        assert (finding.basis, finding.place.line) == ("measured", 13)


def test_two_measured_lines_of_one_ailment_become_one_finding_that_costs_as_much_as_both() -> None:
    static = (found(12, end_line=15, fix=FIX),)
    (finding,) = diagnosed(found(13, seconds=1.0), found(14, seconds=3.0), static=static).findings
    assert (finding.place.line, finding.basis, finding.fix) == (12, "both", FIX)
    assert finding.cost == Cost(4.0, 0.4)
    assert finding.message.endswith(f"Together with {PROGRAM}:13, 4.00 s.")


def test_a_second_line_of_a_loop_keeps_its_own_cost_where_the_source_names_only_the_first() -> None:
    findings = diagnosed(found(13, seconds=3.0), found(14, seconds=1.0), static=(found(13, fix=FIX),)).findings
    assert [(f.place.line, f.basis, f.cost) for f in findings] == [
        (13, "both", Cost(3.0, 0.3)),
        (14, "measured", Cost(1.0, 0.1)),
    ]


def test_causes_are_ranked_by_cost_and_none_costs_more_than_the_run() -> None:
    findings = diagnosed(found(13, seconds=2.0), found(16, seconds=30.0)).findings
    assert [f.cost for f in findings] == [Cost(10.0, 1.0), Cost(2.0, 0.2)]


def test_a_cause_under_two_percent_is_folded_unless_it_eats_memory() -> None:
    cheap = found(13, seconds=0.1)
    leak = replace(found(16, seconds=0.1), cost=Cost(0.1, 0.01, bytes_per_step=1e5))
    diagnosis = diagnosed(cheap, leak)
    assert [f.place.line for f in diagnosis.findings] == [16]
    assert [f.place.line for f in diagnosis.folded] == [13]


def test_what_the_source_fears_and_the_run_did_not_see_is_folded() -> None:
    diagnosis = diagnosed(static=(found(13, confidence="high"),))
    assert diagnosis.findings == ()
    assert [f.place.line for f in diagnosis.folded] == [13]


def test_what_no_rule_measures_is_kept_when_its_loop_ran_and_left_out_when_not() -> None:
    unmeasured = [rule("made-up")]
    static = (found(13), found(55, loop=loop(50, 60, FLAT)))
    diagnosis = diagnose(recording([MAIN]), unmeasured, static)
    assert [f.place.line for f in diagnosis.findings] == [13]
    assert diagnosis.folded == ()


def test_a_rule_that_crashes_is_reported_and_the_others_go_on() -> None:
    def crash(_: Recording) -> list[Finding]:
        raise KeyError("graph_ops")

    rules = [rule("broken", crash), rule("made-up", lambda _: [found(13, seconds=4.0)])]
    diagnosis = diagnose(recording([MAIN]), rules)
    assert [f.rule for f in diagnosis.findings] == ["made-up"]
    (problem,) = diagnosis.problems
    assert (problem.rule, problem.path) == ("broken", PROGRAM)
    assert "KeyError: 'graph_ops'" in problem.traceback


def test_an_empty_recording_is_no_reason_to_fail() -> None:
    assert diagnose(recording(seconds=0.0), [rule("made-up", lambda _: [])]) == Diagnosis((), (), ())


def test_a_large_recording_is_diagnosed() -> None:
    loops = [loop(line, line + 5, [0.01] * 30) for line in range(1, 1000, 10)]
    samples = [sample("python", 0.01, 1 + i % 999, 1 + i * 7 % 999, 2000) for i in range(3000)]
    assert len(diagnose(recording(loops, samples, seconds=3.0), []).loops) == 6


# -- through the front door ----------------------------------------------------------------------------------


def reported(tmp_path: Path, capsys: pytest.CaptureFixture[str], taken: Recording) -> dict[str, Any]:
    taken.save(tmp_path / "r.json.gz")
    assert main(["report", str(tmp_path / "r.json.gz"), "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_a_kept_recording_is_reported_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slowing = loop(10, 20, [0.01 + 0.0001 * i for i in range(400)])
    report = reported(tmp_path, capsys, recording([slowing], meta={"root": str(tmp_path)}))
    assert report["symptoms"][0]["kind"] == "degrading"
    assert report["symptoms"][0]["loop"]["line"] == 10
    assert report["meta"]["clean"] is False
    assert report["meta"]["seconds"] == pytest.approx(10.0)
    assert report["meta"]["versions"] == {"python": "3.11.7", "tensorflow": "2.21.0"}


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        (recording(), "No loop"),
        (recording(meta={"tensorflow": None}), "did not import TensorFlow"),
        (recording(meta={"tensorflow": None, "stopped": "after 5 s"}), "was ended before it had imported TensorFlow"),
        (recording(ended=Exit(signal=9)), "SIGKILL"),
        (recording(ended=Exit(code=1, exception="ValueError: no")), "ValueError: no"),
        (recording(ended=Exit()), "never came to its end"),
        (recording(meta={"unseen": ["Sessions are not visible."]}), "Sessions are not visible."),
        (recording([MAIN], [sample("python", 0.05, 12)]), "short"),
    ],
)
def test_what_limits_the_report_is_said_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], taken: Recording, words: str
) -> None:
    meta = {**taken.meta, "root": str(tmp_path)}
    assert any(words in note for note in reported(tmp_path, capsys, replace(taken, meta=meta))["notes"])


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's, with hotloop's own things kept out of it."""
    monkeypatch.setenv("HOTLOOP_HOME", str(tmp_path / "home"))
    folder = tmp_path / "a project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_run_keeps_its_recording_and_returns_the_programs_own_code(elsewhere: Path) -> None:
    (elsewhere / "count.py").write_text("total = 0\nfor i in range(300):\n    total += i\nraise SystemExit(7)\n")
    report, code = run_and_diagnose(["count.py"], keep=elsewhere / "kept" / "r.json")
    assert code == 7
    assert Recording.load(elsewhere / "kept" / "r.json").loops[0].steps == 300
    assert main(["report", "--output", "again.txt"]) == 0
    assert "count.py" in (elsewhere / "again.txt").read_text()
    assert report.meta["program"] == "count.py"


def test_a_line_that_the_user_excused_is_excused_when_measured_too(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = ["import tensorflow"] + ["pass"] * 11 + ["pass  # hotloop: ignore[made-up]"] + ["pass"] * 7
    (elsewhere / PROGRAM).write_text("\n".join(body))
    findings = [found(13, seconds=4.0), found(16, seconds=4.0)]
    monkeypatch.setattr("hotloop.diagnose.all_rules", lambda: (rule("made-up", lambda _: findings),))
    report = diagnose_recording(recording([MAIN], meta={"root": str(elsewhere)}))
    assert [f.place.line for f in report.findings] == [16]


@pytest.mark.parametrize(
    ("array", "said"),
    [
        ("np.random.rand(300, 300)", True),
        ("np.random.rand(300, 300).astype(np.float64)", False),
        ("np.asarray(rows, dtype='float64')", False),
        ("np.linalg.eigvalsh(rows)", False),
        ("np.random.rand(300, 300)  # in float32 the last digits are lost", False),
    ],
)
def test_doubles_that_the_source_asks_for_are_not_named_when_they_are_measured(
    elsewhere: Path, array: str, said: bool
) -> None:
    program = ["import numpy as np", "import tensorflow as tf", f"a = {array}", "t = tf.constant(a)"]
    (elsewhere / PROGRAM).write_text(
        "\n".join([*program, *["pass"] * 6, "while run():", *["    t = tf.matmul(t, t)"] * 9])
    )
    doubles = [Event("doubles.array", (Place(PROGRAM, 4),), totals={"bytes": 9e6})]
    doubles += [Event("doubles.multiplied", (Place(PROGRAM, 13),), seconds=6.0)]
    report = diagnose_recording(recording([MAIN], events=doubles, meta={"root": str(elsewhere)}))
    assert [(f.rule, f.place.line) for f in report.findings] == [("double-precision", 4)] * said


def test_of_two_places_in_a_loop_the_one_before_the_measured_line_is_meant() -> None:
    gradients, tapes = [found(18, seconds=2.0), found(28, seconds=1.0)], [found(12), found(22)]
    assert [finding.place.line for finding in merge(gradients, tapes)] == [12, 22]


def test_what_was_measured_is_not_said_to_have_never_run(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / PROGRAM).write_text("pass\n" * 60)
    measured = found(50, seconds=4.0, loop=None)
    static = [found(line, loop=None, confidence="high") for line in (50, 55)]
    monkeypatch.setattr("hotloop.diagnose.all_rules", lambda: (rule("made-up", lambda _: [measured]),))
    monkeypatch.setattr("hotloop.check.check", lambda project, rules: (static, []))
    report = diagnose_recording(recording([MAIN], meta={"root": str(elsewhere)}))
    (note,) = (note for note in report.notes if "also names" in note)
    assert f"{PROGRAM}:55" in note
    assert f"{PROGRAM}:50" not in note


def test_a_killed_program_is_reported_with_the_code_a_shell_gives(elsewhere: Path) -> None:
    (elsewhere / "die.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    report, code = run_and_diagnose(["die.py"])
    assert code == 137
    assert any("SIGKILL" in note for note in report.notes)


def test_a_recording_that_cannot_be_kept_does_not_cost_the_report(elsewhere: Path) -> None:
    (elsewhere / "count.py").write_text("for i in range(3):\n    pass\n")
    (elsewhere / "file").write_text("")
    report, code = run_and_diagnose(["count.py"], keep=elsewhere / "file" / "r.json")
    assert code == 0
    assert any("could not be kept" in note for note in report.notes)


def test_memory_without_points_or_loops_without_clocks_are_taken_as_they_are() -> None:
    bare = replace(MAIN, clock=Series("clock", "seconds"), step_seconds=Series("step", "seconds"))
    (summary,) = diagnose(recording([bare], rss=memory(4, lambda t: 1e9 * t)), []).loops
    assert (summary.step_median, summary.phases) == (0.0, {})


def test_memory_that_goes_into_arrays_which_the_program_collects_is_a_remark_that_names_them() -> None:
    ran = recording([loop(10, 20, [0.1] * 100)], rss=memory(10.0, lambda t: 3e8 + 1e7 * t))

    def held(share: float) -> Event:
        example = {"bytes": share * 8e7, "items": 80, "at": 8.0}
        return Event("held.arrays", (Place(PROGRAM, 12),), "outputs", 1, examples=(example,))

    found = diagnose(replace(ran, events=(held(0.9),)), [])
    assert not found.symptoms
    assert found.loops[0].remarks[0].endswith(f"in 100 steps: `outputs` holds arrays ({PROGRAM}:12)")
    assert [s.kind for s in diagnose(replace(ran, events=(held(0.1),)), []).symptoms] == ["leaking"]


def test_memory_that_rose_in_a_few_long_steps_and_stayed_is_no_leak() -> None:
    steps = [0.2] * 40 + [0.002] * 80
    rises = memory(8.16, lambda t: 3e8 + 1e7 * min(t, 8.0))
    assert not diagnose(recording([loop(10, 20, steps)], rss=rises), []).symptoms


def test_a_growing_array_that_the_source_names_is_priced_by_how_its_loop_slows_down() -> None:
    ran = recording([loop(10, 20, [0.01 + 0.0018 * i for i in range(100)])], [sample("python", 9.0, 12)])
    source = Finding("growing-concat", Place(PROGRAM, 12), "grows", "static", "medium", loop=ran.loops[0].place)
    (finding,) = diagnose(ran, [find_rule("growing-concat"), find_rule("growing-step")], [source]).findings
    assert (finding.rule, finding.basis) == ("growing-concat", "both")
    assert finding.cost is not None
    assert finding.cost.seconds == pytest.approx(ran.loops[0].seconds - 100 * 0.01, rel=0.1)
    elsewhere = replace(ran, samples=(sample("python", 9.0, 15),))
    (finding,) = diagnose(elsewhere, [find_rule("growing-concat"), find_rule("growing-step")], [source]).findings
    assert finding.rule == "growing-step"


@pytest.mark.parametrize(("steps", "told"), [(1, True), (2, False)])
def test_what_the_source_says_of_a_loop_that_failed_in_its_first_step_is_not_called_cheap(
    steps: int, told: bool, tmp_path: Path
) -> None:
    text = "import tensorflow as tf\nfor path in paths:\n    with tf.compat.v1.Session() as s:\n        s.run(path)\n"
    (tmp_path / PROGRAM).write_text(text)
    ran = recording([loop(2, 4, [0.1] * steps)], meta={"root": str(tmp_path)})
    report = diagnose_recording(ran)
    said = "`hotloop check` also names train.py:3 (session-in-loop), in loops that made no second step here."
    assert (said in report.notes) == told
    assert report.meta["folded"] == (0 if told else 1)


@pytest.mark.parametrize(
    ("row", "cost"), [("pd.DataFrame([float(t[0])])", 4.0), ("pd.read_csv(path)", None), ("load(path)", None)]
)
def test_a_table_that_grows_costs_what_pandas_takes_on_its_line_and_no_file_that_is_read_there(
    elsewhere: Path, row: str, cost: float | None
) -> None:
    lines = ["import pandas as pd", "import tensorflow as tf", *["pass"] * 7, "while run():"]
    body = ["    t = step(t)", f"    table = pd.concat([table, {row}])"]
    (elsewhere / PROGRAM).write_text("\n".join([*lines, *body, *["    pass"] * 8]))
    samples = [sample("library", 4.0, 12), sample("compute", 1.0, 12), sample("library", 3.0, 11)]
    report = diagnose_recording(recording([MAIN], samples, meta={"root": str(elsewhere)}))
    assert [f.cost and round(f.cost.seconds, 3) for f in report.findings] == [cost] * (cost is not None)
