"""The ways to say what to run: each is what plain Python would make of it, or one clear sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hotloop.cli import main
from hotloop.model import HotloopError, Recording
from hotloop.record import record
from hotloop.record.command import understand

PACKAGE = """\
import sys
print("imported", sys.argv, __name__, flush=True)  # A pool ends its workers without asking whether they have flushed.
"""
TOOL = """\
"What it is for."
START = sorted(globals())
import multiprocessing, os, pickle, sys
class Thing: pass
def squares(n):
    return [i * i for i in range(n)]
if __name__ == "__main__":
    print(__doc__, __name__, __file__, __spec__ and __spec__.name, __package__, START, __cached__, type(__loader__))
    print(sys.argv, sys.path, sys.orig_argv, os.getcwd(), sys.flags, sys.warnoptions, sys.stdin.read())
    print(globals() is vars(sys.modules["__main__"]), type(pickle.loads(pickle.dumps(Thing()))) is Thing)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(squares, [3]))
    for i in range(3):
        if i == 2:
            raise ValueError("the end")
"""
MAIN = """\
import sys
print(__name__, __file__, __spec__.name, __package__, sys.argv, sys.path[0])
for i in range(4):
    pass
sys.exit(3)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pkg" / "inner").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text(PACKAGE)
    (folder / "pkg" / "tool.py").write_text(TOOL)
    (folder / "pkg" / "inner" / "__main__.py").write_text(MAIN)
    return folder


def through(project: Path, *words: str) -> tuple[Recording, subprocess.CompletedProcess[bytes]]:
    """Recorded, with streams untouched."""
    kept = project / "kept.json"
    code = "import sys; from pathlib import Path; from hotloop.record import record; " + (
        "sys.exit(record(sys.argv[2:], recording=Path(sys.argv[1]))[1].code)"
    )
    # Not as `--` would stand on a command line of Python's own: that would take it for itself.
    command = [sys.executable, "-c", code, str(kept), *words]
    done = subprocess.run(command, cwd=project, input=b"typed", capture_output=True, check=False)
    recording = Recording.load(kept)
    kept.unlink()
    return recording, done


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (("-m", "pkg.tool", "a", "-b"), 3),
        (("-u", "-Werror", "-X", "dev", "-mpkg.tool"), 3),
        (("-m", "pkg.inner", "x y"), 4),
        (("-I", "pkg/tool.py", "--flag"), 3),
    ],
)
def test_a_python_command_cannot_tell_that_it_is_recorded(project: Path, words: tuple[str, ...], steps: int) -> None:
    plain = subprocess.run([sys.executable, *words], cwd=project, input=b"typed", capture_output=True, check=False)
    recording, seen = through(project, "--", sys.executable, *words)
    assert seen.stdout.decode() == plain.stdout.decode()
    assert seen.stderr.decode() == plain.stderr.decode()
    assert seen.returncode == plain.returncode == recording.exit.code
    assert max(run.steps for run in recording.loops if run.kind == "for") == steps
    assert {run.place.path for run in recording.loops} <= {"pkg/tool.py", "pkg/inner/__main__.py"}


def test_a_module_is_recorded_without_naming_python(project: Path) -> None:
    recording, seen = through(project, "-m", "pkg.inner", "--flag")
    assert b"__main__.py', '--flag']" in seen.stdout
    assert (seen.returncode, recording.meta["argv"]) == (3, ["-m", "pkg.inner", "--flag"])
    assert [(run.place.path, run.steps) for run in recording.loops] == [("pkg/inner/__main__.py", 4)]


