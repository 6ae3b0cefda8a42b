"""SARIF, GitHub commands and JUnit: what other programs read is complete, well-formed and cannot be steered."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hotloop.cli import main
from hotloop.model import Edit, Finding, Fix, Place, Problem, Report
from hotloop.report import render
from hotloop.rules import all_rules

SLOW = """import tensorflow as tf


def train(batches):
    for batch in batches:
        é = 1; step = tf.function(lambda x: x + 1)
        step(batch)
"""
HOSTILE = "\x1b[2J%0A::error::x\r\n<b>&'\",]]>\udcff\x00"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "slow.py").write_text(SLOW, encoding="utf-8")
    (tmp_path / "old.py").write_text("import tensorflow\nprint 'x'\n")
    return tmp_path


def checked(capsys: pytest.CaptureFixture[str], format: str) -> str:
    capsys.readouterr()
    assert main(["check", "--format", format]) == 1
    return capsys.readouterr().out


def hostile() -> Report:
    place = Place(HOSTILE, 1, 0, 1, 5)
    fix = Fix(HOSTILE, (Edit(HOSTILE, 0, 3, HOSTILE),), "safe")
    finding = Finding(HOSTILE, place, HOSTILE, "static", "high", loop=place, chain=(place,), fix=fix)
    return Report("check", (finding,), problems=(Problem(HOSTILE, HOSTILE, HOSTILE),), notes=(HOSTILE,))


# -- SARIF -------------------------------------------------------------------------------------------------------------

# The parts of the SARIF 2.1.0 schema that hotloop uses: for each object, what it must and what it may have.
# A value is a type, a set of words, another object's name, or a list of one of these.
SCHEMA: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "log": ({"version": {"2.1.0"}, "runs": ["run"]}, {"$schema": str}),
    "run": (
        {"tool": "tool"},
        {"invocations": ["invocation"], "results": ["result"], "columnKind": {"utf16CodeUnits", "unicodeCodePoints"}},
    ),
    "tool": ({"driver": "driver"}, {}),
    "driver": ({"name": str}, {"semanticVersion": str, "rules": ["rule"]}),
    "rule": (
        {"id": str},
        {
            "shortDescription": "text",
            "fullDescription": "text",
            "help": "text",
            "defaultConfiguration": "configuration",
            "properties": dict,
        },
    ),
    "text": ({"text": str}, {"markdown": str}),
    "configuration": ({}, {"level": {"none", "note", "warning", "error"}}),
    "invocation": ({"executionSuccessful": bool}, {"toolExecutionNotifications": ["notification"]}),
    "notification": ({"message": "text"}, {"level": {"none", "note", "warning", "error"}}),
    "result": (
        {"message": "text"},
        {
            "ruleId": str,
            "ruleIndex": int,
            "level": {"none", "note", "warning", "error"},
            "locations": ["location"],
            "relatedLocations": ["location"],
            "partialFingerprints": dict,
            "fixes": ["fix"],
            "properties": dict,
        },
    ),
    "location": (
        {},
        {"id": int, "physicalLocation": "physical", "logicalLocations": ["logical"], "message": "text"},
    ),
    "logical": ({}, {"name": str, "kind": str}),
    "physical": ({"artifactLocation": "artifact"}, {"region": "region"}),
    "artifact": ({}, {"uri": str, "uriBaseId": str}),
    "region": (
        {},
        {
            "startLine": int,
            "startColumn": int,
            "endLine": int,
            "endColumn": int,
            "byteOffset": int,
            "byteLength": int,
        },
    ),
    "fix": ({"artifactChanges": ["change"]}, {"description": "text"}),
    "change": ({"artifactLocation": "artifact", "replacements": ["replacement"]}, {}),
    "replacement": ({"deletedRegion": "region"}, {"insertedContent": "text"}),
}


def complaints(value: Any, kind: Any, at: str = "$") -> list[str]:
    """What of a SARIF log is not as the schema has it."""
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{at} is no list"]
        return [said for n, item in enumerate(value) for said in complaints(item, kind[0], f"{at}[{n}]")]
    if isinstance(kind, set):
        return [] if value in kind else [f"{at} is {value!r}"]
    if isinstance(kind, type):
        return [] if type(value) is kind else [f"{at} is {type(value).__name__}"]
    must, may = SCHEMA[kind]
    found = [f"{at} has no {name}" for name in must if name not in value]
    for name, item in value.items():
        part = must.get(name, may.get(name))
        found += complaints(item, part, f"{at}.{name}") if part else [f"{at}.{name} is unknown"]
    if kind == "region":
        found += [f"{at}.{name} is {n}" for name, n in value.items() if n < (0 if name.startswith("byte") else 1)]
    return found


def sarif(text: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(text)
    assert complaints(log, "log") == []
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def test_the_check_of_the_schema_can_fail() -> None:
    assert complaints({"version": "2.0", "runs": [{}], "x": 1}, "log") == [
        "$.version is '2.0'",
        "$.runs[0] has no tool",
        "$.x is unknown",
    ]
    assert complaints({"startLine": 0}, "region") == ["$.startLine is 0"]


def test_sarif_says_what_where_in_which_loop_and_how_to_mend_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = sarif(checked(capsys, "sarif"))
    (result,) = run["results"]
    assert result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/slow.py", "uriBaseId": "%SRCROOT%"}
    line = SLOW.split("\n")[place["region"]["startLine"] - 1]
    assert line[place["region"]["startColumn"] - 1 :].startswith("tf.function"), "columns count characters"
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 5
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].startswith("old.py is not Python")


def test_sarif_knows_every_rule_with_its_help(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = sarif(checked(capsys, "sarif"))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.name for rule in all_rules()]
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert "**Instead**" in rule["help"]["markdown"]
    (result,) = run["results"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_the_replacements_of_a_sarif_fix_make_the_fix(tmp_path: Path) -> None:
    source = "x = 'é'\nfor y in z:\n    f()\n"
    (tmp_path / "p.py").write_bytes(source.encode())
    at = source.encode().index(b"for")
    edits = (Edit("p.py", at, at, "g = f\n"), Edit("p.py", len(source.encode()) - 4, len(source.encode()) - 3, "g"))
    finding = Finding("made-up", Place("p.py", 2), "slow", "static", "low", fix=Fix("hoist", edits, "safe"))
    (result,) = sarif(render(Report("check", (finding,), meta={"root": str(tmp_path)}), "sarif"))["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    lines = source.split("\n")

    def offset(line: int, column: int) -> int:
        return sum(len(text) + 1 for text in lines[: line - 1]) + column - 1

    mended = source
    for part in reversed(change["replacements"]):
        region = part["deletedRegion"]
        start, end = (offset(region[f"{side}Line"], region[f"{side}Column"]) for side in ("start", "end"))
        mended = mended[:start] + part["insertedContent"]["text"] + mended[end:]
    assert mended == "x = 'é'\ng = f\nfor y in z:\n    g()\n"


def test_a_fingerprint_follows_a_line_that_moves_and_tells_two_equal_lines_apart(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def prints() -> list[str]:
        results = sarif(checked(capsys, "sarif"))["results"]
        return [next(iter(result["partialFingerprints"].values())) for result in results]

    before = prints()
    again = SLOW.partition("\n\n\n")[2].replace("train", "again")
    (project / "a b" / "slow.py").write_text("# moved\n" + SLOW + "\n\n" + again, encoding="utf-8")
    after = prints()
    assert after[0] == before[0]
    assert len(set(after)) == 2


def test_hostile_text_makes_neither_sarif_nor_json_invalid() -> None:
    text = render(hostile(), "sarif")
    text.encode("ascii")
    run = sarif(text)
    assert "\x1b" not in run["results"][0]["message"]["text"]
    assert not re.search(r"[\s<>\"]", run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
    assert run["invocations"][0]["executionSuccessful"] is False
    json.loads(render(replace(hostile(), problems=()), "json"))


# -- GitHub ------------------------------------------------------------------------------------------------------------


def test_github_gets_one_command_for_each_finding_on_its_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finding, note = checked(capsys, "github").splitlines()
    assert finding.startswith("::error title=hotloop%3A function-in-loop,file=a b/slow.py,line=6,endLine=6,col=")
    assert "in every step of the loop over `batches`" in finding
    assert note.startswith("::warning title=hotloop::old.py is not Python")


def test_text_from_outside_cannot_start_a_command_of_its_own() -> None:
    *lines, last = render(hostile(), "github").split("\n")
    assert (len(lines), last) == (3, "")
    for line in lines:
        assert re.fullmatch(r"::(error|warning) [^:]*::[^\r\x1b\x00]*", line)
        assert "%0A" not in line.replace("%250A", "")


# -- JUnit -------------------------------------------------------------------------------------------------------------


def test_junit_has_one_failure_for_each_finding(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = ElementTree.fromstring(checked(capsys, "junit"))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    case = suite.find("testcase")
    assert case is not None
    assert (case.get("file"), case.get("line")) == ("a b/slow.py", "6")
    failure = case.find("failure")
    assert failure is not None
    assert "in every step of the loop" in str(failure.get("message"))
    assert "old.py is not Python" in (suite.findtext("system-out") or "")


def test_junit_without_findings_is_one_test_that_passes() -> None:
    (suite,) = ElementTree.fromstring(render(Report("check"), "junit"))
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")
    assert [child.tag for child in suite.iter()] == ["testsuite", "testcase"]


def test_junit_stays_xml_whatever_is_in_it() -> None:
    (suite,) = ElementTree.fromstring(render(hostile(), "junit"))
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")
    assert "<b>" in str(suite.findtext("system-out"))


# -- all ---------------------------------------------------------------------------------------------------------------


def test_every_format_can_go_to_a_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for format in ("terminal", "json", "sarif", "github", "junit"):
        printed = checked(capsys, format)
        assert main(["check", "--format", format, "--output", "report"]) == 1
        assert capsys.readouterr().out == ""
        assert (project / "report").read_text(encoding="utf-8") == printed


def test_a_place_in_a_notebook_is_said_in_words_where_a_line_number_would_mislead() -> None:
    finding = Finding("made-up", Place("n.ipynb", 5, 2, 5, 9, cell=3), "slow", "static", "medium")
    report = Report("check", (finding,))
    assert ",line=1::cell 3, line 5: slow" in render(report, "github")
    (result,) = sarif(render(report, "sarif"))["results"]
    assert result["message"]["text"] == "cell 3, line 5: slow"
    assert result["locations"][0]["logicalLocations"][0]["name"] == "cell 3"
    assert 'name="made-up at cell 3, line 5"' in render(report, "junit")
