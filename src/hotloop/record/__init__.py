"""Runs a program in a child process that measures it, and brings back the Recording. TensorFlow-free."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from hotloop.model import Exit, HotloopError, Recording
from hotloop.record.command import Command, understand

CHILD = Path(__file__).with_name("child.py")
POLL = 0.2
ENDINGS = (signal.SIGTERM, signal.SIGHUP)
ROOM = 1 << 16  # bytes that the smallest recording may need


@dataclass(frozen=True)
class Completed:
    """How the program ended. `code` is the raw return code: negative for a signal."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""
    stopped: bool = False  # by us, at a limit: then `code` is 0


@dataclass(frozen=True)
class Limit:
    """When to end the program: after so many seconds, or steps of a loop. `grace`: how long it may take to go.

    `loop`: the one that is meant, by its file and the text of its first line; any, where no line there reads so.
    """

    seconds: float | None = None
    steps: int | None = None
    grace: float = 20.0
    loop: tuple[str, str] | None = None


NO_LIMIT = Limit()


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
    limit: Limit = NO_LIMIT,
    watch: Callable[[Path], AbstractContextManager[None]] | None = None,
) -> tuple[Recording, Completed]:
    """Run `argv` (see `understand`: a program's path and its arguments) and measure it. The program sees nothing."""
    command = understand(argv, cwd or Path(), env)
    with _scratch() as scratch:
        target = recording.absolute() if recording else scratch / "recording.json"
        target.unlink(missing_ok=True)
        refusal, mark = scratch / "refused", scratch / "stopped"
        options = {
            "recording": str(target),
            "sample": sample,
            "observe": observe,
            "seed": seed,
            "module": command.module,
            "original": command.original,
            "given": list(argv[argv[0] == "--" :]),
            "refusal": str(refusal),
            "seconds": limit.seconds,
            "steps": limit.steps,
            "loop": limit.loop,
            "mark": str(mark),
        }
        started = [command.python, *command.options, str(CHILD), json.dumps(options), command.program, *command.args]
        with watch(target) if watch else contextlib.nullcontext():
            completed = _run(started, limit, mark, capture=capture, cwd=cwd, env=env)
        if not target.exists():
            raise _nothing_recorded(command, completed, target, refusal)
        found = Recording.load(target)
        if found.exit.code is None:
            cut = found.exit == Exit() and completed.code >= 0 and not completed.stopped
            meta = {**found.meta, "cut": True} if cut else found.meta
            found = dataclasses.replace(found, meta=meta, exit=_exit(completed.code, found.exit.exception))
            if recording:
                found.save(target)
    return found, completed


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="hotloop-", ignore_cleanup_errors=True)
    except OSError as error:
        raise HotloopError(f"there is no folder to record into: {error.strerror or error}. Set TMPDIR.") from error
    with folder as name:
        yield Path(name)


def _nothing_recorded(command: Command, completed: Completed, target: Path, refusal: Path) -> HotloopError:
    if refusal.exists():
        return HotloopError(refusal.read_text())
    try:
        target.write_bytes(bytes(ROOM))
        target.unlink()
    except OSError as error:
        why = error.strerror or error
        return HotloopError(f"the recording could not be written to {target.parent}: {why}. Set TMPDIR elsewhere.")
    return HotloopError(f"`{command.program}` ended (code {completed.code}) before anything could be recorded.")


def _run(
    command: list[str], limit: Limit, mark: Path, *, capture: bool, cwd: Path | None, env: Mapping[str, str] | None
) -> Completed:
    pipe = subprocess.PIPE if capture else None
    background = limit == NO_LIMIT and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    with _interrupts_left_to_the_child(unheard=background), contextlib.ExitStack() as stack:
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=cwd, env=dict(env) if env else None)
        stack.enter_context(_passed_on(process))
        stdout, stderr = process.communicate() if limit == NO_LIMIT else _wait(process, limit, mark)
    stopped = mark.exists()
    return Completed(0 if stopped else process.returncode, stdout or b"", stderr or b"", stopped)


def _wait(process: subprocess.Popen[bytes], limit: Limit, mark: Path) -> tuple[bytes, bytes]:
    """Once the program was told to end, it has `limit.grace` seconds for it."""
    told: float | None = None
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=POLL)
        if told is None and mark.exists():
            told = time.monotonic()
        if told is not None and time.monotonic() >= told + limit.grace:
            _kill(process.pid)
            return process.communicate()


def _kill(pid: int) -> None:
    """With the processes that it started: they would hold its output open."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (*process.children(recursive=True), process):
            with contextlib.suppress(psutil.Error):
                one.kill()


@contextlib.contextmanager
def _interrupts_left_to_the_child(*, unheard: bool) -> Iterator[None]:
    """Ctrl-C reaches the program through the terminal; we stay to report what it did until then.

    `unheard`: nobody hears it, as in a shell's background. A program that shall be stopped has to hear it even there.
    """
    if unheard or threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler, not SIG_IGN: what is ignored stays ignored in the child.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Whoever stops us, a cluster or a container, means the program; we stay to report."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in ENDINGS if signal.getsignal(number) == signal.SIG_DFL]
    for number in heard:
        signal.signal(number, lambda number, frame: process.send_signal(number))
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def _exit(code: int, exception: str) -> Exit:
    return Exit(None, -code, exception) if code < 0 else Exit(code, None, exception)
