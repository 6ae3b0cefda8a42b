"""Which files are the user's own, and which of the user's lines are running."""

from __future__ import annotations

import os
import sys
import sysconfig
import types
from pathlib import Path

Line = tuple[str, int]  # path as the recording shows it, line
Stack = tuple[Line, ...]  # the user's frames, innermost first
_Known = tuple[types.CodeType, Line | None, bool]  # the code, held for its id; the user's line; a comprehension's

DEPTH = 8
PLACES = 4096  # in code, whose lines are remembered
LIBRARIES = ("tensorflow", "keras", "tf_keras", "wrapt")
HERE = str(Path(__file__).resolve().parent) + os.sep  # hotloop/record: never the user's
CHILD = HERE + "child.py"
PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
INSTALLED = frozenset({"site-packages", "dist-packages"})
_INSIDE_ONE_FUNCTION = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


class Frames:
    """Tells the user's frames from all others. Cached by file name: a stack costs microseconds."""

    def __init__(self, program: Path, cwd: Path, folder: Path | None = None, *, tool: bool = False) -> None:
        """`folder`: the program's own, where that is not the one it lies in. A `tool` is not the user's at all."""
        program, cwd = program.resolve(), cwd.resolve()
        home = (folder or program.parent).resolve()
        self.folder = "" if tool else str(home) + os.sep
        self.root = str(cwd) if tool or program.is_relative_to(cwd) else str(home)
        self._known: dict[str, str] = {}
        self._lines: dict[tuple[int, int], _Known] = {}
        self._packages: dict[str, str] = {}
        self._foreign = tuple(
            {str(Path(p).resolve()) + os.sep for name, p in sysconfig.get_paths().items() if _is_library(name)}
        )

    def shown(self, filename: str) -> str:
        """The user's file as the recording names it; "" for everybody else's."""
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = self._decide(filename)
        return known

    def adopt(self, filename: str, shown: str) -> None:
        """Code that lies in no file of its own is the user's: a cell of a notebook."""
        self._known[filename] = shown
        self._lines.clear()

    def relative(self, filename: str) -> str:
        """Any path, relative to the root where it lies under it."""
        inside = filename.startswith(self.root + os.sep)
        return Path(filename).relative_to(self.root).as_posix() if inside else filename

    def _decide(self, filename: str) -> str:
        if not filename.endswith((".py", ".pyw")) and not os.path.isfile(filename):
            return ""  # <string>, <frozen ...>
        if os.path.basename(filename).startswith("__autograph_generated"):
            return ""  # TensorFlow's rewriting of a user's function, with lines of its own
        path = os.path.realpath(filename)
        if path.startswith(HERE) or _installed(path):
            return ""
        if self.folder and path.startswith(self.folder):
            return self.relative(path)
        if path.startswith((PACKAGE, *self._foreign)) or not path.startswith(self.root + os.sep):
            return ""
        return self.relative(path)

    def stack(self, frame: types.FrameType | None, depth: int = DEPTH) -> Stack:
        """The user's lines that are running, seen from `frame` outwards."""
        found: list[Line] = []
        lines = self._lines
        while frame is not None and len(found) < depth:
            code = frame.f_code
            _, line, is_inside = lines.get((id(code), frame.f_lasti)) or self._look_up(frame, code)
            if line is not None:
                found.append(line)
                if is_inside:
                    frame = _skip_home(frame)
            frame = frame.f_back
        return tuple(found)

    def _look_up(self, frame: types.FrameType, code: types.CodeType) -> _Known:
        """Once per place in the code: Python counts lines from the start of a function, 7 us in one of 300 lines."""
        if len(self._lines) >= PLACES:
            self._lines.clear()
        shown = self.shown(code.co_filename)
        line = (shown, _line_of(frame)) if shown else None
        known = code, line, code.co_name in _INSIDE_ONE_FUNCTION
        self._lines[id(code), frame.f_lasti] = known
        return known

    def nearest_user(self, through: tuple[str, ...] = LIBRARIES) -> Line | None:
        """The user's line that asked for this, if only `through` these packages (and us) lie between."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            filename = frame.f_code.co_filename
            if shown := self.shown(filename):
                return shown, frame.f_lineno
            if self._package(filename) not in through and not is_ours(frame):
                return None
            frame = frame.f_back
        return None

    def called_by_user(self, through: tuple[str, ...] = ()) -> bool:
        return self.nearest_user(through) is not None

    def _package(self, filename: str) -> str:
        known = self._packages.get(filename)
        if known is None:
            known = self._packages[filename] = package_of(filename)
        return known

    def here(self, depth: int = DEPTH) -> Stack:
        return self.stack(sys._getframe(1), depth)


def _line_of(frame: types.FrameType) -> int:
    """Python gives no line to a jump that it made up, back to the head of a loop say: the last one before it counts."""
    line: int | None = frame.f_lineno
    if line is not None:
        return line
    code = frame.f_code
    before = [number for start, _, number in code.co_lines() if number is not None and start <= frame.f_lasti]
    return before[-1] if before else code.co_firstlineno


def is_ours(frame: types.FrameType) -> bool:
    """By its globals: a wrapper's code passes for what it wraps. `child.py` is a `__main__`."""
    return str(frame.f_globals.get("__name__", "")).startswith("hotloop.record") or frame.f_code.co_filename == CHILD


def _skip_home(frame: types.FrameType) -> types.FrameType:
    """A comprehension's frame and its function's are one frame to the reader: skip the second."""
    outer = frame.f_back
    if outer is not None and any(constant is frame.f_code for constant in outer.f_code.co_consts):
        return outer
    return frame


def package_of(filename: str) -> str:
    """The installed package that a file belongs to, or "". What AutoGraph wrote is TensorFlow's."""
    if os.path.basename(filename).startswith("__autograph_generated"):
        return "tensorflow"
    return _installed(filename).partition(os.sep)[0]


def short_path(filename: str) -> str:
    """A library's file without the machine's own folders."""
    return _installed(filename) or filename


def _installed(filename: str) -> str:
    """A library's file as its package names it, or "". TensorFlow may lie anywhere: the path of Python decides."""
    for name in INSTALLED:
        _, found, inside = filename.rpartition(f"{os.sep}{name}{os.sep}")
        if found:
            return inside
    for package in LIBRARIES:
        folder = os.path.dirname(getattr(sys.modules.get(package), "__file__", None) or "")
        if folder and filename.startswith(folder + os.sep):
            return package + filename[len(folder) :]
    return ""


def _is_library(name: str) -> bool:
    """`data` may be a prefix like /usr, under which programs live too, and so may `scripts` outside an environment."""
    return name in {"stdlib", "platstdlib", "purelib", "platlib"} or (
        name == "scripts" and sys.prefix != sys.base_prefix
    )
