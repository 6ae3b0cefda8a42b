"""Sees the program's own imports: its modules get ticks, and TensorFlow gets probes once it is there."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from time import perf_counter_ns

from hotloop.record.frames import Frames
from hotloop.record.log import Log
from hotloop.record.ticks import instrument, with_last_call
from hotloop.record.track import Track

LOOPS = 10_000  # of the program's own: each costs memory, whether it runs or not


class Finder:
    """First on `sys.meta_path`: asks the real finders, then changes what the loader they gave will execute.

    Nothing of ours is on the stack while a module executes, so that no traceback changes.
    """

    def __init__(
        self,
        frames: Frames,
        log: Log,
        tracks: list[Track],
        arrived: dict[str, Callable[[], None]],
        *,
        ticks: bool = True,
    ) -> None:
        self.frames, self.log, self.tracks, self.arrived, self.ticks = frames, log, tracks, arrived, ticks
        self.import_nanoseconds = 0
        self._arriving: list[tuple[str, int]] = []
        self._landed: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if path and not any(self._is_mine(entry) for entry in path):
            return None
        spec = self._real_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader and spec.origin:
            if name in self.arrived:
                self._announce(name, spec.origin, spec.loader)
            elif self.ticks and (shown := self.frames.shown(spec.origin)):
                self._tick(spec.origin, shown, spec.loader)
        return spec

    def welcome(self) -> None:
        """What was imported before we came has arrived too."""
        for name, arrived in self.arrived.items():
            if name in sys.modules and not _still_importing(name):
                arrived()

    @property
    def importing(self) -> bool:
        """TensorFlow or Keras is on its way in."""
        return bool(self._arriving)

    def _is_mine(self, folder: str) -> bool:
        return bool(self.frames.shown(os.path.join(folder, "__init__.py")))

    def _real_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None and (spec := find(name, path, target)) is not None:
                found: ModuleSpec = spec
                return found
        return None

    def _tick(self, filename: str, shown: str, loader: SourceFileLoader) -> None:
        code = self.ticked(filename, shown)
        if code is not None:
            loader.get_code = lambda fullname: code  # type: ignore[method-assign]

    def ticked(self, filename: str, shown: str) -> types.CodeType | None:
        """The file's code with ticks, or None where the file must run as it is."""
        if len(self.tracks) > LOOPS:
            self.log.note(f"The program has very many loops: those of {shown} and of what came after are not counted.")
            return None
        try:
            code, tracks = instrument(Path(filename).read_bytes(), filename, shown)
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            self.log.note(f"The loops of {shown} are not counted: {type(error).__name__}: {error}.")
            return None
        self.tracks += tracks
        return code

    def _announce(self, name: str, filename: str, loader: SourceFileLoader) -> None:
        """Run `arrived[name]` as the last statement of the module."""
        started = perf_counter_ns()
        self._arriving.append((name, started))

        def landed() -> None:
            while self._arriving and self._arriving[-1][0] != name:
                self._arriving.pop()  # its import failed and was caught
            if self._arriving:
                _, began = self._arriving.pop()
                self._landed.append(name)
                if not any(_still_importing(other) for other, _ in self._arriving):
                    self._arriving.clear()
                    self.import_nanoseconds += perf_counter_ns() - began
                    self._all_landed()

        try:
            code = with_last_call(Path(filename).read_bytes(), filename, landed)
        except (OSError, SyntaxError, ValueError, IndexError) as error:
            self.log.note(f"Nothing inside {name} is visible: its import could not be watched ({error}).")
            self._arriving.pop()
            return
        loader.get_code = lambda fullname: code  # type: ignore[method-assign]

    def _all_landed(self) -> None:
        """TensorFlow and Keras import each other: probes go in when the outermost of them is complete."""
        while self._landed:
            self.arrived[self._landed.pop(0)]()


def _still_importing(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))
