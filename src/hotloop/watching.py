"""`hotloop.watch()`: records what happens inside a `with` block of a running process, a notebook's or a service's."""

from __future__ import annotations

import os
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.model import Exit, HotloopError, Recording

if TYPE_CHECKING:
    from hotloop.record.stage import Stage

LIMITS = (
    "Watched from inside: the steps of loops, and about how long they took, are told from what happened in them. "
    "`hotloop run` counts and times each."
)
_watching: list[Watch] = []


class Watch:
    """`recording`: all that was seen so far; complete after the block."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._stage: Stage | None = None
        self._recording: Recording | None = None
        self._sources: dict[str, str] = {}  # by the name in the recording: the file, or the cell as Python calls it

    def __enter__(self) -> Watch:
        if _watching:
            raise HotloopError("this process is being watched already: one `hotloop.watch()` at a time.")
        caller = sys._getframe(1)
        while caller.f_back is not None and caller.f_globals.get("__name__") in ("contextlib", __name__):
            caller = caller.f_back
        self._stage = stage = self._prepare(caller)
        stage.recorder.start()
        stage.finder.welcome()
        stage.clockwork.start()
        _watching.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        stage = self._stage
        assert stage is not None
        stage.leave()
        told = f"{type(error).__name__}: {error}"[:500] if error is not None else ""
        stage.recorder.exit = Exit(0, exception=told)
        self._recording = self._seen()
        self._stage = None
        _watching.remove(self)

    @property
    def recording(self) -> Recording:
        if self._recording is None and self._stage is None:
            raise HotloopError("nothing was watched yet: use it as `with hotloop.watch() as w:`.")
        return self._recording or self._seen()

    def report(self, format: str = "terminal", path: str | os.PathLike[str] | None = None) -> None:
        """Print the report, or write it to `path`. `format`: terminal, json, html, sarif, github or junit."""
        from hotloop.diagnose import diagnose_recording
        from hotloop.report import render

        text = render(diagnose_recording(self.recording), format)
        if path is None:
            sys.stdout.write(text)
        else:
            Path(path).write_text(text, encoding="utf-8")

    def _prepare(self, caller: types.FrameType) -> Stage:
        from hotloop.record.stage import prepare
        from hotloop.record.whereabouts import Whereabouts, of_script

        filename = caller.f_code.co_filename
        where = (
            of_script(Path(filename)) if os.path.isfile(filename) else Whereabouts(Path.cwd() / "notebook", Path.cwd())
        )
        if self._folder is not None:
            where = replace(where, folder=self._folder)
        options = {"recording": "", "sample": True, "observe": False, "seed": None, "ticks": False}
        stage = prepare(where, [where.program.name], options)
        for name, shown in _cells().items():
            stage.recorder.frames.adopt(name, shown)
            self._sources[shown] = name
        return stage

    def _seen(self) -> Recording:
        from hotloop.record.guessed import with_guessed_loops

        assert self._stage is not None
        self._stage.recorder.drain()
        recording = self._stage.recorder.recording()
        recording = replace(recording, meta={**recording.meta, "unseen": [*recording.meta["unseen"], LIMITS]})
        return with_guessed_loops(recording, self._sources)


def watch(folder: str | os.PathLike[str] | None = None) -> Watch:
    """Record what happens inside `with hotloop.watch() as w:`, then `w.report()`. See docs/run.md for what it sees.

    `folder`: where your own code lies; the caller's, if not given.
    """
    return Watch(Path(folder) if folder is not None else None)


def _cells() -> dict[str, str]:
    """What IPython calls the code of each cell so far, and the number it shows beside it."""
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = ask() if ask else None
    names = getattr(getattr(shell, "compile", None), "_filename_map", None) or {}
    return {str(name): f"In[{number}]" for name, number in names.items()}
