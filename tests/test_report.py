"""A report reads well at a terminal, and travels to other tools whole."""

from __future__ import annotations

import fcntl
import json
import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import fields, replace
from pathlib import Path

import pytest
from recordings import loop, recording, sample

from hotloop.cli import main
from hotloop.model import (
    Change,
    Cost,
    Event,
    Evidence,
    Finding,
    Fix,
    HotloopError,
    LineCost,
    LoopSummary,
    Place,
    Problem,
    Refusal,
    Report,
    Series,
    Side,
    Symptom,
    Trial,
    Verdict,
    from_plain,
)
from hotloop.report import render
from hotloop.report.rulebook import listing
from hotloop.rules import all_rules

SOURCE = """import tensorflow as tf


def train(batches):
    for batch in batches:
\tstep = tf.function(model)
\tstep(batch)  # [bold] is not markup
"""
RUN = loop(5, 7, [0.9] + [0.1] * 100, path="train.py")
SUMMARY = LoopSummary(RUN, 0.1, {"compute": 2.0, "trace": 8.0, "python": 0.9})
FINDING = Finding(
    rule="made-up",
    place=Place("train.py", 6, 8, 6, 26),
    message="`step` was traced 100 times in 100 steps (8.00 s of 12.0 s): make it once, before the loop.",
    basis="both",
    confidence="high",
    loop=RUN.place,
    chain=(Place("main.py", 40), Place("lib.py", 12)),
    cost=Cost(8.0, 0.667, 116_000.0),
    evidence=(Evidence("traces", 100), Evidence("first runs", 2.5, "s")),
    fix=Fix("make `step` once, before the loop", (), "verify"),
)
SYMPTOMS = (
    Symptom("degrading", RUN.place, 0.2, "seconds/1000 steps", "step time grows from 100 ms to 300 ms", (0.1, 0.3)),
)
TRIAL = Trial("before", "after", "faster", True, 10.9, (9.8, 12.1), 41.2, 3.78, 5, ("2 numbers were not compared",))
MEMORY = Series("rss", "bytes", (0.0, 1.0, 2.0), (3e8, 4e8, math.nan))


@pytest.fixture
def report(tmp_path: Path) -> Report:
    (tmp_path / "train.py").write_text(SOURCE)
    meta = {
        "root": str(tmp_path),
        "program": "train.py",
        "argv": ["train.py", "--name", "a b"],
        "seconds": 12.0,
        "import_seconds": 2.0,
        "versions": {"tensorflow": "2.21.0"},
        "folded": 1,
        "recording": "/tmp/kept.json.gz",
    }
    return Report(
        "run",
        (FINDING,),
        SYMPTOMS,
        (SUMMARY,),
        notes=("Sessions are not visible.",),
        memory=MEMORY,
        meta=meta,
    )


@pytest.fixture(params=[60, 80, 120])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def test_a_loop_of_uneven_steps_says_so_rather_than_a_median_that_does_not_add_up(report: Report) -> None:
    uneven = replace(report, loops=(LoopSummary(RUN, 0.001, {"python": 10.9}),))
    text = " ".join(render(uneven, "terminal").split())
    assert "108 ms per step on average, half of them within 1.00 ms · 10.9 s" in text


# -- terminal ------------------------------------------------------------------------------------------------


