"""One image, one row: what the outputs of a model mean, and how a row is written down as a line of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.label.headers import ImageError
from hotloop.model import HotloopError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Row:
    """What is known of one image: its best labels with their scores, or raw outputs, or what was wrong with it."""

    path: str
    labels: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    raw: tuple[float, ...] | None = None
    error: str | None = None


@dataclass(frozen=True)
class Rows:
    """Makes rows from what `Predictor.stream` yields."""

    labels: tuple[str, ...] | None = None  # None: a class is called by its number
    top_k: int = 5
    raw: bool = False

    def __call__(self, path: str, out: Array | ImageError) -> Row:
        if isinstance(out, ImageError):
            return Row(path, error=str(out))
        return self.of_batch([path], out[None], {})[0]

    def of_batch(self, paths: Sequence[str], outputs: Array, errors: Mapping[int, ImageError]) -> list[Row]:
        """A batch has a row of outputs for each path, and may have more."""
        flat = outputs.reshape(len(outputs), -1)
        best = flat if self.raw else flat.argsort(axis=1)[:, -self.top_k :][:, ::-1]

        def row(at: int, path: str) -> Row:
            if at in errors:
                return Row(path, error=str(errors[at]))
            if self.raw:
                return Row(path, raw=nine_digits(flat[at]))
            names = tuple(self.labels[i] if self.labels else str(i) for i in best[at].tolist())
            return Row(path, names, shortest(flat[at][best[at]]))

        return [row(at, path) for at, path in enumerate(paths)]


def shortest(values: Array) -> tuple[float, ...]:
    """As few digits as tell one single-precision number from the next: 0.1, not 0.10000000149011612."""
    return tuple(float(str(value)) for value in values)


def nine_digits(values: Array) -> tuple[float, ...]:
    """As exact for single precision, and five times as fast for the thousands of numbers of an embedding."""
    if values.dtype.itemsize > 4:
        return tuple(map(float, values.tolist()))
    return tuple(map(float, ("%.9g " * len(values) % tuple(values.tolist())).split()))


def to_json(row: Row) -> str:
    """One line, all ASCII: names with line breaks, quotes or bytes that are no text survive."""
    told: dict[str, object] = {"path": row.path}
    if row.error is not None:
        told["error"] = row.error
    elif row.raw is not None:
        told["raw"] = _finite(row.raw)
    else:
        told |= {"labels": row.labels, "scores": _finite(row.scores)}
    return json.dumps(told)


def from_json(line: str) -> Row:
    told = json.loads(line)
    raw = told.get("raw")
    return Row(
        told["path"],
        tuple(told.get("labels", ())),
        tuple(_number(value) for value in told.get("scores", ())),
        None if raw is None else tuple(_number(value) for value in raw),
        told.get("error"),
    )


def _finite(values: Sequence[float]) -> list[float | None]:
    """JSON has no word for NaN and infinity."""
    return [value if math.isfinite(value) else None for value in values]


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def read_labels(path: str) -> tuple[str, ...]:
    """One label a line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise HotloopError(f"cannot read the labels {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise HotloopError(f"the labels {path} are not UTF-8 text.") from error
    return tuple(line.rstrip() for line in text.removeprefix("\ufeff").rstrip("\r\n").split("\n"))
