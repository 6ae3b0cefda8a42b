"""The source around a place, as far as the file is still there."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hotloop.model import Edit, Place, Report

NOTEBOOK = ".ipynb"
AROUND = 2
LONGEST = 5
LARGEST = 2_000_000  # bytes: what is larger was not written by hand
LARGEST_NOTEBOOK = 50_000_000  # of which pictures are most


@dataclass(frozen=True)
class Line:
    number: int
    text: str
    marked: bool
    spot: tuple[int, int] | None = None  # the columns of `text` that a place within one line covers


class Sources:
    """Reads each file once. Anything that cannot be read simply has no excerpt.

    `texts` are files that are not on disk as they were checked, by path: what came from standard input.
    """

    def __init__(self, report: Report, texts: Mapping[str, bytes] | None = None) -> None:
        self.root = Path(str(report.meta.get("root") or "."))
        self._texts = texts or {}
        self._data: dict[str, bytes] = {}
        self._lines: dict[str, dict[int | None, list[str]]] = {}

    def excerpt(self, place: Place) -> list[Line]:
        """Three to five lines with the place marked, without their common indentation."""
        lines = self.lines(place)
        if not 1 <= place.line <= len(lines):
            return []
        last = min(max(place.line, place.end_line), place.line + LONGEST - AROUND, len(lines))
        first = max(1, place.line - AROUND)
        last_shown = last + 1 if last < len(lines) and last + 1 - first < LONGEST else last
        return _dedented(
            [
                Line(n, _expanded(lines[n - 1]).rstrip(), place.line <= n <= last, _spot(lines[n - 1], n, place))
                for n in range(first, last_shown + 1)
            ]
        )

    def lines(self, place: Place) -> list[str]:
        """The lines of the place's file, or of its cell."""
        if place.path not in self._lines:
            self._lines[place.path] = _split(self.data(place.path), place.path)
        return self._lines[place.path].get(place.cell, [])

    def line(self, place: Place) -> str:
        lines = self.lines(place)
        return lines[place.line - 1] if 1 <= place.line <= len(lines) else ""

    def characters(self, path: str, line: int, column: int) -> int:
        """A column of a file in characters; columns of places are bytes of UTF-8."""
        text = self.line(Place(path, line)).encode("utf-8", "replace")
        return len(text[:column].decode("utf-8", "replace")) if text else column

    def span(self, edit: Edit) -> tuple[int, int, int, int] | None:
        """The lines and columns, in characters from 1, that an edit replaces."""
        data = self.data(edit.path)
        if not 0 <= edit.start <= edit.end <= len(data):
            return None
        ends = []
        for at in (edit.start, edit.end):
            head = data[:at]
            ends += [head.count(b"\n") + 1, len(head[head.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1]
        return ends[0], ends[1], ends[2], ends[3]

    def data(self, path: str) -> bytes:
        if path not in self._data:
            self._data[path] = self._texts[path] if path in self._texts else _read(self.root / path)
        return self._data[path]


def _read(path: Path) -> bytes:
    try:
        largest = LARGEST_NOTEBOOK if path.suffix == NOTEBOOK else LARGEST
        return path.read_bytes() if path.is_file() and path.stat().st_size <= largest else b""
    except (OSError, ValueError):
        return b""


def _split(data: bytes, path: str) -> dict[int | None, list[str]]:
    try:
        if path.endswith(NOTEBOOK):
            from hotloop.source.notebooks import cell_lines

            return dict(cell_lines(data).items())
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        return {None: io.TextIOWrapper(io.BytesIO(data), encoding).read().split("\n")}
    except (SyntaxError, ValueError, LookupError, RecursionError):
        return {}


def _expanded(text: str) -> str:
    return text.expandtabs(4)


def _spot(line: str, number: int, place: Place) -> tuple[int, int] | None:
    """The columns that the place covers, when it is within this line and does not fill it."""
    if number != place.line or place.end_line != place.line or place.end_col <= place.col:
        return None
    data = line.encode("utf-8", "replace")
    start, end = (len(_expanded(data[:column].decode("utf-8", "replace"))) for column in (place.col, place.end_col))
    code = _expanded(line).rstrip()
    return (start, end) if end <= len(code) and code[start:end] != code.strip() else None


def _dedented(lines: list[Line]) -> list[Line]:
    while lines and not lines[0].text and not lines[0].marked:
        lines = lines[1:]
    while lines and not lines[-1].text and not lines[-1].marked:
        lines = lines[:-1]
    indents = [len(line.text) - len(line.text.lstrip()) for line in lines if line.text]
    common = min(indents, default=0)
    return [replace(line, text=line.text[common:], spot=_shifted(line.spot, common)) for line in lines]


def _shifted(spot: tuple[int, int] | None, by: int) -> tuple[int, int] | None:
    return (spot[0] - by, spot[1] - by) if spot else None
