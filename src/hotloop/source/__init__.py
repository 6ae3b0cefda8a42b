"""Source as rules see it: files -> Project. Nothing that is read here is ever executed or imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hotloop.source import notebooks
from hotloop.source.discover import SKIPPED, discover
from hotloop.source.module import Module, parse
from hotloop.source.project import Project

__all__ = ["SKIPPED", "Module", "Project", "Unread", "discover", "load_project", "project_of"]

MENTIONS = re.compile(rb"tensorflow|keras|tf_")
IMPORTS = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([^\n#]*)|import[ \t]+([^\n#]+))", re.MULTILINE)


@dataclass(frozen=True)
class Unread:
    """What is not in a project that should be: a sentence each, by path."""

    unreadable: dict[str, str] = field(default_factory=dict)
    unparsed: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        return [*self.unreadable.values(), *self.unparsed.values()]


def load_project(
    files: Sequence[Path], root: Path, progress: Callable[[int, int], None] | None = None
) -> tuple[Project, Unread]:
    """The project of these files, and what of them could not be read. `progress` hears how many of how many."""
    contents: dict[Path, bytes] = {}
    unread = Unread()
    for file in files:
        try:
            contents[file] = file.read_bytes()
        except OSError as error:
            path = shown(file, root)
            unread.unreadable[path] = f"{path} cannot be read: {error.strerror or error}."
    return _parse_all(contents, root, unread.unparsed, progress), unread


def project_of(contents: dict[str, bytes]) -> Project:
    """A project of texts that need not lie on disk, by relative path; what does not parse raises SyntaxError."""
    root = Path("/")
    modules = [parse(data, name, root / name, _dotted(root / name, root)) for name, data in contents.items()]
    return Project(modules, root)


def _parse_all(
    contents: dict[Path, bytes], root: Path, unparsed: dict[str, str], progress: Callable[[int, int], None] | None
) -> Project:
    modules = []
    relevant = _relevant(contents)
    for number, file in enumerate(relevant, 1):
        path = shown(file, root)
        try:
            module = parse(contents[file], path, file.resolve(), _dotted(file, root))
            modules.append(module)
            unparsed.update(notebooks.notes(module.cells, path))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            unparsed[path] = f"{path} {_fault(error)}; skipped."
        if progress:
            progress(number, len(relevant))
    return Project(modules, root.resolve())


def _fault(error: Exception) -> str:
    if isinstance(error, RecursionError | MemoryError):  # what the parser raises depends on what is nested
        return "is nested too deeply to be read"
    if isinstance(error, notebooks.NotebookError):
        return f"is {error}"
    reason = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) and error.lineno else str(error)
    return f"is not Python {_python()} ({reason})"


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
