"""`hotloop check` on programs that were written without a look at the rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wild_programs import PROGRAMS, guilt, strays

from hotloop.cli import main

SLOW = [folder for folder in PROGRAMS if guilt(folder)]
GOOD = [folder for folder in PROGRAMS if not guilt(folder)]


def checked(folder: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[dict[str, Any]]]:
    monkeypatch.chdir(folder)
    code = main(["check", ".", "--format", "json", "--output", str(output)])
    report = json.loads(output.read_text(encoding="utf-8"))
    assert report["problems"] == []
    return code, report["findings"]


def test_there_are_ten_slow_programs_and_five_good_ones() -> None:
    assert (len(SLOW), len(GOOD)) == (10, 5)


@pytest.mark.parametrize("folder", SLOW, ids=lambda folder: folder.name)
def test_check_points_at_the_guilty_lines_and_at_no_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, findings = checked(folder, tmp_path / "report.json", monkeypatch)
    assert code == 1
    assert findings
    assert strays(findings, guilt(folder)) == []


@pytest.mark.parametrize("folder", GOOD, ids=lambda folder: folder.name)
def test_check_is_quiet_about_a_good_program(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, findings = checked(folder, tmp_path / "report.json", monkeypatch)
    assert strays(findings, {}) == []
    assert code == 0
