"""Notebooks: code cells -> one Python module, and lines of that module back to cells."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hotloop.model import Finding, Fix, Place

SUFFIX = ".ipynb"
HEADER = "# The code cells of a notebook.\n\n"  # two lines: below them, nothing is taken for an encoding declaration
PYTHON_CELLS = {"capture", "memit", "prun", "python", "python3", "time", "timeit", "wandb"}
PYTHON_LINES = re.compile(r"%(?:time|timeit|prun|memit)\s+(?:-\w+\s+(?:\d+\s+)?)*(?=\S)")
COMPOUND = re.compile(r"(?:async|class|def|for|if|match|try|while|with)\b|@")
SPECIAL = re.compile(r"[%!?]|[\w.]+\?{1,2}\s*$")  # a magic, a shell line, a question
ASSIGNED = re.compile(r"([\w.,\s\[\]'\"]+=\s*)[!%]")  # files = !ls
BARE = re.compile(r"(?:pip3?|conda|mamba|apt-get|cd|ls|mkdir|pwd|cat|cp|mv|rm|wget|curl)(?:\s+[^\s=(.\[].*)?$")
TOKEN = re.compile(r"'''|\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|#.*|[\[({]|[\])}]")


class NotebookError(ValueError):
    """What a file is instead."""


@dataclass(frozen=True)
class CellMap:
    """One code cell: its number among all cells, from 1, and the lines that it takes in the module.

    `error` says why a cell could not be read; its lines are then left out of the module.
    """

    cell: int
    start: int
    lines: int
    error: str = ""


def to_python(data: bytes) -> tuple[bytes, list[CellMap]]:
    """The module, and where its lines come from. Raises NotebookError for what has no cells of today's format."""
    text, at = [HEADER], HEADER.count("\n") + 1
    cells: list[CellMap] = []
    for number, source in _code_cells(_notebook(data)):
        lines, error = _python(source)
        cells.append(CellMap(number, at, len(lines), error))
        text += [line + "\n" for line in lines]
        at += len(lines)
    return "".join(text).encode("utf-8", "replace"), cells


def cell_lines(data: bytes) -> dict[int, list[str]]:
    """The code cells as they are written, by number."""
    return {number: _lines(source) for number, source in _code_cells(_notebook(data))}


def notes(cells: Iterable[CellMap], path: str) -> dict[str, str]:
    """A sentence for each cell that could not be read, by its place."""
    named = {f"{path}:cell {cell.cell}": cell.error for cell in cells if cell.error}
    return {name: f"{name} is not Python ({error}); skipped." for name, error in named.items()}


# -- back to cells -----------------------------------------------------------------------------------------------------


def in_cell(place: Place, cells: Sequence[CellMap]) -> Place:
    """The place within its cell; as it is, where it lies in none."""
    for cell in cells:
        if cell.start <= place.line < cell.start + cell.lines:
            before = cell.start - 1
            end = min(place.end_line - before, cell.lines) if place.end_line else 0
            return replace(place, line=place.line - before, end_line=end, cell=cell.cell)
    return place


def relocated(finding: Finding, notebooks: Mapping[str, Sequence[CellMap]]) -> Finding:
    """The finding with every place that lies in a notebook said by cell. `notebooks` holds their cells by path."""

    def mapped(place: Place) -> Place:
        return in_cell(place, notebooks[place.path]) if place.path in notebooks else place

    def said(match: re.Match[str]) -> str:
        path, line = match[1] or finding.place.path, int(match[2])
        if path not in notebooks:
            return match[0]
        found = in_cell(Place(path, line), notebooks[path])
        same = not match[1] and found.cell == place.cell
        return f"line {found.line}" if same else f"cell {found.cell}, line {found.line}" if not match[1] else str(found)

    paths = {place.path for place in (finding.place, finding.loop, *finding.chain) if place}
    if not paths & set(notebooks):
        return finding
    place = mapped(finding.place)
    others = "|".join(re.escape(path) for path in sorted(paths & set(notebooks)))
    fix = finding.fix
    if place.cell is not None and isinstance(fix, Fix):
        fix = replace(fix, edits=(), safety="advice")  # its edits are of a module that exists nowhere
    return replace(
        finding,
        place=place,
        loop=mapped(finding.loop) if finding.loop else None,
        chain=tuple(mapped(call) for call in finding.chain),
        message=re.sub(rf"(?:({others}):|\bline )(\d+)", said, finding.message),
        fix=fix,
    )