def test_a_run_reads_verdict_first_at_eighty_columns(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert render(report, "terminal") == (
        """\
hotloop run train.py --name 'a b'
12.0 s after 2.00 s of imports · TensorFlow 2.21.0

1 cause found: mending it would save about 8.00 s of 12.0 s (67%). 1 more
finding under 2% not shown.

train.py:5  for batch in batches:
   ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆ 101 steps · 100 ms per step · 10.9 s (91% of the run)
   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒███·· ▒ trace 73%  █ compute 18%  · python 8%
   ▲ step time grows from 100 ms to 300 ms

train.py:6  made-up  high
  █████████████░░░░░░░  8.00 s of 12.0 s (67%), 116 KB per step
  `step` was traced 100 times in 100 steps (8.00 s of 12.0 s): make it once,
  before the loop.
     4 │ def train(batches):
     5 │     for batch in batches:
   > 6 │     step = tf.function(model)
       │            ^^^^^^^^^^^^^^^^^^
     7 │     step(batch)  # [bold] is not markup
  where  in the loop on line 5, through main.py:40 → lib.py:12
  seen   traces 100 · first runs 2.50 s
  fix    make `step` once, before the loop (applied once proved)

note Sessions are not visible.

fix    `hotloop fix --run "train.py --name 'a b'"` tries the fix and keeps what
       it proves.
page   `hotloop report --html report.html` draws it.
kept   /tmp/kept.json.gz
"""
    )


def test_no_line_is_wider_than_the_terminal(report: Report, width: int) -> None:
    long = replace(FINDING, place=Place("a/very/long/" * 9 + "path.py", 1), message="word " * 60 + "x" * 300)
    source = Path(str(report.meta["root"])) / "train.py"
    source.write_text(SOURCE.replace("(model)", "(" + "model" * 40 + ")").replace("batches:", "b" * 200 + ":"))
    text = render(replace(report, findings=(FINDING, long), trials=(TRIAL,)), "terminal")
    assert "   > 6 │ " in text
    assert max(len(line) for line in text.splitlines()) <= width
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_color_adds_escapes_and_changes_no_word(report: Report) -> None:
    plain, colored = render(report, "terminal"), render(report, "terminal", color=True)
    assert "\x1b[" in colored
    assert "\x1b" not in plain
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_text_from_outside_cannot_steer_the_terminal(report: Report) -> None:
    hostile = "\x1b]0;title\x07\x1b[2J[red]\r\nx\udcff"
    place = Place(hostile, 1)
    bad = replace(FINDING, message=hostile, place=place, rule=hostile, loop=place)
    text = render(
        Report("run", (bad,), notes=(hostile,), diff=hostile, refusals=(Refusal(hostile, place),)), "terminal"
    )
    assert not set(text) & {"\x1b", "\x07", "\r"}
    assert "[red]" in text
    text.encode("utf-8")


def test_of_a_loop_that_is_python_for_the_most_part_it_says_that_much(report: Report) -> None:
    (loop,) = report.loops
    python = replace(loop, phases={"library": 5.0, "python": 1.0, "compute": 4.9})
    clean = replace(report, findings=(), symptoms=(), loops=(python,), meta={**report.meta, "folded": 0})
    said = "Nothing that hotloop knows of is worth mending: 55% of the loop on line 5 is Python."
    assert said in " ".join(render(clean, "terminal").split())


def test_a_clean_run_says_so_and_shows_where_its_time_went(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    clean = replace(report, findings=(), symptoms=(), notes=(), meta={**report.meta, "folded": 0})
    assert render(clean, "terminal").partition("\n\n")[2] == (
        """\
Nothing here is worth mending.

train.py:5  for batch in batches:
   ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆ 101 steps · 100 ms per step · 10.9 s (91% of the run)
   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒███··
   ▒  trace    8.00 s  73%  tracing functions, building graphs
   █  compute  2.00 s  18%  TensorFlow at work
   ·  python   900 ms   8%  your own Python

page   `hotloop report --html report.html` draws it.
kept   /tmp/kept.json.gz
"""
    )


def test_a_cause_without_a_fix_says_what_to_do_instead_in_the_words_of_its_rule(report: Report) -> None:
    refused = replace(FINDING, rule="compile-in-loop", fix=Refusal("it is not safe", FINDING.place))
    text = render(replace(report, findings=(refused,)), "terminal")
    assert "  mend   Compile once, before the loop.\n  no fix it is not safe\n" in text
    assert "  mend" not in render(Report("check", (refused,)), "terminal")


def test_a_run_says_how_many_epochs_and_where_the_page_lies(report: Report) -> None:
    epochs = Event("epoch", (Place("train.py", 5),), count=6)
    text = render(replace(report, events=(epochs,), meta={**report.meta, "page": "x.html"}), "terminal")
    assert "101 steps in 6 epochs · " in text
    assert "page   x.html\n" in text


@pytest.mark.parametrize(("setting", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_a_terminal_gets_color_and_its_whole_width_unless_it_says_otherwise(
    setting: dict[str, str], colored: bool, tmp_path: Path
) -> None:
    slowing = recording([loop(5, 7, [0.01 * n for n in range(1, 60)])], [sample("compute", 9, 6)], seconds=18.0)
    slowing.save(tmp_path / "kept.json.gz")
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TERM")}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    command = [sys.executable, "-m", "hotloop", "report", str(tmp_path / "kept.json.gz")]
    subprocess.run(command, check=True, stdout=theirs, env={**kept, "TERM": "xterm", **setting}, cwd=tmp_path)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert ("\x1b[" in shown) is colored
    assert "step time grows" in shown


def test_a_symptom_without_a_known_cause_is_not_called_clean(report: Report) -> None:
    text = render(replace(report, findings=()), "terminal")
    assert "worth mending" not in text
    assert "No cause that hotloop knows" in text


def test_check_without_findings_prints_nothing() -> None:
    assert render(Report("check"), "terminal") == ""


def test_check_counts_its_findings(report: Report) -> None:
    static = replace(FINDING, cost=None, basis="static")
    text = render(Report("check", (static, static), meta={"root": report.meta["root"]}), "terminal")
    assert text.endswith("2 findings in 1 file: 2 high.\n")
    assert "of 12.0 s (" not in text


def test_check_shows_the_loop_and_the_calls_that_lead_from_it(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("for path in paths:\n    label(path)\n")
    (tmp_path / "lib.py").write_text(
        "def label(path):\n    return load(path)\n\n\ndef load(path):\n    x = tf.f(path)\n"
    )
    finding = Finding(
        "made-up",
        Place("lib.py", 6, 8, 6, 18),
        "slow",
        "static",
        "medium",
        loop=Place("main.py", 1, 0, 2, 15),
        chain=(Place("main.py", 2), Place("lib.py", 2)),
    )
    text = render(Report("check", (finding,), meta={"root": str(tmp_path)}), "terminal")
    assert text == (
        """\
lib.py:6  made-up  medium
  slow
     5 │ def load(path):
   > 6 │     x = tf.f(path)
       │         ^^^^^^^^^^
  loop   main.py:1 │ for path in paths:
  call   main.py:2 │ label(path)
  call    lib.py:2 │ return load(path)

1 finding in 1 file: 1 medium.
"""
    )


def test_a_line_that_two_rules_name_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("for path in paths:\n    x = tf.f(path)\n")
    place, loop = Place("main.py", 2, 4, 2, 18), Place("main.py", 1, 0, 2, 18)
    one, other = (Finding(rule, place, f"{rule}.", "static", "high", loop=loop) for rule in ("made-up", "thought-up"))
    elsewhere = Finding("made-up", place, "of another loop.", "static", "high", loop=Place("main.py", 2))
    text = render(Report("check", (one, other, elsewhere), meta={"root": str(tmp_path)}), "terminal")
    assert text.startswith(
        """\
main.py:2  made-up  high
  made-up.
   ↻ 1 │ for path in paths:
   > 2 │     x = tf.f(path)

main.py:2  thought-up  high
  thought-up.

main.py:2  made-up  high
  of another loop.
"""
    )
    assert text.count("> 2 │     x = tf.f(path)") == 2


def test_many_notes_are_counted_after_the_first_few() -> None:
    text = render(Report("check", notes=tuple(f"file {n} is odd." for n in range(9))), "terminal")
    assert text.count("is odd") == 5
    assert "and 4 notes more" in text


def test_costs_that_overlap_are_never_added_up(report: Report) -> None:
    both = (replace(FINDING, cost=Cost(11.0, 0.92)), replace(FINDING, cost=Cost(9.0, 0.75)))
    text = render(replace(report, findings=both), "terminal")
    assert all(int(share) <= 100 for share in re.findall(r"(\d+)%", text))


def test_a_trial_shows_both_times_the_interval_and_the_verdict() -> None:
    text = render(Report("compare", trials=(TRIAL,)), "terminal")
    for part in ("41.2 s → 3.78 s", "10.9x (9.80–12.1)", "same", "`after` is 10.9x faster than `before`"):
        assert part in text
    assert "2 numbers were not compared" in text


@pytest.mark.parametrize(
    ("verdict", "speedup", "interval", "said"),
    [
        ("slower", 0.5, (0.4, 0.625), "2.00x slower than `before` in its loops (1.60–2.50)"),
        ("slower", 0.5, (0.0, 0.9), "2.00x slower"),
        ("inconclusive", 10.9, (0.0, math.inf), "Nothing is decided: 10.9x after 5 runs"),
        ("different-results", 10.9, (9.8, 12.1), "The results of `after` differ"),
        ("same", 1.01, (0.99, 1.03), "neither faster nor slower"),
    ],
)
def test_each_verdict_is_a_sentence(verdict: Verdict, speedup: float, interval: tuple[float, float], said: str) -> None:
    trial = replace(TRIAL, verdict=verdict, speedup=speedup, interval=interval)
    assert said in " ".join(render(Report("compare", trials=(trial,)), "terminal").split())


def test_a_diff_and_a_defect_are_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    line = "+" + "x" * 150
    problem = Problem("train.py", "made-up", "Traceback:\n  " + "y" * 150)
    text = render(Report("fix", diff=f"--- a\n+++ b\n{line}\n", problems=(problem,)), "terminal")
    assert line in text.splitlines()
    assert "    " + "y" * 150 in text.splitlines()
    assert "of hotloop itself, in made-up on train.py" in text


def test_refusals_say_where_and_why() -> None:
    refused = Refusal("the graph changes in the loop", Place("a.py", 3))
    text = render(Report("fix", refusals=(refused,)), "terminal")
    assert "not fixed a.py:3: the graph changes in the loop" in text
    finding = replace(FINDING, fix=refused)
    assert "no fix the graph changes in the loop" in render(Report("check", (finding,)), "terminal")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"one line\n"], ids=["gone", "binary", "shorter now"])
def test_a_file_that_changed_or_went_has_no_excerpt(report: Report, content: bytes | None) -> None:
    path = Path(str(report.meta["root"])) / "train.py"
    path.write_bytes(content) if content is not None else path.unlink()
    text = render(report, "terminal")
    assert "│" not in text
    assert "train.py:5  for" in text


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(HotloopError, match="no format `xml`"):
        render(Report("run"), "xml")


# -- json ----------------------------------------------------------------------------------------------------


def test_json_holds_the_whole_report_and_comes_back(report: Report) -> None:
    text = render(replace(report, memory=Series("rss", "bytes")), "json")
    plain = json.loads(text)
    finding = plain["findings"][0]
    assert (finding["rule"], finding["place"]["path"], finding["place"]["line"]) == ("made-up", "train.py", 6)
    assert (finding["basis"], finding["confidence"], finding["cost"]["seconds"]) == ("both", "high", 8.0)
    assert (finding["loop"]["line"], finding["fix"]["type"]) == (5, "fix")
    assert (plain["symptoms"][0]["kind"], plain["symptoms"][0]["loop"]["line"]) == ("degrading", 5)
    assert render(from_plain(Report, plain), "json") == text


def test_json_has_null_where_a_number_is_none(report: Report) -> None:
    endless = replace(TRIAL, interval=(0.0, math.inf), speedup=math.nan)
    plain = json.loads(render(replace(report, trials=(endless,)), "json"), parse_constant=pytest.fail)
    assert plain["memory"]["values"][2] is None
    assert plain["trials"][0]["interval"] == [0.0, None]
    assert plain["trials"][0]["speedup"] is None


def test_every_field_of_the_report_is_documented() -> None:
    page = (Path(__file__).parent.parent / "docs" / "json.md").read_text(encoding="utf-8")
    nouns = (
        Report,
        Finding,
        Place,
        Cost,
        Evidence,
        Change,
        Fix,
        Refusal,
        Symptom,
        LoopSummary,
        type(RUN),
        Event,
        LineCost,
        Series,
        Side,
        Trial,
        Problem,
    )
    missing = [f"{noun.__name__}.{f.name}" for noun in nouns for f in fields(noun) if f"`{f.name}`" not in page]
    assert missing == []
    assert f"version {Report('run').version}" in page


# -- the rule book -------------------------------------------------------------------------------------------


def test_the_list_names_every_rule_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for rule in all_rules():
        assert rule.name in text
        assert rule.summary in text
    assert listing([]).strip().startswith("`hotloop explain")


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_rule_is_explained_with_its_own_specimens(rule: object, capsys: pytest.CaptureFixture[str]) -> None:
    name = getattr(rule, "name", "")
    assert main(["explain", name]) == 0
    text = capsys.readouterr().out
    for part in (name, "Why", "Instead", "Not when", "--- slow", "+++ fast"):
        assert part in text
    assert "# expect" not in text


def test_an_unknown_rule_is_refused_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no-such-rule"]) == 2
    assert "there is no rule `no-such-rule`" in capsys.readouterr().err
