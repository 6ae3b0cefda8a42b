"""Source as rules see it: files -> Project. Nothing that is read here is ever executed or imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hotloop.model import HotloopError
from hotloop.source.module import Module, parse
from hotloop.source.project import Project

__all__ = ["Module", "Project", "discover", "load_project", "project_of"]

SKIPPED = {"__pycache__", "node_modules", "site-packages", "dist-packages", "venv", "env", "build", "dist"}
MENTIONS = re.compile(rb"tensorflow|keras|tf_")
IMPORTS = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([^\n#]*)|import[ \t]+([^\n#]+))", re.MULTILINE)


def discover(paths: Iterable[Path]) -> list[Path]:
    """Python files at or below the paths, sorted; hidden folders and environments are passed over."""
    found: set[Path] = set()
    for path in paths:
        if path.is_file():
            found.add(path)
        elif path.is_dir():
            for folder, folders, files in os.walk(path):
                folders[:] = [f for f in folders if not f.startswith(".") and f not in SKIPPED]
                found.update(Path(folder, f) for f in files if f.endswith(".py"))
        else:
            raise HotloopError(f"there is no file or folder {path}.")
    return sorted(found)


def load_project(files: Sequence[Path], root: Path) -> tuple[Project, list[str]]:
    """The project of these files, and a sentence for each that could not be read."""
    contents: dict[Path, bytes] = {}
    notes: list[str] = []
    for file in files:
        try:
            contents[file] = file.read_bytes()
        except OSError as error:
            notes.append(f"{shown(file, root)} cannot be read: {error.strerror or error}.")
    return _parse_all(contents, root, notes), notes


def project_of(contents: dict[str, bytes]) -> Project:
    """A project of texts that need not lie on disk, by relative path; what does not parse raises SyntaxError."""
    root = Path("/")
    modules = [parse(data, name, root / name, _dotted(root / name, root)) for name, data in contents.items()]
    return Project(modules, root)


def _parse_all(contents: dict[Path, bytes], root: Path, notes: list[str]) -> Project:
    modules = []
    for file in _relevant(contents):
        try:
            modules.append(parse(contents[file], shown(file, root), file.resolve(), _dotted(file, root)))
        except (SyntaxError, ValueError) as error:
            reason = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
            notes.append(f"{shown(file, root)} is not Python {_python()} ({reason}); skipped.")
        except RecursionError:
            notes.append(f"{shown(file, root)} is nested too deeply to be read; skipped.")
    return Project(modules, root.resolve())


def _python() -> str:
    import sys

    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _relevant(contents: dict[Path, bytes]) -> list[Path]:
    """Files that mention TensorFlow, and those that import such a file, however far: their loops count too."""
    chosen = {file for file, data in contents.items() if MENTIONS.search(data)}
    rest = {file: _imported_words(data) for file, data in contents.items() if file not in chosen}
    grew = True
    while grew:
        words = {w for file in chosen for w in (file.stem, file.parent.name)}
        more = {file for file, imported in rest.items() if imported & words}
        grew = bool(more)
        chosen |= more
        rest = {file: imported for file, imported in rest.items() if file not in more}
    return sorted(chosen)


def _imported_words(data: bytes) -> set[str]:
    found: set[str] = set()
    for match in IMPORTS.finditer(data):
        found.update(re.findall(r"\w+", b" ".join(part or b"" for part in match.groups()).decode("utf-8", "replace")))
    return found


def shown(file: Path, root: Path) -> str:
    """A path as the user is shown it: relative to the root where it lies below it."""
    try:
        return file.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return file.resolve().as_posix()


def _dotted(file: Path, root: Path) -> str:
    parts = list(Path(shown(file, root)).with_suffix("").parts)
    return ".".join(part for part in parts if part not in ("/", "__init__"))
