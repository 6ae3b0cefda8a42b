"""`hotloop check` as people call it: exit codes, settings, baselines, standard input, and what goes wrong."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main
from hotloop.report.progress import progress
from hotloop.rules import all_rules

RULE = "function-in-loop"
SLOW = """import tensorflow as tf


def train(batches):
    for batch in batches:
        step = tf.function(lambda x: x + 1)
        step(batch)
"""
FAST = "import tensorflow as tf\n\nstep = tf.function(lambda x: x + 1)\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `hotloop check`: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["check", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def places(out: str) -> list[tuple[str, int, str]]:
    return [(f["place"]["path"], f["place"]["line"], f["rule"]) for f in json.loads(out)["findings"]]


# -- exit codes and what goes wrong ------------------------------------------------------------------------------------


def test_findings_exit_with_one_and_nothing_with_zero_and_silence(check: Any, project: Path) -> None:
    assert check()[0] == 1
    (project / "slow.py").write_text(FAST)
    assert check() == (0, "", "")


def test_a_missing_path_is_one_sentence_and_the_rest_is_still_checked(check: Any) -> None:
    code, out, err = check("nothing.py", "slow.py")
    assert (code, err) == (2, "hotloop: there is no file or folder nothing.py.\n")
    assert RULE in out


def test_a_named_file_that_is_not_python_fails_and_the_rest_is_still_checked(check: Any, project: Path) -> None:
    (project / "old.py").write_text("import tensorflow\nprint 'x'\n")
    code, out, err = check("old.py", "slow.py")
    assert code == 2
    assert err.startswith("hotloop: old.py is not Python 3")
    assert err.count("\n") == 1
    assert RULE in out
    assert "old.py" not in out
    code, out, err = check()
    assert (code, err) == (1, "")
    assert "note old.py is not Python 3" in " ".join(out.split())


@pytest.mark.parametrize("name", ["plain.py", "test_plain.py"])
def test_a_named_file_is_read_whatever_it_is_called_and_speaks_of(check: Any, project: Path, name: str) -> None:
    (project / name).write_text("print 'x'\n")
    code, _, err = check(name, "slow.py")
    assert code == 2
    assert err.startswith(f"hotloop: {name} is not Python 3")


def test_ctrl_c_is_one_line(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hotloop.check.check_files", interrupted)
    assert check() == (130, "", "hotloop: interrupted.\n")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here that root cannot read either")
def test_a_file_that_cannot_be_read_fails_wherever_it_lies(check: Any, project: Path) -> None:
    (project / "locked.py").symlink_to("/proc/self/mem")
    code, out, err = check(".")
    assert code == 2
    assert err.endswith("cannot be read: Input/output error.\n")
    assert err.count("\n") == 1
    assert "slow.py:6" in out


@pytest.mark.parametrize(
    "data",
    [
        b"import tensorflow\nx = " + b"(" * 3000 + b"1" + b")" * 3000,
        b"import tensorflow\nx = " + b"-" * 50_000 + b"1",
        b"import tensorflow\n\x00",
        b"# coding: nope\nimport tensorflow",
        b"import tensorflow\nx = '\xff'",
    ],
    ids=["deep brackets", "deep signs", "a zero byte", "no such encoding", "not UTF-8"],
)
def test_what_is_nothing_like_python_costs_one_sentence(data: bytes, check: Any, project: Path) -> None:
    (project / "odd.py").write_bytes(data)
    code, out, err = check("odd.py", "slow.py")
    assert code == 2
    assert err.startswith("hotloop: odd.py is n")
    assert err.count("\n") == 1
    assert "slow.py:6" in out


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_unknown_rule_is_one_sentence_with_those_there_are(option: str, check: Any) -> None:
    code, out, err = check(option, "no-such-rule")
    assert (code, out) == (2, "")
    assert "there is no rule `no-such-rule`" in err
    assert RULE in err


def test_a_folder_without_python_says_so(check: Any, project: Path) -> None:
    (project / "empty").mkdir()
    code, out, _ = check("empty")
    assert code == 0
    assert "there is no Python file or notebook in empty" in " ".join(out.split())


def test_a_rule_that_crashes_is_our_defect_said_once_and_the_others_speak(
    check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = next(rule for rule in all_rules() if rule.check and rule.name != RULE)

    def crash(project: object) -> Iterator[Any]:
        raise LookupError("oh")
        yield

    monkeypatch.setattr(sys.modules[other.module_name], "check", crash)
    code, out, _ = check()
    words = " ".join(out.split())
    assert code == 2
    assert f"defect of hotloop itself, in {other.name}" in words
    assert "LookupError: oh" in words
    assert f"`--ignore {other.name}` leaves the rule out" in words
    assert "Please report it" in words
    assert "slow.py:6" in out
    assert check("--ignore", other.name)[0] == 1


def test_a_report_that_cannot_be_written_is_one_sentence(check: Any) -> None:
    code, _, err = check("--output", "no/such/folder/report.txt")
    assert code == 2
    assert err.startswith("hotloop: cannot write no/such/folder/report.txt")


def test_python_s_own_warnings_about_what_is_read_are_not_shown(project: Path) -> None:
    (project / "slow.py").write_text(SLOW + 'pattern = "\\d"\nx = 1 is 1\n')
    command = [sys.executable, "-W", "always", "-m", "hotloop", "check", "slow.py"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == ""


def test_a_terminal_that_knows_only_ascii_still_gets_its_report(project: Path) -> None:
    command = [sys.executable, "-m", "hotloop", "check", "slow.py"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=project, capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"> 6 ?" in done.stdout


def test_a_name_cannot_steer_the_terminal_through_a_complaint(check: Any) -> None:
    code, _, err = check("no\x1b[2Jthing.py")
    assert code == 2
    assert "\x1b" not in err


def test_rules_are_selected_and_ignored_by_name_or_by_list(check: Any) -> None:
    others = [rule.name for rule in all_rules() if rule.name != RULE]
    assert check("--select", RULE)[0] == 1
    assert check("--select", ",".join(others))[0] == 0
    assert check("--ignore", RULE)[0] == 0


# -- standard input ----------------------------------------------------------------------------------------------------


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_standard_input_is_checked_under_the_name_it_is_given(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, "# new\n" + SLOW)
    code, out, _ = check("-", "--stdin-filename", "pkg/model.py")
    assert code == 1
    assert out.startswith(f"pkg/model.py:7  {RULE}")
    assert "> 7 │         step = tf.function(lambda x: x + 1)" in out


def test_standard_input_without_a_name_is_called_stdin(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, SLOW)
    assert places(check("-", "--format", "json")[1]) == [("stdin.py", 6, RULE)]


def test_the_name_of_standard_input_decides_what_it_is(
    check: Any, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    piped(monkeypatch, SLOW)
    assert check("-", "--stdin-filename", "tests/test_model.py") == (0, "", "")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "model.py"
    piped(monkeypatch, SLOW)
    assert places(check("-", "--format", "json", "--stdin-filename", str(elsewhere))[1]) == [(str(elsewhere), 6, RULE)]


def test_standard_input_that_is_not_python_fails_under_its_name(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, "import tensorflow\nprint 'x'\n")
    code, out, err = check("-", "--stdin-filename", "old.py")
    assert (code, out) == (2, "")
    assert err.startswith("hotloop: old.py is not Python 3")


def test_standard_input_goes_with_no_other_path(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, SLOW)
    assert check("-", "slow.py")[0] == 2
    code, _, err = check("--stdin-filename", "x.py", "slow.py")
    assert code == 2
    assert "goes with `-`" in err


# -- settings ----------------------------------------------------------------------------------------------------------


def test_the_nearest_settings_upwards_count(check: Any, project: Path) -> None:
    (project / "pyproject.toml").write_text(f'[tool.hotloop]\nignore = ["{RULE}"]\n')
    (project / "sub").mkdir()
    (project / "sub" / "slow.py").write_text(SLOW)
    (project / "sub" / "pyproject.toml").write_text("[tool.other]\n")
    assert check("sub")[0] == 0
    (project / "sub" / "hotloop.toml").write_text("")
    assert check("sub")[0] == 1
    assert check(".")[0] == 0


def test_settings_select_ignore_exclude_and_ignore_per_file(check: Any, project: Path) -> None:
    (project / "old").mkdir()
    (project / "old" / "slow.py").write_text(SLOW)
    settings = project / "hotloop.toml"

    def found(text: str, *arguments: str) -> set[str]:
        settings.write_text(text)
        return {path for path, _, _ in places(check("--format", "json", *arguments)[1])}

    other = next(rule.name for rule in all_rules() if rule.name != RULE)
    assert found("") == {"slow.py", "old/slow.py"}
    assert found('exclude = ["old/"]') == {"slow.py"}
    assert found('exclude = ["old/"]', "old/slow.py") == {"old/slow.py"}
    assert found(f'[per-file-ignores]\n"old/**" = ["{RULE}"]') == {"slow.py"}
    assert found(f'[per-file-ignores]\n"old/" = ["{RULE}"]\n"/slow.py" = ["{other}"]') == {"slow.py"}
    assert found(f'select = ["{other}"]') == set()
    assert found(f'select = ["{other}"]', "--select", RULE) == {"slow.py", "old/slow.py"}
    assert found(f'ignore = ["{RULE}"]', "--select", RULE) == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("selct = []", "there is no setting `selct`. The settings are: select, ignore, exclude"),
        ('select = "x"', "`select` must be a list of strings"),
        ("exclude = [1]", "`exclude` must be a list of strings"),
        ("baseline = 1", "`baseline` must be a string"),
        ("per-file-ignores = []", "`per-file-ignores` must be a table"),
        ('[per-file-ignores]\n"a" = 1', "`per-file-ignores.a` must be a list of strings"),
        ("select = [", "is not valid TOML"),
        ('select = ["no-such-rule"]', "there is no rule `no-such-rule`"),
        ('[per-file-ignores]\n"a" = ["no-such-rule"]', "there is no rule `no-such-rule`"),
    ],
)
def test_a_setting_that_is_wrong_is_one_sentence_that_names_the_file(
    text: str, said: str, check: Any, project: Path
) -> None:
    (project / "hotloop.toml").write_text(text)
    code, out, err = check()
    assert (code, out) == (2, "")
    assert said in err
    assert "hotloop.toml" in err
    assert err.count("\n") == 1


def test_a_pyproject_whose_hotloop_is_no_table_is_refused(check: Any, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool]\nhotloop = 1\n")
    assert "`tool.hotloop` must be a table" in check()[2]
    (project / "pyproject.toml").write_text("not toml at all, and nothing for us\n")
    assert check()[0] == 1


# -- baseline ----------------------------------------------------------------------------------------------------------


def test_a_baseline_hides_what_is_known_wherever_its_line_has_moved(check: Any, project: Path) -> None:
    code, out, err = check("--baseline", "known.json", "--write-baseline")
    assert (code, out, err) == (0, "", "hotloop: 1 finding written to known.json.\n")
    assert check("--baseline", "known.json") == (0, "", "")
    (project / "slow.py").write_text("# moved\n\n" + SLOW.replace("    ", "\t"))
    assert check("--baseline", "known.json") == (0, "", "")


def test_a_baseline_shows_what_is_new_even_where_it_looks_the_same(check: Any, project: Path) -> None:
    check("--baseline", "known.json", "--write-baseline")
    again = SLOW.partition("\n\n\n")[2].replace("train", "again")
    (project / "slow.py").write_text(SLOW + "\n\n" + again)
    code, out, _ = check("--baseline", "known.json")
    assert code == 1
    assert out.count(f"  {RULE}  ") == 1
    assert "1 new finding in 1 file: 1 high. 1 finding more in the baseline." in " ".join(out.split())
    (project / "slow.py").write_text(SLOW.replace("x + 1", "x + 2"))
    assert check("--baseline", "known.json")[0] == 1


def test_a_baseline_of_the_settings_is_found_from_any_folder(
    check: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "hotloop.toml").write_text('baseline = "known.json"\n')
    (project / "sub").mkdir()
    (project / "sub" / "slow.py").write_text(SLOW)
    assert check("--write-baseline")[0] == 0
    assert check() == (0, "", "")
    monkeypatch.chdir(project / "sub")
    assert check() == (0, "", "")
    assert check("../slow.py") == (0, "", "")


def test_a_baseline_reads_well_in_a_review(check: Any, project: Path) -> None:
    check("--baseline", "known.json", "--write-baseline")
    (item,) = json.loads((project / "known.json").read_text())["findings"]
    assert item == {"rule": RULE, "path": "slow.py", "line": "step = tf.function(lambda x: x + 1)", "count": 1}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1}', '{"version": 9, "findings": []}', '{"version": 1, "findings": [1]}']
)
def test_a_baseline_that_is_none_is_refused(text: str, check: Any, project: Path) -> None:
    (project / "known.json").write_text(text)
    code, _, err = check("--baseline", "known.json")
    assert code == 2
    assert "known.json is not a baseline" in err


def test_a_baseline_that_is_not_there_says_how_to_make_one(check: Any) -> None:
    code, _, err = check("--baseline", "known.json")
    assert code == 2
    assert "`--write-baseline` makes one" in err
    assert "add `--baseline FILE`" in check("--write-baseline")[2]


# -- progress ----------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_waits_a_second_and_then_counts_and_cleans_up() -> None:
    now = iter([0.0, 0.5, 1.5, 1.55, 2.0])
    screen = Terminal()
    with progress(screen, clock=lambda: next(now)) as step:
        assert step is not None
        step(1, 4)
        assert screen.getvalue() == ""
        step(2, 4)
        assert "2/4" in screen.getvalue()
        step(3, 4)
        assert "3/4" not in screen.getvalue()
        step(4, 4)
        assert "4/4" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")


def test_nobody_who_does_not_watch_is_shown_progress() -> None:
    with progress(io.StringIO()) as step:
        assert step is None
