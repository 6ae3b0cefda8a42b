"""`hotloop compare` from the outside, on programs that need no TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main

SLOW = """
import sys

def work(n):
    return sum(i * i for i in range(n))

total = 0
for step in range(40):
    total += work(int(sys.argv[1]))
print("total", total)
"""
FAST = SLOW.replace("total = 0", "total, known = 0, work(int(sys.argv[1]))").replace(
    "+= work(int(sys.argv[1]))", "+= known"
)


def compared(capsys: pytest.CaptureFixture[str], before: str, after: str) -> tuple[int, dict[str, Any]]:
    code = main(["compare", before, after, "--runs", "4", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert report["command"] == "compare"
    (outcome,) = report["trials"]
    return code, outcome


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "fast.py").write_text(FAST)


def test_a_loop_that_does_less_is_faster_and_the_programs_get_their_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, outcome = compared(capsys, "slow.py 20000", "fast.py 20000")
    assert (code, outcome["verdict"], outcome["same_results"]) == (0, "faster", True)
    assert (outcome["before"], outcome["after"]) == ("slow.py 20000", "fast.py 20000")
    assert outcome["speedup"] > 3
    assert outcome["interval"][0] > 1.02


def test_a_faster_loop_with_another_answer_fails(capsys: pytest.CaptureFixture[str]) -> None:
    code, outcome = compared(capsys, "slow.py 20000", "fast.py 20001")
    assert (code, outcome["verdict"], outcome["same_results"]) == (1, "different-results", False)


@pytest.mark.parametrize("crashing", ["fast.py ten", "slow.py ten"], ids=["before its loop", "in its loop"])
def test_a_crash_after_the_change_fails_with_its_last_words(crashing: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, outcome = compared(capsys, "slow.py 10", crashing)
    assert (code, outcome["verdict"], outcome["runs"]) == (1, "different-results", 1)
    assert "ValueError: invalid literal" in outcome["notes"][0]


def test_a_crash_before_the_change_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "slow.py", "fast.py 10"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("hotloop: `slow.py` fails by itself")
    assert captured.err.count("\n") == 1


def test_a_missing_program_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "slow.py 10", "nowhere.py"]) == 2
    assert "nowhere.py" in capsys.readouterr().err
