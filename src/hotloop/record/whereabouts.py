"""Where a program's own files lie: a script's folder, a module's project, or, under a tool, where it was called."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from hotloop.record.frames import INSTALLED


@dataclass(frozen=True)
class Whereabouts:
    """`folder`: what lies in it is the user's own, wherever it was called; None under a tool (`pytest`)."""

    program: Path
    folder: Path | None
    name: str = ""  # of a tool


def of_script(program: Path) -> Whereabouts:
    program = program.resolve()
    if _is_a_tool(program):
        return Whereabouts(program, None, program.name)
    return Whereabouts(program, program.parent)


def of_module(name: str, cwd: Path) -> Whereabouts | None:
    """Nothing is imported: a package's own code must not run before its time. None: there is no such module."""
    top, *rest = name.split(".")
    spec = _without_us(top, cwd)
    if spec is None:
        return None
    home = _home(spec)
    for part in rest:  # by its last name alone: with its whole name, its parent would have to be imported
        package, spec = spec, PathFinder.find_spec(part, _inside(spec))
        if spec is None:
            if not _looks_elsewhere(package):
                return None
            break
    if spec is not None and _inside(spec):
        spec = PathFinder.find_spec("__main__", _inside(spec))
    program = Path(spec.origin).resolve() if spec is not None and spec.origin else cwd / f"{name}.py"
    tool = home is None or _is_a_tool(program)
    return Whereabouts(program, None if tool else home, name if tool else "")


def _without_us(top: str, cwd: Path) -> ModuleSpec | None:
    """As `python -m` will look: where it is called comes first, and hotloop's own folder is not on the path."""
    before = sys.path[:]
    if not sys.flags.safe_path:
        sys.path[0] = str(cwd)
    try:
        return importlib.util.find_spec(top)
    except (ImportError, ValueError):  # `__main__`, and names that are none
        return None
    finally:
        sys.path[:] = before


def _home(spec: ModuleSpec) -> Path | None:
    """The folder in which the outermost package or module lies."""
    if inside := _inside(spec):
        return Path(inside[0]).resolve().parent
    return Path(spec.origin).resolve().parent if spec.origin and os.path.isfile(spec.origin) else None


def _inside(spec: ModuleSpec) -> Sequence[str]:
    """A package's folders. Those of a package without an `__init__` ask its parent, which is not imported yet."""
    locations = spec.submodule_search_locations
    return list(getattr(locations, "_path", locations) or ())


def _looks_elsewhere(package: ModuleSpec) -> bool:
    """Whether a package says itself where its modules lie, which only running it would tell."""
    try:
        return package.origin is not None and b"__path__" in Path(package.origin).read_bytes()
    except OSError:
        return False


def _is_a_tool(program: Path) -> bool:
    """Installed beside Python, or part of it."""
    parts = set(program.parts)
    scripts, library = (Path(sysconfig.get_path(name)).resolve() for name in ("scripts", "stdlib"))
    return not INSTALLED.isdisjoint(parts) or program.parent == scripts or program.is_relative_to(library)
