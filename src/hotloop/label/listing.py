"""Which images: files, folders, patterns and lists become one list of paths, in order."""

from __future__ import annotations

import csv
import glob
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hotloop.model import HotloopError

IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp")
LISTS = (".txt", ".csv")
COLUMNS = ("path", "image", "file", "filename")
STDIN = "-"


def images(specs: Sequence[str], recursive: bool = False, stdin: bytes | None = None) -> list[str]:
    """Every image that was asked for. What a list names need not exist: that is told image by image."""
    found = [path for spec in specs for path in _expanded(spec, recursive, stdin)]
    if not found:
        raise HotloopError(f"there are no images in {', '.join(specs)}.{_hint(specs, recursive)}")
    return found


def _expanded(spec: str, recursive: bool, stdin: bytes | None) -> Iterable[str]:
    if spec == STDIN:
        return _lines(stdin or b"", "")
    path = Path(spec)
    if path.is_dir():
        return _folder(spec, recursive)
    if path.suffix.lower() in LISTS and path.is_file():
        return _list(path)
    if path.exists():
        return [spec]
    matches = sorted(glob.glob(spec, recursive=True)) if glob.has_magic(spec) else []
    if not matches:
        raise HotloopError(f"there is no image, folder or list at {spec}.")
    return [match for match in matches if not os.path.isdir(match)]


def _folder(folder: str, recursive: bool) -> Iterator[str]:
    """By name, a folder's own images before those of its folders; links to folders are not followed."""
    for here, folders, names in os.walk(folder, onerror=_unreadable):
        folders[:] = sorted(folders) if recursive else []
        yield from (os.path.join(here, name) for name in sorted(names) if name.lower().endswith(IMAGES))


def _unreadable(error: OSError) -> None:
    raise HotloopError(f"cannot read the folder {error.filename}: {error.strerror}.")


def _list(path: Path) -> Iterator[str]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HotloopError(f"cannot read the list {path}: {error.strerror}.") from error
    if path.suffix.lower() == ".csv":
        return _table(path, os.fsdecode(content.removeprefix(b"\xef\xbb\xbf")))
    return _lines(content, os.path.dirname(path))


def _lines(content: bytes, folder: str) -> Iterator[str]:
    """One path a line, or (`find -print0`) one after each NUL; relative to the folder of the list."""
    separator = b"\0" if b"\0" in content else b"\n"
    names = (os.fsdecode(line.rstrip(b"\r")) for line in content.split(separator))
    return (os.path.join(folder, name) for name in names if name.strip())


def _table(path: Path, text: str) -> Iterator[str]:
    """The column that is called path, image, file or filename; without such a heading, the first column."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise HotloopError(f"cannot read the list {path}: {error}.") from error
    headings = [cell.strip().lower() for cell in rows[0]] if rows else []
    named = [headings.index(name) for name in COLUMNS if name in headings]
    column, body = (named[0], rows[1:]) if named else (0, rows)
    for number, row in enumerate(body, 1 + bool(named)):
        if len(row) <= column:
            raise HotloopError(f"row {number} of {path} has no column {column + 1}, where the images are named.")
        yield os.path.join(os.path.dirname(path), row[column])


def _hint(specs: Sequence[str], recursive: bool) -> str:
    folders = [spec for spec in specs if os.path.isdir(spec)]
    return " `--recursive` looks into the folders inside as well." if folders and not recursive else ""
