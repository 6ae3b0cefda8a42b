"""`--live`: one line at the foot of the terminal that says how a program under measurement is doing."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

from hotloop import series, words
from hotloop.model import HotloopError, LoopRun, Recording
from hotloop.report import phrases

EVERY = 1.0  # seconds between two looks: the program saves what it measured about as often
PATIENCE = 20  # times what a look cost: reading a large recording must not take the program's processor
HOTTEST = 0.7  # of the longest loop's time: so much an inner loop needs to speak for it
RECENT = 20  # values of the step series that "now" means

Watch = Callable[[Path], AbstractContextManager[None]]


def watcher(stream: TextIO) -> Watch | None:
    """What to do while a recording is written to a path; nothing where nobody sees it."""
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None

    @contextlib.contextmanager
    def watch(path: Path) -> Iterator[None]:
        ended = threading.Event()
        foot = Foot(stream)
        thread = threading.Thread(target=_follow, args=(path, foot, ended), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            foot.clear()

    return watch


def _follow(path: Path, foot: Foot, ended: threading.Event) -> None:
    pause, began = EVERY / 2, time.monotonic()
    while not ended.wait(pause):
        looked = time.monotonic()
        with contextlib.suppress(HotloopError, OSError):  # not there yet
            foot.show(line(Recording.load(path), looked - began))
        pause = max(EVERY, PATIENCE * (time.monotonic() - looked))


def line(recording: Recording, seconds: float) -> str:
    """Where the program is: its hottest loop, how many steps, how long they take now, how much memory."""
    parts = [f"hotloop {words.duration(seconds)}"]
    run = hottest(recording.loops)
    if run is None:
        parts.append("no loop yet")
    else:
        recent = run.step_seconds.values[-RECENT:]
        each = f"{words.duration(series.median(recent))} per step" if recent else ""
        shape = series.sparkline(run.step_seconds.values, 12)
        parts += [str(run.place), words.plural(run.steps, "step"), f"{each} {shape}".strip()]
    if recording.memory.values:
        parts.append(words.size(recording.memory.values[-1]))
    return phrases.clean(" · ".join(part for part in parts if part))


def hottest(loops: tuple[LoopRun, ...]) -> LoopRun | None:
    """The loop that took most time; of loops in each other, the one that steps most."""
    stepping = [run for run in loops if run.steps and not run.yields and run.kind != "comprehension"]
    longest = max((run.seconds for run in stepping), default=0.0)
    hot = [run for run in stepping if run.seconds >= HOTTEST * longest]
    return max(hot, key=lambda run: run.steps, default=None)


class Foot:
    """The terminal's last row, kept out of the scrolling of the others, where the program's own output goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows = 0

    def show(self, text: str) -> None:
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except OSError:
            return
        if rows < 3:
            return
        if rows != self._rows:  # the first time, or resized: room at the foot, then everything above it scrolls
            self._write(f"\x1bD\x1b7\x1b[1;{rows - 1}r\x1b8\x1b[1A")
            self._rows = rows
        encoding = self._stream.encoding or "utf-8"
        shown = text[: columns - 1].encode(encoding, "replace").decode(encoding)
        self._write(f"\x1b7\x1b[{rows};1H\x1b[2K\x1b[2m{shown}\x1b[0m\x1b8")

    def clear(self) -> None:
        if self._rows:
            self._write(f"\x1b7\x1b[{self._rows};1H\x1b[2K\x1b[r\x1b8")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
