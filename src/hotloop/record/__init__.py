"""Runs a program in a child process that measures it, and brings back the Recording. TensorFlow-free."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hotloop.model import Exit, HotloopError, Recording

CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Completed:
    """How the program ended. `code` is the raw return code: negative for a signal."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""


def record(
    argv: Sequence[str],
    *,
    recording: Path | None = None,
    sample: bool = True,
    observe: bool = False,
    seed: int | None = None,
    capture: bool = False,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[Recording, Completed]:
    """Run `argv` (a program's path and its arguments) and measure it. The program sees nothing of it."""
    _check_program(argv, cwd)
    with tempfile.TemporaryDirectory(prefix="hotloop-") as scratch:
        target = recording.absolute() if recording else Path(scratch) / "recording.json"
        target.unlink(missing_ok=True)
        options = {"recording": str(target), "sample": sample, "observe": observe, "seed": seed}
        command = [sys.executable, str(CHILD), json.dumps(options), *argv]
        completed = _run(command, capture=capture, cwd=cwd, env=env)
        if not target.exists():
            raise HotloopError(f"`{argv[0]}` ended (code {completed.code}) before anything could be recorded.")
        found = Recording.load(target)
        if found.exit.code is None:
            found = dataclasses.replace(found, exit=_exit(completed.code, found.exit.exception))
            if recording:
                found.save(target)
    return found, completed


def _check_program(argv: Sequence[str], cwd: Path | None) -> None:
    if not argv:
        raise HotloopError("there is no program to run.")
    path = (cwd or Path()) / argv[0]
    if path.is_dir():
        raise HotloopError(f"`{argv[0]}` is a directory. Give the program's file.")
    if not path.is_file():
        raise HotloopError(f"there is no file `{argv[0]}`. Give the path of a Python program.")
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise HotloopError(f"cannot read `{argv[0]}`: {error.strerror or error}.") from error
    if b"\0" in start or path.suffix in {".sh", ".ipynb", ".pyc", ".so", ".zip"}:
        raise HotloopError(f"`{argv[0]}` is not Python source. Give the path of a Python program.")


def _run(command: list[str], *, capture: bool, cwd: Path | None, env: Mapping[str, str] | None) -> Completed:
    pipe = subprocess.PIPE if capture else None
    with _interrupts_left_to_the_child():
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=cwd, env=dict(env) if env else None)
        stdout, stderr = process.communicate()
    return Completed(process.returncode, stdout or b"", stderr or b"")


@contextlib.contextmanager
def _interrupts_left_to_the_child() -> Iterator[None]:
    """Ctrl-C reaches the program through the terminal; we stay to report what it did until then."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler, not SIG_IGN: what is ignored stays ignored in the child.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _exit(code: int, exception: str) -> Exit:
    return Exit(None, -code, exception) if code < 0 else Exit(code, None, exception)