# -- the notebook ------------------------------------------------------------------------------------------------------


def _notebook(data: bytes) -> dict[str, object]:
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except ValueError as error:
        raise NotebookError(f"not a notebook ({error})") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        old = isinstance(notebook, dict) and "worksheets" in notebook
        raise NotebookError("a notebook of the old format 3 (open and save it again)" if old else "not a notebook")
    return notebook


def _code_cells(notebook: dict[str, object]) -> list[tuple[int, str]]:
    """Number and source of every code cell; none if the notebook speaks another language."""
    about = notebook.get("metadata")
    about = about if isinstance(about, dict) else {}
    kernel, language = about.get("kernelspec"), about.get("language_info")
    spoken = [part.get(key) for part, key in ((language, "name"), (kernel, "language")) if isinstance(part, dict)]
    if any(isinstance(name, str) and name and "python" not in name.lower() for name in spoken):
        return []
    cells = notebook["cells"]
    assert isinstance(cells, list)
    found = []
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            found.append((number, "".join(map(str, source)) if isinstance(source, list) else str(source)))
    return found


def _lines(source: str) -> list[str]:
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


# -- one cell ----------------------------------------------------------------------------------------------------------


def _python(source: str) -> tuple[list[str], str]:
    """The cell's lines as Python, one for one, or none and what is wrong with them."""
    lines = _lines(source)
    if _fault(lines) == "":
        return lines, ""
    plain = _without_magics(lines)
    error = _fault(plain)
    return ([], error) if error else (plain, "")


def _fault(lines: list[str]) -> str:
    """Why the lines are not Python; "" if they are."""
    try:
        ast.parse("\n".join(lines).encode("utf-8", "replace") + b"\n")
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or "nested too deeply"
    return ""


def _without_magics(lines: list[str]) -> list[str]:
    """The same number of lines; what only a notebook understands does nothing."""
    out: list[str] = []
    depth, quote, continued, dropped = 0, "", False, False
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    for number, line in enumerate(lines):
        if number == first and line.startswith("%%"):
            name = re.match(r"%%(\w*)", line)
            if not name or name[1] not in PYTHON_CELLS:
                return [""] * len(lines)
            out.append("")
            continue
        if continued and dropped:
            plain = ""
        elif depth or quote or continued:
            plain = line
        else:
            plain = _plain(line)
        dropped = plain != line and line.rstrip().endswith("\\")
        if dropped:
            continued = True
        else:
            depth, quote = _state(plain, depth, quote)
            continued = plain.endswith("\\")
        out.append(plain)
    return out


def _plain(line: str) -> str:
    """The first line of a statement, with what only a notebook understands replaced; columns stay where they can."""
    indent, body = line[: len(line) - len(line.lstrip())], line.strip()
    timed = PYTHON_LINES.match(body)
    if timed:
        rest, width = body[timed.end() :], timed.end()
        return indent + (rest if COMPOUND.match(rest) else "0;" + " " * (width - 2) + rest)
    if SPECIAL.match(body) or BARE.match(body):
        return indent + "pass"
    assigned = ASSIGNED.match(body)
    return indent + assigned[1] + "..." if assigned and "==" not in assigned[1] else line


def _state(line: str, depth: int, quote: str) -> tuple[int, str]:
    """How many brackets are open, and which triple quote, behind a line."""
    at = 0
    while at < len(line):
        if quote:
            end = line.find(quote, at)
            if end < 0:
                return depth, quote
            at, quote = end + 3, ""
            continue
        token = TOKEN.search(line, at)
        if not token:
            break
        text = token[0]
        at = token.end()
        if text in ("'''", '"""'):
            quote = text
        elif text in "[({":
            depth += 1
        elif text in "])}":
            depth = max(0, depth - 1)
    return depth, quote
