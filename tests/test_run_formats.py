"""What was measured travels to other tools, and decides the exit code where a pipeline has to stop."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from recordings import loop, recording

from hotloop.cli import main
from hotloop.model import Cost, Evidence, Finding, Place, Report, Series, Symptom
from hotloop.report import render

LOOP = Place("train.py", 5, 0, 7, 80)
FINDING = Finding(
    rule="made-up",
    place=Place("train.py", 6, 8, 6, 26),
    message="`step` was traced 100 times in 100 steps (8.00 s of 12.0 s): make it once, before the loop.",
    basis="both",
    confidence="high",
    loop=LOOP,
    cost=Cost(8.0, 0.667, 116_000.0),
    evidence=(Evidence("traces", 100),),
)
SYMPTOMS = (Symptom("degrading", LOOP, 0.2, "seconds/1000 steps", "step time grows from 100 ms to 300 ms", (0.1, 0.3)),)


@pytest.fixture
def report() -> Report:
    return Report("run", (FINDING,), SYMPTOMS, meta={"seconds": 12.0})


def test_sarif_of_a_run_carries_the_cost_and_the_symptoms(report: Report) -> None:
    endless = replace(SYMPTOMS[0], kind="leaking", interval=(0.0, math.inf))
    run = json.loads(render(replace(report, symptoms=(*SYMPTOMS, endless)), "sarif"), parse_constant=pytest.fail)[
        "runs"
    ][0]
    finding, degrading, leaking = run["results"]
    assert finding["properties"]["cost"] == {"seconds": 8.0, "share": 0.667, "bytes_per_step": 116_000.0}
    assert finding["properties"]["evidence"][0] == {"name": "traces", "value": 100, "unit": ""}
    assert (degrading["ruleId"], degrading["properties"]["size"]) == ("degrading", 0.2)
    assert degrading["locations"][0]["physicalLocation"]["region"]["startLine"] == 5
    assert leaking["properties"]["interval"] == [0.0, None]
    assert {"degrading", "leaking"} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_annotations_and_failed_tests_of_a_run_name_the_symptoms_too(report: Report) -> None:
    lines = render(report, "github").splitlines()
    assert lines[0].startswith("::error title=hotloop%3A made-up,file=train.py,line=6")
    assert lines[1].startswith("::warning title=hotloop%3A degrading,file=train.py,line=5,endLine=5,col=1::step time")
    suite = ElementTree.fromstring(render(report, "junit"))[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("hotloop run", "2", "2")
    assert "8.00 s of 12.0 s (67%)" in (suite[0][0].text or "")
    assert (suite[1].get("name"), suite[1][0].get("type")) == ("degrading at line 5", "symptom")


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        ([], 0, ""),
        (["any"], 1, "fails, as --fail-on any asks"),
        (["degrading"], 1, "degrading at train.py:5."),
        (["leaking"], 0, ""),
        (["leaking", "degrading"], 1, "--fail-on degrading"),
        (["function-in-loop"], 0, ""),
    ],
)
def test_fail_on_decides_the_exit_code_of_a_report(
    asked: list[str], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slowing = recording([loop(5, 7, [0.01 * n for n in range(1, 60)])], seconds=18.0)
    slowing.save(tmp_path / "kept.json.gz")
    options = [option for name in asked for option in ("--fail-on", name)]
    assert main(["report", str(tmp_path / "kept.json.gz"), *options]) == code
    shown = capsys.readouterr()
    assert said in shown.err if said else not shown.err
    assert "step time grows" in shown.out


def test_fail_on_something_unknown_is_refused_before_the_program_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.py").write_text("raise SystemExit(7)\n")
    assert main(["run", "--fail-on", "slowness", str(tmp_path / "program.py")]) == 2
    assert capsys.readouterr().err == (
        "hotloop: --fail-on takes any, degrading, leaking or a rule's name: there is no `slowness`.\n"
    )


def test_a_loop_that_slowed_down_at_once_and_for_good_fails_as_degrading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [0.02] * 100 + [0.04] * 100
    taken = recording([loop(5, 7, steps)], seconds=6.0)
    times = tuple(n / 4 for n in range(25))
    replace(taken, cpu=Series("cpu", "seconds", times, times)).save(tmp_path / "kept.json.gz")
    assert main(["report", str(tmp_path / "kept.json.gz"), "--fail-on", "degrading"]) == 1
    shown = capsys.readouterr()
    assert "slowed at train.py:5." in shown.err
    assert "▲ from step 101 on each step takes 40.0 ms instead of 20.0 ms" in shown.out
    assert main(["report", str(tmp_path / "kept.json.gz"), "--fail-on", "leaking"]) == 0


@pytest.mark.parametrize("format", ["terminal", "json", "sarif", "github", "junit"])
def test_a_report_of_a_recording_is_written_in_every_format(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording([loop(5, 7, [0.01 * n for n in range(1, 60)])], seconds=18.0).save(tmp_path / "kept.json.gz")
    target = tmp_path / "report"
    assert main(["report", str(tmp_path / "kept.json.gz"), "--format", format, "--output", str(target)]) == 0
    assert "step time grows" in target.read_text(encoding="utf-8")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("asked", "code"), [("leaking", 1), ("function-in-loop", 7)])
def test_a_run_ends_with_the_programs_own_code_unless_what_it_must_not_do_was_seen(
    asked: str, code: int, tmp_path: Path
) -> None:
    program = "kept = []\nfor step in range(150):\n    kept.append(b'x' * 400_000)\n    sum(range(1_600_000))\n"
    (tmp_path / "program.py").write_text(program + "raise SystemExit(7)\n")
    command = [sys.executable, "-m", "hotloop", "run", "--fail-on", asked, "--format", "sarif", "--output", "x.sarif"]
    environment = {**os.environ, "HOTLOOP_HOME": str(tmp_path / "home")}
    done = subprocess.run([*command, "program.py"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == code
    assert ("--fail-on leaking asks: leaking at program.py:2" in done.stderr) is (code == 1)
    results = json.loads((tmp_path / "x.sarif").read_text())["runs"][0]["results"]
    (leak,) = (result["properties"] for result in results if result["ruleId"] == "leaking")
    assert leak["unit"] == "bytes/step"
    assert 300_000 < leak["size"] < 500_000
