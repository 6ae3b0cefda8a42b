"""`hotloop fix PATH` from the outside: what is shown, what is written, and what is left as it was."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hotloop.rules.function_in_loop as rule
from hotloop.cli import main
from hotloop.model import Finding, Fix
from hotloop.source import Project

SLOW = "import tensorflow as tf\n\nfor x in batches:\n    print(tf.function(model)(x))  # ü\n"
FAST = SLOW.replace("for", "model_function = tf.function(model)\nfor").replace(
    "tf.function(model)(x)", "model_function(x)"
)
REFUSED = "import tensorflow as tf\n\nfor x in batches:\n    w = w + 1\n    print(tf.function(lambda v: v * w)(x))\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SLOW)
    return tmp_path


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """From here on the fix is of another safety."""
    make = rule.fix

    def become(safety: Any) -> None:
        def fix(finding: Finding, project: Project) -> Fix:
            return replace(make(finding, project), safety=safety)

        monkeypatch.setattr(rule, "fix", fix)

    return become


def fixed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["fix", "--format", "json", *arguments]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def states(report: dict[str, Any]) -> list[tuple[int, str]]:
    return [(change["place"]["line"], change["state"]) for change in report["changes"]]


def test_a_fix_is_shown_and_nothing_is_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = fixed(capsys)
    assert "+model_function = tf.function(model)\n" in report["diff"]
    assert states(report) == [(4, "offered")]
    assert "1 change needs a proof" in report["notes"][-1]
    assert (project / "train.py").read_text() == SLOW


def test_a_fix_that_needs_a_proof_is_not_written_without_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = fixed(capsys, "--write")
    assert (report["diff"], states(report)) == ("", [(4, "offered")])
    assert "`--unproved`" in report["notes"][-1]
    assert (project / "train.py").read_text() == SLOW
    assert states(fixed(capsys, "--write", "--unproved")) == [(4, "written")]
    assert (project / "train.py").read_text() == FAST


def test_a_safe_fix_is_written_and_fixing_again_says_that_there_is_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], now: Callable[[str], None]
) -> None:
    now("safe")
    assert states(fixed(capsys, "--write")) == [(4, "written")]
    assert (project / "train.py").read_text() == FAST
    assert main(["fix", "--write"]) == 0
    assert capsys.readouterr().out == "note There is nothing to fix.\n"


def test_advice_is_shown_and_never_written(
    project: Path, capsys: pytest.CaptureFixture[str], now: Callable[[str], None]
) -> None:
    now("advice")
    report = fixed(capsys, "--write", "--unproved")
    assert (report["diff"], states(report)) == ("", [(4, "shown")])
    assert (project / "train.py").read_text() == SLOW
    assert main(["fix"]) == 0
    assert "by hand  train.py:4: create `model_function` once" in capsys.readouterr().out


def test_the_same_reason_is_said_once_for_all_places(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text(REFUSED * 6)
    assert len(fixed(capsys)["refusals"]) == 6
    assert main(["fix"]) == 0
    (said,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("not fixed")]
    assert said.startswith("not fixed train.py:4, train.py:9, train.py:14, train.py:19 and 2 more: ")


def test_the_diff_of_a_file_with_other_line_endings_reads_like_any(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "train.py").write_bytes(SLOW.replace("\n", "\r\n").encode())
    assert main(["fix", "--write", "--unproved"]) == 0
    assert "\n+model_function = tf.function(model)\n" in capsys.readouterr().out
    assert (project / "train.py").read_bytes() == FAST.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("options", [("--ignore", "function-in-loop"), ("--select", "session-in-loop")])
def test_rules_can_be_left_out(options: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    report = fixed(capsys, *options)
    assert (report["diff"], report["changes"], report["refusals"]) == ("", [], [])


def test_only_the_paths_that_are_named_are_mended(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "other.py").write_text(SLOW)
    fixed(capsys, "other.py", "--write", "--unproved")
    assert (project / "train.py").read_text() == SLOW
    assert (project / "other.py").read_text() == FAST


def test_a_path_that_is_not_there_fails_and_the_others_are_mended(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fix", "nowhere.py", "train.py", "--write", "--unproved"]) == 2
    assert "nowhere.py" in capsys.readouterr().err
    assert (project / "train.py").read_text() == FAST


# -- writing -----------------------------------------------------------------------------------------------------------


def test_backups_never_replace_each_other(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py.orig").write_text("older")
    fixed(capsys, "--write", "--unproved", "--backup")
    assert (project / "train.py.orig").read_text() == "older"
    assert (project / "train.py.orig1").read_text() == SLOW
    assert (project / "train.py").read_text() == FAST


def test_mode_and_owner_stay(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / "train.py"
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 1234, 2345)
    before = file.stat()
    fixed(capsys, "--write", "--unproved")
    after = file.stat()
    assert file.read_text() == FAST
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (before.st_uid, before.st_gid, 0o640)


@pytest.mark.parametrize("step", ["os.fsync", "tempfile.mkstemp", "os.replace"])
def test_a_full_disk_leaves_everything_as_it_was(
    step: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*args: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (project / "other.py").write_text(SLOW)
    with monkeypatch.context() as context:
        context.setattr(step, full)
        assert main(["fix", "--write", "--unproved"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("hotloop: cannot write other.py: No space left on device")
    assert said.count("\n") == 1
    assert sorted(os.listdir(project)) == ["other.py", "train.py"]
    assert {(project / name).read_text() for name in os.listdir(project)} == {SLOW}


def test_a_read_only_file_stops_all_writing(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "another.py").write_text(SLOW)
    monkeypatch.setattr("hotloop.writing.os.access", lambda file, mode: file.name != "train.py")
    assert main(["fix", "--write", "--unproved"]) == 2
    assert "cannot write train.py: it is read-only; nothing was written" in capsys.readouterr().err
    assert (project / "another.py").read_text() == SLOW


def test_changes_that_are_not_committed_are_spoken_of(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *arguments], cwd=project, check=True, capture_output=True)

    (project / "other.py").write_text(SLOW)
    git("init")
    git("add", ".")
    git("commit", "-m", "x")
    (project / "train.py").write_text("# begun\n" + SLOW)
    notes = fixed(capsys, "--write", "--unproved")["notes"]
    assert notes == [
        "Wrote other.py, train.py.",
        "train.py had changes that are not committed: `git diff` shows both together.",
    ]


# -- notebooks ---------------------------------------------------------------------------------------------------------

OUTPUTS = [{"name": "stdout", "output_type": "stream", "text": ["3\n"]}]
CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Größe\n", "text"]},
    {
        "cell_type": "code",
        "metadata": {},
        "outputs": OUTPUTS,
        "source": ["import tensorflow as tf\n", "%matplotlib inline"],
    },
    {"cell_type": "code", "metadata": {"a": 1.50}, "outputs": [], "source": SLOW.splitlines(keepends=True)[2:]},
    {"cell_type": "code", "metadata": {}, "outputs": [], "source": "".join(SLOW.splitlines(keepends=True)[2:])},
]


@pytest.mark.parametrize("style", [{"indent": 1, "ensure_ascii": False}, {"indent": 4}, {}])
def test_of_a_notebook_only_the_lines_that_change_are_written(
    style: dict[str, Any], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = {"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(notebook, **style).replace("1.5", "1.50") + "\n"
    (project / "a.ipynb").write_text(text, encoding="utf-8")
    report = fixed(capsys, "a.ipynb", "--write", "--unproved")
    assert [(change["place"]["cell"], change["place"]["line"]) for change in report["changes"]] == [(3, 2), (4, 2)]
    assert "\n %matplotlib inline\n" in report["diff"]
    after = (project / "a.ipynb").read_text(encoding="utf-8")
    sources = ["".join(cell["source"]) for cell in json.loads(after)["cells"]]
    assert sources[2] == "".join(FAST.splitlines(keepends=True)[2:])
    assert sources[3] == sources[2].replace("model_function", "model_function_2")
    old, new = ([part.strip() for part in side.split("\n")] for side in (text, after))
    if "indent" in style:
        assert [line for line in new if line not in old] == [
            '"model_function = tf.function(model)\\n",',
            json.dumps("    print(model_function(x))  # ü\n", ensure_ascii=style.get("ensure_ascii", True)),
            '"source": ' + json.dumps(sources[3], ensure_ascii=style.get("ensure_ascii", True)),
        ]
    before, plain = json.loads(text), json.loads(after)
    for side in (before, plain):
        for cell in side["cells"][2:]:
            del cell["source"]
    assert before == plain
    assert after.count("1.50") == 1


def test_a_change_of_a_line_that_is_no_python_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "source": "for x in y:\n    %time tf.function(model)(x)\n",
    }
    head = {**CELLS[1], "source": "import tensorflow as tf\n"}
    text = json.dumps({"cells": [head, cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (project / "a.ipynb").write_text(text)
    report = fixed(capsys, "a.ipynb", "--write", "--unproved")
    assert [refusal["reason"] for refusal in report["refusals"]] == [
        "the change meets a line that only a notebook understands"
    ]
    assert (project / "a.ipynb").read_text() == text


def test_of_a_path_that_is_not_there_only_that_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "nowhere.py"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "hotloop: there is no file or folder nowhere.py.\n"


@pytest.mark.parametrize("folder", ["lib", "bin", "usr/lib"])
def test_a_folder_may_be_called_like_one_of_the_machine(
    folder: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / folder).mkdir(parents=True)
    (project / "train.py").rename(project / folder / "train.py")
    assert main(["fix", "--format", "json", "."]) == 0
    assert f"+++ b/{folder}/train.py" in json.loads(capsys.readouterr().out)["diff"]


def test_a_diff_of_its_own_can_be_applied_whatever_ends_the_lines(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "train.py").write_bytes(SLOW.replace("    ", "\t").replace("\n", "\r\n").encode())
    subprocess.run(["git", "init", "-q", "."], check=True)
    assert main(["fix", "--format", "diff", "--output", "mend.patch"]) == 0
    subprocess.run(["git", "apply", "mend.patch"], check=True)
    assert (project / "train.py").read_bytes() == FAST.replace("    ", "\t").replace("\n", "\r\n").encode()
    assert capfd.readouterr().out == ""
