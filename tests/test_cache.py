"""What `check` said before is said again only when it still holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotloop import cache
from hotloop.model import Finding, Place, Problem, Report

FOUND = Report("check", findings=(Finding("a-rule", Place("p.py", 1), "Slow.", "static", "high"),), meta={"files": 1})


class Asked:
    def __init__(self, report: Report = FOUND) -> None:
        self.report, self.times = report, 0

    def __call__(self, contents: dict[Path, bytes]) -> Report:
        self.times += 1
        self.contents = contents
        return self.report


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOTLOOP_HOME", str(tmp_path / "home"))
    path = tmp_path / "p.py"
    path.write_text("x = 1\n")
    return path


def test_what_was_read_for_the_digest_is_handed_over(file: Path) -> None:
    ask = Asked()
    cache.remembered(["all"], [file], ask)
    assert ask.contents == {file: b"x = 1\n"}


def test_the_same_files_are_not_read_twice(file: Path) -> None:
    ask = Asked()
    assert cache.remembered(["all"], [file], ask) == cache.remembered(["all"], [file], ask) == FOUND
    assert ask.times == 1


def test_a_changed_file_is_read_again_even_with_its_old_size_and_time(file: Path) -> None:
    ask = Asked()
    cache.remembered(["all"], [file], ask)
    before = file.stat()
    file.write_text("x = 2\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    cache.remembered(["all"], [file], ask)
    assert ask.times == 2


def test_a_touched_file_is_the_same_file(file: Path) -> None:
    ask = Asked()
    cache.remembered(["all"], [file], ask)
    os.utime(file, (1, 1))
    cache.remembered(["all"], [file], ask)
    assert ask.times == 1


def test_another_question_or_another_file_is_another_answer(file: Path) -> None:
    ask = Asked()
    other = file.with_name("q.py")
    other.write_text("")
    cache.remembered(["all"], [file], ask)
    cache.remembered(["one"], [file], ask)
    cache.remembered(["all"], [file, other], ask)
    cache.remembered(["all"], [file], ask)
    assert ask.times == 4


def test_our_own_defects_are_not_kept(file: Path) -> None:
    ask = Asked(Report("check", problems=(Problem("p.py", "a-rule", "Traceback"),)))
    cache.remembered(["all"], [file], ask)
    cache.remembered(["all"], [file], ask)
    assert ask.times == 2


def test_a_broken_cache_costs_a_second_look_and_nothing_else(file: Path) -> None:
    ask = Asked()
    cache.remembered(["all"], [file], ask)
    (kept,) = (file.parent / "home" / "check").iterdir()
    kept.write_text('{"files": 3')
    assert cache.remembered(["all"], [file], ask) == FOUND
    assert ask.times == 2
    assert cache.remembered(["all"], [file], ask) == FOUND
    assert ask.times == 2
