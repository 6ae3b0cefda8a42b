"""Sets the recorder up around a program that is about to run in this process, and takes it down again."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotloop.model import Exit
from hotloop.record.frames import HERE, Frames
from hotloop.record.imports import Finder
from hotloop.record.recorder import Recorder
from hotloop.record.sampler import DRAIN_EVERY, Clockwork


@dataclass(frozen=True)
class Stage:
    """A recorder that waits for its program. `code` has ticks; None: it must run as it is."""

    recorder: Recorder
    clockwork: Clockwork
    code: types.CodeType | None

    def begin(self) -> None:
        self.recorder.start()
        self.recorder.write()
        self.clockwork.start()

    def end(self, how: Exit) -> None:
        """The program's own code has ended. Saved now: what follows (exit handlers, threads) may hang."""
        self.recorder.exit = how
        self.recorder.write()

    def close(self) -> None:
        """Exit handlers and threads have ended too."""
        self.clockwork.stopped = True
        self.recorder.write_if_more_happened()


def prepare(program: Path, argv: list[str], options: Mapping[str, Any]) -> Stage:
    frames = Frames(program, Path.cwd())
    path = os.path.abspath(program)
    recorder = Recorder(Path(options["recording"]), Path(os.path.realpath(path)), argv, frames)
    finder = Finder(frames, recorder.log, recorder.tracks, {})
    sys.meta_path.insert(0, finder)
    recorder.living["import_seconds"] = lambda: round(finder.import_nanoseconds / 1e9, 6)
    clockwork = Clockwork(recorder.write)
    clockwork.every(DRAIN_EVERY, recorder.drain)
    return Stage(recorder, clockwork, finder.ticked(path, frames.shown(path)))


def hide_frames(error: BaseException) -> None:
    """Take our frames out of an exception's traceback, and of those it came from."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = _without_ours(current.__traceback__)
        waiting += [current.__cause__, current.__context__]


def _without_ours(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    while trace is not None:
        if not os.path.realpath(trace.tb_frame.f_code.co_filename).startswith(HERE):
            kept.append(trace)
        trace = trace.tb_next
    for one, following in zip(kept, [*kept[1:], None], strict=True):
        one.tb_next = following
    return kept[0] if kept else None
