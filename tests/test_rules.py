"""The same questions, asked of every rule folder. What a folder does not define, it is not asked about."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main
from hotloop.mending import mend
from hotloop.model import Recording
from hotloop.rules import Rule, all_rules
from hotloop.rules.specimens import expectations, plain, renamed, specimen, write

RULES = all_rules()


def asked(*parts: str) -> pytest.MarkDecorator:
    """Of every rule that has these parts."""
    rules = [rule for rule in RULES if all(getattr(rule, part) for part in parts)]
    return pytest.mark.parametrize("rule", rules, ids=lambda rule: rule.name)


def checkable(expected: set[tuple[str, int, str]]) -> set[tuple[str, int, str]]:
    """Of what is expected, that which can be read from source."""
    static = {rule.name for rule in RULES if rule.check}
    return {item for item in expected if item[2] in static}


def findings(report: dict[str, Any]) -> set[tuple[str, int, str]]:
    found = report["findings"]
    return {(f["place"]["path"], f["place"]["line"], f["rule"]) for f in found}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON that a hotloop command prints."""
    capsys.readouterr()
    assert main([*arguments, "--format", "json"]) in (0, 1)
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert report["problems"] == []
    return report


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# 1 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["slow", "fast", "edge"])
@asked("check")
def test_check_says_exactly_what_the_comments_expect(
    rule: Rule, name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = specimen(rule, name)
    write(files, project)
    expected = checkable(expectations(files))
    assert findings(said(capsys, "check", ".")) == expected
    ours = {item for item in expected if item[2] == rule.name}
    assert not ours if name == "fast" else ours, f"{name} should{' not' * (name == 'fast')} expect {rule.name}"


# 2 and 3 ----------------------------------------------------------------------------------------------------


def shown(files: dict[str, bytes]) -> str:
    """All files in one text, so that a failure shows the lines that differ."""
    return "".join(f"--- {path}\n{source.decode()}" for path, source in sorted(files.items()))


def fixed(rule: Rule, files: dict[str, bytes]) -> dict[str, bytes]:
    """With every fix of the rule, also those that are only shown."""
    return mend(files, [rule], safeties=("safe", "verify", "advice")).contents


@asked("check", "fix")
def test_the_fix_of_slow_is_fast(rule: Rule) -> None:
    slow, fast = plain(specimen(rule, "slow")), plain(specimen(rule, "fast"))
    assert shown(renamed(fixed(rule, slow), "fast")) == shown(fast)


@asked("check", "fix")
def test_the_fix_of_fast_changes_nothing(rule: Rule) -> None:
    fast = plain(specimen(rule, "fast"))
    assert shown(fixed(rule, fast)) == shown(fast)


# 4 ----------------------------------------------------------------------------------------------------------


def diagnosed(rule: Rule, name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `hotloop report` says of the recording that lies in the folder, with the program beside it."""
    path = rule.folder / f"{name}.json.gz"
    assert path.exists(), f"there is no {path.name}: make rerecord NAME={rule.name}"
    write(specimen(rule, name), project)
    recording = Recording.load(path)
    here = dataclasses.replace(recording, meta={**recording.meta, "root": str(project)})
    here.save(project / "recording.json")
    return said(capsys, "report", "recording.json")


@asked("diagnose")
def test_the_recording_of_slow_names_the_rule_and_the_line(
    rule: Rule, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = diagnosed(rule, "slow", project, capsys)
    ours = [f for f in report["findings"] if f["rule"] == rule.name]
    lines = {item for item in findings(report) if item[2] == rule.name}
    assert lines
    assert lines <= expectations(specimen(rule, "slow"))
    assert {f["basis"] for f in ours} <= {"both", "measured"}
    assert all(f["cost"]["seconds"] > 0 or f["cost"]["bytes_per_step"] for f in ours)


@asked("diagnose")
def test_the_recording_of_fast_is_silent(rule: Rule, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = diagnosed(rule, "fast", project, capsys)
    assert [f for f in report["findings"] if f["rule"] == rule.name] == []


@asked("diagnose")
@pytest.mark.parametrize("name", ["slow", "fast"])
def test_a_recording_is_small_and_holds_nothing_of_the_machine(rule: Rule, name: str) -> None:
    data = (rule.folder / f"{name}.json.gz").read_bytes()
    assert len(data) < 200_000
    text = gzip.decompress(data).decode()
    assert re.findall(r'"(?:/|[A-Z]:\\)[^"]+"', text) == []
    assert '"root"' not in text


# 5 ----------------------------------------------------------------------------------------------------------


@asked()
def test_the_folder_explains_its_rule(rule: Rule) -> None:
    assert rule.complaints() == []


@asked()
def test_explain_shows_the_explanation(rule: Rule, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", rule.name]) == 0
    words = capsys.readouterr().out.split()
    assert " ".join(rule.summary.split()) in " ".join(words)
    assert main(["rules"]) == 0
    assert rule.name in capsys.readouterr().out


def test_there_are_rules() -> None:
    assert RULES
