"""The source around a place, as far as the file is still there."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass
from pathlib import Path

from hotloop.model import Place, Report

AROUND = 2
LONGEST = 5
LARGEST = 2_000_000  # bytes: what is larger was not written by hand


@dataclass(frozen=True)
class Line:
    number: int
    text: str
    marked: bool


class Sources:
    """Reads each file once. Anything that cannot be read simply has no excerpt."""

    def __init__(self, report: Report) -> None:
        self.root = Path(str(report.meta.get("root") or "."))
        self._lines: dict[str, list[str]] = {}

    def excerpt(self, place: Place) -> list[Line]:
        """Three to five lines with the place marked, without their common indentation."""
        lines = self._read(place.path)
        if not 1 <= place.line <= len(lines):
            return []
        last = min(max(place.line, place.end_line), place.line + LONGEST - AROUND, len(lines))
        first = max(1, place.line - AROUND)
        chosen = [Line(n, lines[n - 1].rstrip(), place.line <= n <= last) for n in range(first, last + 1)]
        if last < len(lines) and len(chosen) < LONGEST:
            chosen.append(Line(last + 1, lines[last].rstrip(), False))
        return _dedented(chosen)

    def _read(self, path: str) -> list[str]:
        if path not in self._lines:
            self._lines[path] = _lines(self.root / path)
        return self._lines[path]


def _lines(path: Path) -> list[str]:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return []
        with tokenize.open(path) as file:
            return file.read().expandtabs(4).split("\n")
    except (OSError, SyntaxError, ValueError):
        return []


def _dedented(lines: list[Line]) -> list[Line]:
    while lines and not lines[0].text and not lines[0].marked:
        lines = lines[1:]
    while lines and not lines[-1].text and not lines[-1].marked:
        lines = lines[:-1]
    indents = [len(line.text) - len(line.text.lstrip()) for line in lines if line.text]
    common = min(indents, default=0)
    return [Line(line.number, line.text[common:], line.marked) for line in lines]
