"""The finished file: rows that were written down as lines of JSON become JSON Lines, CSV or Parquet."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from hotloop.label.rows import Row, from_json
from hotloop.model import HotloopError

ROWS_AT_ONCE = 4096


def format_of(output: Path) -> str:
    """By the name's ending; whether it can be written at all is said before the first image is read."""
    ending = output.suffix.lower()
    if ending not in WRITERS:
        raise HotloopError(f"cannot write {output}: its name should end in {', '.join(WRITERS)}.")
    if ending == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise HotloopError("writing Parquet needs pyarrow: pip install 'hotloop[parquet]'.") from error
    return ending


def write_table(lines: Iterable[str], output: Path, ending: str, raw: bool, width: int) -> None:
    """`width`: how many labels, or with `raw` how many numbers, a row has."""
    WRITERS[ending](lines, output, raw, width)


def _jsonl(lines: Iterable[str], output: Path, raw: bool, width: int) -> None:
    with output.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _csv(lines: Iterable[str], output: Path, raw: bool, width: int) -> None:
    headings = [f"output_{at}" for at in range(width)]
    if not raw:
        headings = [f"{name}_{at}" for at in range(1, width + 1) for name in ("label", "score")]
    with output.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        table = csv.writer(file)
        table.writerow(["path", "error", *headings])
        for row in map(from_json, lines):
            cells = row.raw or [cell for pair in zip(row.labels, row.scores, strict=True) for cell in pair]
            table.writerow([row.path, row.error or "", *cells, *[""] * (len(headings) - len(cells))])


def _parquet(lines: Iterable[str], output: Path, raw: bool, width: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    values = {"raw": pa.list_(pa.float32())}
    if not raw:
        values = {"labels": pa.list_(pa.string()), "scores": pa.list_(pa.float32())}
    schema = pa.schema({"path": pa.string(), "error": pa.string(), **values})
    with parquet.ParquetWriter(output, schema) as writer:
        for some in _chunks(map(from_json, lines)):
            columns: dict[str, list[Any]] = {name: [_cell(row, name) for row in some] for name in schema.names}
            writer.write_table(pa.table(columns, schema=schema))


def _cell(row: Row, name: str) -> Any:
    if name == "path":  # Parquet's text is UTF-8: bytes of a name that are not are spelled out
        return os.fsencode(row.path).decode("utf-8", "backslashreplace")
    return None if row.error is not None and name != "error" else getattr(row, name)


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield some


WRITERS: dict[str, Callable[[Iterable[str], Path, bool, int], None]] = {
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
}
