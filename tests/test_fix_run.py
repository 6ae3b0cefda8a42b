"""`hotloop fix --run` from the outside, with a stand-in for TensorFlow: making a function costs, a call does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main

STAND_IN = """
def function(f):
    made = []
    def call(*args):
        if not made:
            made.append(sum(i * i for i in range({cost})))
        return f(*args)
    return call
"""
SLOW = """
import sys
import tensorflow as tf

def double(x):
    return 2 * x

total = 0
for step in range(int(sys.argv[1])):
    total += tf.function(double)(step)
print("total", total)
"""
FAST = SLOW.replace("for step", "double_function = tf.function(double)\nfor step").replace(
    "tf.function(double)(step)", "double_function(step)"
)
# Rebuilt because it must see the new value: made once, it would go on with the old one.
TRAP = SLOW.replace("total +=", "factor = step\n    total +=").replace("return 2 * x", "return factor * x")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tensorflow.py").write_text(STAND_IN.format(cost=40_000))
    (tmp_path / "train.py").write_text(SLOW)
    return tmp_path


def proved(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["fix", "--select", "function-in-loop", "--format", "json", *arguments]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def test_what_is_proved_on_a_copy_is_shown_and_then_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = proved(capsys, "--run", "train.py 40")
    (trial,) = report["trials"]
    assert (trial["verdict"], trial["same_results"], trial["level"]) == ("faster", True, "identical")
    assert [change["state"] for change in report["changes"]] == ["proved"]
    assert "+double_function = tf.function(double)\n" in report["diff"]
    assert (project / "train.py").read_text() == SLOW
    proved(capsys, "--run", "-m train 40", "--write")
    assert (project / "train.py").read_text() == FAST


def test_the_last_recording_need_not_run_again(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["run", str(project / "train.py"), "40"]) == 0
    )  # spelled in full: the trial must run the copy all the same
    assert "There is nothing to fix." not in proved(capsys, "--last", "--write")["notes"]
    assert (project / "train.py").read_text() == FAST
    assert main(["fix", "--last", "--run", "train.py"]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_a_program_that_takes_too_long_for_a_few_steps_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "tensorflow.py").write_text(STAND_IN.format(cost=10**12))
    assert main(["fix", "--run", "train.py 1", "--budget", "4s"]) == 2
    assert "takes too long to be tried within 4.00 s" in capsys.readouterr().err


def test_a_program_that_comes_to_no_loop_in_time_is_not_said_to_be_well(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "train.py").write_text("import threading\nthreading.Event().wait()\n" + SLOW)
    assert main(["fix", "--run", "train.py 1", "--budget", "4s"]) == 2
    assert "before its first loop" in capsys.readouterr().err


def test_a_program_that_fails_is_said_in_one_line_and_left_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fix", "--run", "train.py ten", "--write"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("hotloop: `train.py ten` fails before anything is changed: ValueError")
    assert (captured.err.count("\n"), captured.out) == (1, "")
    assert (project / "train.py").read_text() == SLOW


def test_a_change_that_crashes_is_refused_with_the_last_words(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in = STAND_IN.format(cost=40_000).replace(
        "        return f(", "        made.append(1)\n        return 1 / (8 - len(made)) and f("
    )
    (project / "tensorflow.py").write_text(stand_in)
    report = proved(capsys, "--run", "train.py 40", "--write")
    assert (report["diff"], report["changes"]) == ("", [])
    (refusal,) = report["refusals"]
    assert "tried, different results; " in refusal["reason"]
    assert "ZeroDivisionError" in refusal["reason"]
    assert "line 8" in refusal["reason"]
    assert (project / "train.py").read_text() == SLOW


def test_a_change_that_gains_nothing_is_not_offered(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tensorflow.py").write_text(STAND_IN.format(cost=1))
    work = SLOW.replace("return 2 * x", "return sum(i * i for i in range(30000))")
    (project / "train.py").write_text(work)
    report = proved(capsys, "--run", "train.py 40", "--write")
    assert (report["changes"], report["diff"]) == ([], "")
    assert report["trials"][0]["verdict"] != "faster"
    assert (project / "train.py").read_text() == work


def test_nothing_to_fix_is_one_sentence(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text("import tensorflow as tf\nfor i in range(3):\n    print(i)\n")
    report = proved(capsys, "--run", "train.py")
    assert report["notes"][0] == "There is nothing to fix."
