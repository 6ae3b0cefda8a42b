"""What a run leaves in a folder: the files it wrote, read as far as their kind is known."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD = 4
MOST_FILES = 20_000  # in a folder: beyond, nobody looks
LARGEST = 64 << 20  # bytes of a file that is read as what it is; a larger one is bytes
LONGEST = 1 << 20  # of a text that is compared word by word
PASSED_OVER = {"__pycache__", "node_modules"}

Seen = Mapping[str, tuple[int, int]]  # size and time of change by path; of a folder, whose path ends in /, nothing


@dataclass(frozen=True)
class Left:
    """A file: `text`, `values` (arrays, in few words each) or `bytes`, of which only the digest is known."""

    kind: str
    digest: str
    text: bytes = b""
    values: tuple[Mapping[str, Any], ...] = ()


def seen(folder: Path) -> Seen | None:
    """The files below a folder; None where they are too many to look at. Hidden ones are nobody's results."""
    found: dict[str, tuple[int, int]] = {}
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in PASSED_OVER]
        found |= {os.path.relpath(os.path.join(top, name), folder) + os.sep: (0, 0) for name in folders}
        for name in names:
            path = os.path.join(top, name)
            try:
                status = os.stat(path)
            except OSError:
                continue
            if not name.startswith(".") and not os.path.islink(path):
                found[os.path.relpath(path, folder)] = status.st_size, status.st_mtime_ns
        if len(found) > MOST_FILES:
            return None
    return found


def left(folder: Path, before: Seen | None) -> dict[str, Left]:
    """The files that were written since."""
    after = seen(folder) if before is not None else None
    if before is None or after is None:
        return {}
    written = (path for path in sorted(after) if after[path] != before.get(path) and not path.endswith(os.sep))
    return {path: read(folder / path) for path in written}


def tidy(folder: Path, before: Seen | None) -> None:
    """Remove what was not there: a program that makes its folder, or finds its old results, shall run again alike."""
    after = seen(folder) if before is not None else None
    if before is None or after is None:
        return
    for path in sorted(set(after) - set(before), reverse=True):
        if path.endswith(os.sep):
            shutil.rmtree(folder / path, ignore_errors=True)
        else:
            (folder / path).unlink(missing_ok=True)


def read(file: Path) -> Left:
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        data = file.read_bytes() if file.stat().st_size <= LARGEST else b""
    except OSError:
        return Left("bytes", "")
    if values := tuple(_values(file.name, data)):
        return Left("values", digest, values=values)
    return Left("text", digest, text=data) if _is_text(data) else Left("bytes", digest)


def _is_text(data: bytes) -> bool:
    if not data or len(data) > LONGEST or b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# -- arrays ------------------------------------------------------------------------------------------------------------


def _values(name: str, data: bytes) -> Iterator[Mapping[str, Any]]:
    """The arrays in a file of a known kind; none where it is another, or cannot be read."""
    try:
        if name.endswith(".npy"):
            import numpy

            yield few_words(name, numpy.load(io.BytesIO(data), allow_pickle=False))
        elif name.endswith((".npz", ".keras")):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for member in sorted(archive.namelist()):
                    yield from _values(member, archive.read(member))
        elif name.endswith((".h5", ".hdf5")):
            yield from _tables(data)
    except Exception:  # noqa: BLE001 - a file that is not what its name says is only bytes
        return


def _tables(data: bytes) -> Iterator[Mapping[str, Any]]:
    """HDF5, as Keras writes its weights; it brings the reader along."""
    import h5py

    found: dict[str, Any] = {}

    def visit(path: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found[path] = item[()]

    with h5py.File(io.BytesIO(data), "r") as file:
        file.visititems(visit)
    yield from (few_words(path, found[path]) for path in sorted(found))


def few_words(kind: str, value: Any) -> dict[str, Any]:
    """An array in few words, so that two can be compared."""
    import numpy

    array = numpy.asarray(value)
    words: dict[str, Any] = {"kind": kind, "dtype": str(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind not in "biufc":
        return words | {"sum": 0.0, "abs_sum": 0.0, "head": [str(item)[:60] for item in array.ravel()[:HEAD]]}
    numbers = array.ravel()
    if array.dtype.kind == "c":
        numbers = numbers.view(numbers.real.dtype)
    numbers = numbers.astype("float64")
    return words | {
        "sum": float(numpy.nansum(numbers)),
        "abs_sum": float(numpy.nansum(numpy.abs(numbers))),
        "head": [float(number) for number in numbers[:HEAD]],
    }
