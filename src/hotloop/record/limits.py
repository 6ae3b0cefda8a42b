"""Ends the program once enough was seen, the way Ctrl-C would."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from hotloop import words
from hotloop.model import Place
from hotloop.record.recorder import Recorder
from hotloop.record.track import Track


class Limits:
    """`mark`: a file that tells the process around us that the program was told to end."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        seconds: float | None,
        steps: int | None,
        mark: str | None,
        loop: Sequence[str] | None = None,
    ) -> None:
        self._recorder = recorder
        self._seconds, self._steps, self._mark = seconds, steps, mark
        self._meant = self._lines_of(*loop) if loop else set()
        self._began = perf_counter()
        self.reached = ""  # in words
        self._lost = False

    @property
    def any(self) -> bool:
        return self._seconds is not None or self._steps is not None

    def start(self) -> None:
        self._began = perf_counter()
        if self.any:
            sys.unraisablehook = self._hearing(sys.unraisablehook)

    def _hearing(self, otherwise: Callable[[sys.UnraisableHookArgs], object]) -> Callable[..., object]:
        """Python drops what is raised in a `__del__` or a callback of its collector: there nobody is told to end."""

        def hear(dropped: sys.UnraisableHookArgs) -> None:
            if self.reached and dropped.exc_type is KeyboardInterrupt:
                self._lost = True
            else:
                otherwise(dropped)

        return hear

    def look(self) -> None:
        """By the recorder's thread, while the program runs."""
        if self._lost and self._recorder.exit.code is None:
            self._lost = False
            interrupt()
        if not self.reached and self._recorder.exit.code is None and (reached := self._reached()):
            self.reached = reached
            self._recorder.meta["stopped"] = reached
            self._recorder.log.attempt(self._recorder.write)
            if self._mark:
                Path(self._mark).touch()
            interrupt()

    def _reached(self) -> str:
        if self._seconds is not None and perf_counter() - self._began >= self._seconds:
            return f"after {words.duration(self._seconds)}, as asked"
        if self._steps is not None:
            many = [track for track in self._recorder.tracks if track.steps >= self._steps and not track.yields]
            many = [track for track in many if not self._meant or str(track.place) in self._meant]
            place = next((track.place for track in many if self._works(track)), None)
            if place is not None:
                self._recorder.meta["stopped_at"] = str(place)
                return f"after {words.plural(self._steps, 'step')} of the loop at {place}, as asked"
        return ""

    def _lines_of(self, path: str, text: str) -> set[str]:
        """Where a line of a file reads so: a loop is on another line of a program that was changed."""
        try:
            lines = Path(self._recorder.log.frames.root, path).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return set()
        return {str(Place(path, number)) for number, line in enumerate(lines, 1) if line.strip() == text}

    def _works(self, track: Track) -> bool:
        """TensorFlow was seen at work in its steps: a loop that reads a list of files is not what was meant."""
        return bool(track.stack) or any(_inside(track.place, frame) for frame in self._recorder.frames_at_work())


def _inside(place: Place, frame: Place) -> bool:
    """In a step: what stands on the line of a loop's own header is evaluated before the first."""
    return place.covers(frame) and (frame.line > place.line or place.end_line <= place.line)


def interrupt() -> None:
    """What Ctrl-C does, to the main thread alone: it may be waiting, and the signal wakes it."""
    main = threading.main_thread().ident
    assert main is not None
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):  # begun in the background: Ctrl-C would not reach it
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(KeyboardInterrupt))
    else:
        signal.pthread_kill(main, signal.SIGINT)
