"""Edits of a notebook's code -> edits of the notebook's file: all but the lines that change stays byte for byte."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hotloop.model import Edit
from hotloop.source.notebooks import CellMap, cell_lines, to_python

Span = tuple[int, int]
SPACE = re.compile(r"[ \t\n\r]*")
DECODER = json.JSONDecoder(strict=False)
BOM = b"\xef\xbb\xbf"


class Unwritable(ValueError):  # noqa: N818 - it carries an answer, not an error
    """Why a change cannot be put into the notebook's cells, for the user."""


def edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The notebook after edits of the module that `to_python` makes of it."""
    module, cells = to_python(data)
    shown = cell_lines(data)
    changes: dict[int, list[_Change]] = {}
    for edit in edits:
        cell, change = _change(module, cells, edit)
        kept = module.splitlines()[cell.start - 1 + change.first : cell.start - 1 + change.last]
        if [line.decode() for line in kept] != shown[cell.cell][change.first : change.last]:
            raise Unwritable("the change meets a line that only a notebook understands")
        changes.setdefault(cell.cell, []).append(change)
    text = data.removeprefix(BOM).decode()
    for span, number in reversed(list(_sources(text))):
        if number in changes:
            text = text[: span[0]] + _with(text[slice(*span)], changes[number], text.isascii()) + text[span[1] :]
    return data[: len(BOM) * data.startswith(BOM)] + text.encode()


@dataclass(frozen=True)
class _Change:
    """Lines [first, last) of a cell become `lines`."""

    first: int
    last: int
    lines: tuple[str, ...]


def _change(module: bytes, cells: Sequence[CellMap], edit: Edit) -> tuple[CellMap, _Change]:
    starts = [0]
    for line in module.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    first, last = bisect_right(starts, edit.start) - 1, bisect_right(starts, edit.end) - 1
    if starts[first] != edit.start or starts[last] != edit.end:
        raise Unwritable("the change begins or ends within a line")
    lines = tuple(edit.text.splitlines())
    cell = _cell(cells, first, last, lines)
    if cell is None:
        raise Unwritable("the change would span several cells")
    return cell, _Change(first - (cell.start - 1), last - (cell.start - 1), lines)


def _cell(cells: Sequence[CellMap], first: int, last: int, lines: Sequence[str]) -> CellMap | None:
    """The cell whose lines those are (counted from 0). What is put between two cells belongs to the code it serves."""
    around = [cell for cell in cells if cell.start - 1 <= first and last <= cell.start - 1 + cell.lines and cell.lines]
    if not around:
        return None
    said = [line for line in lines if line.strip()]
    ends = bool(said) and (said[0][:1].isspace() or all(line.startswith(("import ", "from ")) for line in said))
    return around[0] if ends else around[-1]


# -- in the file -------------------------------------------------------------------------------------------------------


def _sources(text: str) -> Iterator[tuple[Span, int]]:
    """Where the source of each cell stands in a notebook's JSON, and the cell's number, from 1."""
    top = dict(_members(text, _skip(text, 0)))
    for number, cell in enumerate(_items(text, top["cells"][0]), 1):
        members = dict(_members(text, cell[0]))
        if "source" in members:
            yield members["source"], number


def _members(text: str, at: int) -> Iterator[tuple[str, Span]]:
    """The keys of the object that begins there, and where their values stand."""
    at = _skip(text, at + 1)
    while text[at] == '"':
        name, at = DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        end = _end(text, start)
        yield name, (start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _items(text: str, at: int) -> Iterator[Span]:
    at = _skip(text, at + 1)
    while text[at] != "]":
        end = _end(text, at)
        yield at, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _end(text: str, at: int) -> int:
    return DECODER.raw_decode(text, at)[1]


# -- in one cell -------------------------------------------------------------------------------------------------------


def _with(source: str, changes: Sequence[_Change], ascii_only: bool) -> str:
    """A cell's source, one string or a list of lines, after the changes; lines that stay are spelled as they were."""
    listed = source.startswith("[")
    spans = list(_items(source, 0)) if listed else [(0, len(source))]
    spelled = [source[slice(*span)] for span in spans]
    values = [json.loads(one, strict=False) for one in spelled]
    text = "".join(values)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for change in sorted(changes, key=lambda change: change.first, reverse=True):
        lines[change.first : change.last] = change.lines
    ended = [line + newline for line in lines[:-1]] + ([lines[-1]] if lines and lines[-1] else [])
    if not listed:
        return json.dumps("".join(ended), ensure_ascii=ascii_only)
    known = dict(zip(values, spelled, strict=True))
    between = source[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{source[1 : spans[0][0]]}" if spans else ", "
    head, tail = (source[: spans[0][0]], source[spans[-1][1] :]) if spans else ("[", "]")
    return head + between.join(known.get(v) or json.dumps(v, ensure_ascii=ascii_only) for v in ended) + tail
