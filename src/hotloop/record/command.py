"""What the user wants to run, in the words they would give to a shell: a program, a module, or a Python command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hotloop.model import HotloopError

OLDEST = (3, 11)
_PYTHON = re.compile(r"^python(\d+(\.\d+)?)?(\.exe)?$")
_SWITCHES = frozenset("bBdEIOPqRsSuv")  # what an interpreter's own options may be: all that leave the program the same
_WITH_VALUE = frozenset("WX")


@dataclass(frozen=True)
class Command:
    """A Python interpreter with its own options, the program (or, with `module`, its name) and its arguments."""

    python: str
    options: tuple[str, ...]
    program: str
    args: tuple[str, ...]
    original: tuple[str, ...]  # the whole command line as plain Python would see it
    module: bool = False


def understand(words: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> Command:
    """`program.py ...`, `-m module ...`, or, after `--` or where there is no such file, a command: `python ...`."""
    words = list(words)
    explicit = words[:1] == ["--"]
    words = words[explicit:]
    if not words or not words[0]:
        raise HotloopError("there is no program to run. Give one: `hotloop run program.py`.")
    if words[0] == "-m":
        return _after_interpreter(sys.executable, (sys.executable, *words), words, cwd)
    named = str(cwd / words[0]) if os.path.dirname(words[0]) else words[0]
    found = shutil.which(named, path=(env or os.environ).get("PATH"))
    if found and (explicit or not (cwd / words[0]).exists()):
        return _command(words, str(cwd / found), cwd)
    if explicit and (cwd / words[0]).is_file():
        raise HotloopError(f"`{words[0]}` is not a command: it is not executable. Write `hotloop run {words[0]}`.")
    if explicit:
        raise HotloopError(f"there is no command `{words[0]}`. After `--` comes a Python command, as a shell takes it.")
    check_program(words[0], cwd)
    return Command(sys.executable, (), words[0], tuple(words[1:]), (sys.executable, *words))


def _command(words: list[str], found: str, cwd: Path) -> Command:
    if _PYTHON.match(os.path.basename(found)):
        return _after_interpreter(_checked(found), tuple(words), words[1:], cwd)
    interpreter = _interpreter_of(Path(found))
    if interpreter is None:
        raise HotloopError(f"`{words[0]}` is not a Python program: only Python can be recorded.")
    return Command(_checked(interpreter), (), found, tuple(words[1:]), (interpreter, found, *words[1:]))


def _after_interpreter(python: str, original: tuple[str, ...], words: list[str], cwd: Path) -> Command:
    """The rest of a `python` command line, read as Python reads it."""
    words = words[:]
    options: list[str] = []
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        taken, letter, value = _switches(word)
        if taken:
            options.append(taken)
        if letter == "m" and (value or words):
            name = value or words.pop(0)
            return Command(python, tuple(options), name, tuple(words), original, module=True)
        if letter in _WITH_VALUE and (value or words):
            options += [f"-{letter}{value}"] if value else [f"-{letter}", words.pop(0)]
        elif letter:
            raise HotloopError(f"`{word}` cannot be recorded. Give Python a program's file, or `-m` and a module.")
    if not words or words[0] == "-":
        raise HotloopError("there is no program for Python to run. Give it a file, or `-m` and a module.")
    check_program(words[0], cwd)
    return Command(python, tuple(options), words[0], tuple(words[1:]), original)


def _switches(word: str) -> tuple[str, str, str]:
    """`-Bum` apart: the switches to pass on, the letter that is none of them ("": all are), what follows it."""
    for at, letter in enumerate(word[1:], 1):
        if letter not in _SWITCHES:
            return (word[:at] if at > 1 else ""), letter, word[at + 1 :]
    return word, "", ""


def _interpreter_of(script: Path) -> str | None:
    """The Python that a script's first line names; None: it is another's."""
    try:
        with script.open("rb") as file:
            first, second = file.readline(500), file.readline(500)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode(errors="replace").split()
    if words and os.path.basename(words[0]) == "env":
        words = [found for word in words[1:2] if (found := shutil.which(word))]
    elif words[:1] == ["/bin/sh"]:  # how installers call a Python whose path has spaces or is too long for a first line
        called = re.match(r"""'''exec' (?:"([^"]+)"|(\S+)) "\$0" "\$@"$""", second.decode(errors="replace").strip())
        words = [called[1] or called[2]] if called else []
    return words[0] if words and _PYTHON.match(os.path.basename(words[0])) else None


def _checked(python: str) -> str:
    """An interpreter that is not ours must be one that can run the recorder."""
    if os.path.abspath(python) == os.path.abspath(sys.executable):
        return python
    ask = [python, "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        answer = subprocess.run(ask, capture_output=True, text=True, timeout=60, check=True).stdout.split()
        version = int(answer[0]), int(answer[1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
        raise HotloopError(f"`{python}` does not run: {type(error).__name__}.") from error
    if version < OLDEST:
        raise HotloopError(
            f"`{python}` is Python {version[0]}.{version[1]}: {OLDEST[0]}.{OLDEST[1]} or newer is needed."
        )
    return python


def check_program(program: str, cwd: Path) -> None:
    """A file of Python source, as far as can be told without running it."""
    path = cwd / program
    if path.is_dir():
        raise HotloopError(f"`{program}` is a directory. Give the program's file.")
    if not path.exists():
        raise HotloopError(f"there is no file `{program}`. Give the path of a Python program.")
    if not path.is_file():
        raise HotloopError(f"`{program}` is not a file. Give the path of a Python program.")
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise HotloopError(f"cannot read `{program}`: {error.strerror or error}.") from error
    shell = (
        start.startswith(b"#!") and b"python" not in start.partition(b"\n")[0] and path.suffix not in {".py", ".pyw"}
    )
    if b"\0" in start or shell or path.suffix in {".sh", ".ipynb", ".pyc", ".so", ".zip"}:
        raise HotloopError(f"`{program}` is not Python source. Give the path of a Python program.")
