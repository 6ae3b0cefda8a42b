"""`hotloop compare` from the outside, on programs that need no TensorFlow."""

from __future__ import annotations

import json
import subprocess
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


# -- files, exit codes, randomness -------------------------------------------------------------------------------------

LOOP = "import sys\nfor step in range(20):\n    sum(i * i for i in range(2000))\n"
WRITES = LOOP + "open('result.{kind}', 'w').write('loss {loss}')\n"


def test_files_that_are_written_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.py").write_text(WRITES.format(kind="csv", loss=0.5))
    Path("b.py").write_text(WRITES.format(kind="csv", loss=0.50000001))
    Path("c.py").write_text(WRITES.format(kind="csv", loss=0.6))
    Path("d.py").write_text(WRITES.format(kind="txt", loss=0.5))
    _, outcome = compared(capsys, "a.py", "b.py")
    assert (outcome["same_results"], outcome["level"]) == (True, "close")
    _, outcome = compared(capsys, "a.py", "c.py")
    assert (outcome["same_results"], "result.csv differs: `0.5` before" in outcome["notes"][0]) == (False, True)
    _, outcome = compared(capsys, "a.py", "d.py")
    assert outcome["notes"] == ["the file result.csv is not written any more"]


def test_exit_codes_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    for code in (3, 4):
        Path(f"exit{code}.py").write_text(f"{LOOP}print('sum', 4.5)\nsys.exit({code})\n")
    code, outcome = compared(capsys, "exit3.py", "exit4.py")
    assert (code, outcome["notes"]) == (1, ["the exit code is 3 before, 4 after"])
    assert "both end with exit code 3" in compared(capsys, "exit3.py", "exit3.py")[1]["notes"]


def test_seeds_are_fixed_and_what_is_random_in_spite_of_them_is_recognised(capsys: pytest.CaptureFixture[str]) -> None:
    Path("seeded.py").write_text(f"import random\n{LOOP}print('loss', random.random(), hash('a'))\n")
    _, outcome = compared(capsys, "seeded.py", "seeded.py")
    assert (outcome["same_results"], outcome["level"]) == (True, "identical")
    random = "import os\n" + LOOP + "print('loss', {} + int.from_bytes(os.urandom(2), 'big') / 65536)\n"
    Path("random.py").write_text(random.format(5))
    Path("elsewhere.py").write_text(random.format(50))
    _, outcome = compared(capsys, "random.py", "random.py")
    assert (outcome["same_results"], outcome["level"]) == (True, "random")
    assert "differs from itself from run to run" in outcome["notes"][-1]
    code, outcome = compared(capsys, "random.py", "elsewhere.py")
    assert (code, outcome["verdict"], outcome["same_results"]) == (3, "inconclusive", None)
    assert "1 of them lie elsewhere" in outcome["notes"][-1]


# -- revisions ---------------------------------------------------------------------------------------------------------


def test_a_program_is_compared_at_two_revisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    program = tmp_path / "jobs" / "train.py"
    program.parent.mkdir()
    needs = "import os\nassert open('size.txt').read() == 'kept out of git'\nos.mkdir('out')\n"
    program.write_text(needs + SLOW)
    (tmp_path / ".gitignore").write_text("size.txt\n")
    (tmp_path / "size.txt").write_text("kept out of git")
    git("init")
    git("add", ".")
    git("commit", "-m", "slow")
    program.write_text(needs + FAST)
    git("commit", "-am", "fast")
    program.write_text("raise ValueError('begun')\n")
    words = ["--format", "json", "--", "jobs/train.py", "20000"]
    assert main(["compare", "HEAD~1", "HEAD", *words]) == 0
    outcome = json.loads(capsys.readouterr().out)["trials"][0]
    assert (outcome["verdict"], outcome["before"].partition(" ")[0]) == ("faster", "HEAD~1")
    assert main(["compare", "HEAD", ".", *words]) == 1
    assert "begun" in json.loads(capsys.readouterr().out)["trials"][0]["notes"][0]
    assert main(["compare", "HEAD", "nowhere", *words]) == 2
    assert "git knows no `nowhere`" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# -- how it is told ----------------------------------------------------------------------------------------------------


def test_the_page_has_both_on_one_chart_and_the_block_both_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["slow.py 20000", "fast.py 20000", "--runs", "3"]
    assert main(["compare", *words, "--format", "markdown", "--html", "page.html"]) == 0
    block, page = capsys.readouterr().out, Path("page.html").read_text(encoding="utf-8")
    assert block.startswith("### hotloop compare: ")
    assert "|  | slow.py 20000 | fast.py 20000 |\n| --- | --- | --- |\n| time in loops | " in block
    assert "results the same to the last digit" in block
    assert 'class="line before"' in page
    assert 'class="line after"' in page