def test_under_a_tool_the_project_is_where_it_was_called(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "test_it.py").write_text(
        "from pkg.tool import squares\ndef test_it():\n    for i in range(30):\n        squares(4)\n"
    )
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    words = ["test_it.py", "-q", "-p", "no:cacheprovider", "--assert=plain"]
    for command in (["--", "pytest"], ["--", "python", "-m", "pytest"]):
        recording, done = record([*command, *words], cwd=project, capture=True)
        assert done.code == 0, done.stdout
        found = {(run.place.path, run.place.line): run.steps for run in recording.loops}
        assert found == {("test_it.py", 3): 30, ("pkg/tool.py", 6): 120}
        assert recording.meta["root"] == str(project)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is no program to run"),
        (["--"], "there is no program to run"),
        (["--", "nosuch"], "there is no command `nosuch`"),
        (["--", "./plain.py"], "it is not executable"),
        (["--", "./script.sh"], "`./script.sh` is not a Python program"),
        (["./script.sh"], "`./script.sh` is not Python source"),
        (["shell"], "`shell` is not Python source"),
        (["--", sys.executable], "there is no program for Python to run"),
        (["--", sys.executable, "-c", "pass"], "`-c` cannot be recorded"),
        (["--", sys.executable, "-i", "plain.py"], "`-i` cannot be recorded"),
        (["--", sys.executable, "absent.py"], "there is no file `absent.py`"),
        (["--", "./old/python3.9", "plain.py"], "is Python 3.9: 3.11 or newer is needed"),
        (["--", "./old/python3", "plain.py"], "does not run"),
        (["-m"], "`-m` cannot be recorded"),
        (["-m", "no.such.module"], "there is no module `no.such.module`"),
        (["-m", "json.no_such"], "there is no module `json.no_such`"),
        (["-m", "plain.part"], "there is no module `plain.part`"),
        (["/dev/null"], "`/dev/null` is not a file"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "plain.py").write_text("pass\n")
    (tmp_path / "old").mkdir()
    for name, text in (
        ("script.sh", "#!/bin/sh\nls\n"),
        ("shell", "#!/bin/bash\nls\n"),
        ("old/python3.9", "#!/bin/sh\necho 3 9\n"),
        ("old/python3", "#!/bin/sh\nexit 1\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    with pytest.raises(HotloopError) as error:
        record(words, cwd=tmp_path, capture=True)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_a_package_that_says_itself_where_its_modules_lie_is_run(tmp_path: Path) -> None:
    (tmp_path / "odd" / "hidden").mkdir(parents=True)
    (tmp_path / "odd" / "__init__.py").write_text("__path__.append(__path__[0] + '/hidden')\n")
    (tmp_path / "odd" / "hidden" / "deep.py").write_text("print('found')\n")
    _, done = record(["-m", "odd.deep"], cwd=tmp_path, capture=True)
    assert done.stdout == b"found\n", done.stderr


@pytest.mark.parametrize(
    ("line", "python"),
    [
        ("#!/usr/bin/python3", "/usr/bin/python3"),
        ("#!/usr/bin/python3 -E", "/usr/bin/python3"),
        ("#!/bin/sh\n'''exec' /usr/bin/python3 \"$0\" \"$@\"\n' '''", "/usr/bin/python3"),
        (f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''", sys.executable),
    ],
)
def test_a_script_names_its_python_on_its_first_line(
    tmp_path: Path, line: str, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hotloop.record.command._checked", lambda python: python)
    script = tmp_path / "label"
    script.write_text(f"{line}\nprint(1)\n")
    script.chmod(0o755)
    command = understand(["--", str(script), "-x"], tmp_path)
    assert (command.python, command.program, command.args) == (python, str(script), ("-x",))


def test_options_of_run_end_where_the_program_begins(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    (project / "says.py").write_text("import sys\nopen('said', 'w').write(repr(sys.argv))\n")
    for words in (["says.py", "--html", "--", "-m"], ["--", sys.executable, "says.py", "--html", "--", "-m"]):
        assert main(["run", "--output", "report.txt", *words]) == 0
        assert (project / "said").read_text() == "['says.py', '--html', '--', '-m']"
    assert main(["run"]) == 2
    assert capsys.readouterr().err == "hotloop: there is no program to run. Give one: `hotloop run program.py`.\n"
