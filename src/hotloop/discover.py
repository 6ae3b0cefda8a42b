"""Paths that a user named -> the files to read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hotloop.ignore import Ignore, ignored, parse, read
from hotloop.model import HotloopError

SUFFIXES = (".py", ".ipynb")
SKIPPED = {"__pycache__", "__pypackages__", "node_modules", "site-packages", "dist-packages", "venv", "build", "dist"}
ENVIRONMENT = {"pyvenv.cfg", "conda-meta"}  # a folder that holds one of these is an environment


def discover(paths: Iterable[Path], exclude: Sequence[str] = (), base: Path | None = None) -> list[Path]:
    """Python files and notebooks at or below the paths, sorted, each once.

    Below a folder, hidden folders, environments and what `.gitignore` files or `exclude` (the same kind of patterns,
    relative to `base`) name are passed over, and links to folders are not followed. A file that is named is taken.
    """
    excluded = parse(exclude, (base or Path.cwd()).resolve().as_posix())
    found: dict[str, Path] = {}
    links: dict[str, Path] = {}
    for path in paths:
        if path.is_dir():
            for file, real, is_link in _below(path, excluded):
                (links if is_link else found).setdefault(real, file)
        elif path.exists():
            found.setdefault(os.path.realpath(path), path)
        else:
            raise HotloopError(f"there is no file or folder {path}.")
    return sorted({**links, **found}.values(), key=str)


def _below(top: Path, excluded: Ignore) -> Iterator[tuple[Path, str, bool]]:
    """The files in a folder: as the user would name them, where they really lie, and whether they are links."""
    start = os.path.realpath(top)
    waiting: list[tuple[str, tuple[Ignore, ...]]] = [(start, _above(Path(start)))]
    while waiting:
        folder, inherited = waiting.pop()
        try:
            with os.scandir(folder) as scan:
                entries = list(scan)
        except OSError:
            continue
        names = {entry.name for entry in entries}
        if names & ENVIRONMENT and folder != start:
            continue
        ignores = (*inherited, read(Path(folder, ".gitignore"))) if ".gitignore" in names else inherited
        place = os.path.join(top, folder[len(start) :].lstrip(os.sep))
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not (_enters(entry.name) if is_folder else _is_source(entry)):
                continue
            if ignores or excluded.patterns:
                path = entry.path.replace(os.sep, "/")
                if ignored(path, is_folder, ignores) or ignored(path, is_folder, (excluded,)):
                    continue
            if is_folder:
                waiting.append((entry.path, ignores))
            else:
                is_link = entry.is_symlink()
                real = os.path.realpath(entry.path) if is_link else entry.path
                yield Path(place, entry.name), real, is_link


def _enters(name: str) -> bool:
    return not name.startswith(".") and name not in SKIPPED


def _is_source(entry: os.DirEntry[str]) -> bool:
    if not entry.name.endswith(SUFFIXES):
        return False
    return entry.is_file(follow_symlinks=False) or os.path.isfile(entry.path)  # which bears a link to itself


def _above(folder: Path) -> tuple[Ignore, ...]:
    """The ignore files of the repository that a folder lies in, from its top down to the folder's parent."""
    parents = [folder, *folder.parents]
    tops = [number for number, parent in enumerate(parents) if (parent / ".git").exists()]
    if not tops:
        return ()
    between = reversed(parents[1 : tops[0] + 1])
    files = [parents[tops[0]] / ".git" / "info" / "exclude", *(parent / ".gitignore" for parent in between)]
    exclude, *rest = (read(file) for file in files)
    return (Ignore(parents[tops[0]].as_posix().rstrip("/"), exclude.patterns), *rest)
