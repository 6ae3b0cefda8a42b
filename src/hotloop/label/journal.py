"""Work in progress lies beside the output, in the folder OUTPUT.part: a killed run can go on, and whoever reads the
output finds it whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from hotloop.label.tables import format_of, write_table
from hotloop.model import HotloopError

ROWS, JOB = "rows.jsonl", "job.json"
CHOSEN = {"batch", "shard"}  # settings that a run that is resumed keeps, whatever this one would choose


def part_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.part")


def check_output(output: Path, resume: bool, overwrite: bool) -> None:
    """Whether this may be written, said before anything is loaded."""
    format_of(output)
    part = part_of(output)
    if output.is_dir() or not output.parent.is_dir():
        why = "it is a directory" if output.is_dir() else f"there is no folder {output.parent}"
        raise HotloopError(f"cannot write {output}: {why}.")
    if not os.access(output.parent, os.W_OK):
        raise HotloopError(f"cannot write {output}: permission denied.")
    if overwrite or (resume and part.exists()):
        return
    if part.exists():
        raise HotloopError(
            f"{part} is there from a run that did not finish: --resume goes on, --overwrite starts again."
        )
    if output.exists() and not resume:
        raise HotloopError(f"{output} is there already: --overwrite replaces it.")


def finished(output: Path, resume: bool) -> bool:
    """Whether there is nothing left to resume."""
    return resume and output.exists() and not (part_of(output) / JOB).exists()


def begin(output: Path, settings: Mapping[str, Any], resume: bool) -> tuple[dict[str, Any], BinaryIO]:
    """The settings to go on with, and the file of rows, which no other run has open."""
    part = part_of(output)
    if not resume:
        if (part / ROWS).exists():
            _locked(part / ROWS, output).close()  # another run that is still at it keeps its rows
        shutil.rmtree(part, ignore_errors=True)
    part.mkdir(exist_ok=True)
    begun = _read_job(part / JOB)
    if begun is None:
        _write_job(part / JOB, settings)
    told = dict(settings) if begun is None else _same(begun, dict(settings), output)
    return told, _locked(part / ROWS, output)


class Journal:
    """The rows so far, one line each; appending is all that ever happens to them."""

    def __init__(self, output: Path, settings: Mapping[str, Any], paths: Sequence[str], resume: bool) -> None:
        """`settings`: what the numbers depend on. A run is resumed only if they are the same."""
        self.output = output
        self.part = part_of(output)
        self.settings, self._file = begin(output, settings, resume)
        self.done = _whole_rows(self._file, paths, output)

    def append(self, lines: Sequence[str]) -> None:
        """Straight to the system: what has been appended outlives the process."""
        rest = memoryview("".join(f"{line}\n" for line in lines).encode("ascii"))
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise HotloopError(f"cannot write {self.part}: {error.strerror}. --resume goes on from here.") from error

    def publish(self, raw: bool, width: int) -> None:
        with (self.part / ROWS).open(encoding="ascii") as file:
            publish((line.rstrip("\n") for line in file), self.output, raw, width)
        self._file.close()

    def close(self) -> None:
        self._file.close()


def publish(lines: Iterable[str], output: Path, raw: bool, width: int) -> None:
    """The finished table in one step, then the work in progress goes."""
    part, ending = part_of(output), format_of(output)
    whole = part / f"finished{ending}"
    try:
        write_table(lines, whole, ending, raw, width)
        whole.replace(output)
    except OSError as error:
        raise HotloopError(f"cannot write {output}: {error.strerror or error}. --resume tries again.") from error
    (part / JOB).unlink(missing_ok=True)  # first: without it nothing is resumed
    shutil.rmtree(part, ignore_errors=True)


def _read_job(path: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_text(encoding="ascii")))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise HotloopError(f"{path} is damaged: --overwrite starts again.") from error


def _write_job(path: Path, settings: Mapping[str, Any]) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(json.dumps(settings, indent=1), encoding="ascii")
    fresh.replace(path)


def _same(begun: dict[str, Any], now: dict[str, Any], output: Path) -> dict[str, Any]:
    """The settings to go on with: the batch is the one that was chosen then, so that the numbers come out the same."""
    for name in now.keys() - CHOSEN:
        if begun.get(name) != now[name]:
            change = f"{begun.get(name)}, now {now[name]}"
            raise HotloopError(f"{output} was begun with another {name} ({change}): --overwrite starts again.")
    return begun


def _locked(path: Path, output: Path) -> BinaryIO:
    """Opened for this process alone; unbuffered."""
    import fcntl

    file = path.open("a+b", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise HotloopError(f"{output} is being written by another run.") from error
    return file


def _whole_rows(file: BinaryIO, paths: Sequence[str], output: Path) -> int:
    """How many images have their row. A row that was cut off by the end of a run goes: it will be made again."""
    file.seek(0)
    whole = done = 0
    with open(os.dup(file.fileno()), "rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break
            if done >= len(paths) or _path(line) != paths[done]:
                raise HotloopError(f"{output} was begun with other images: --overwrite starts again.")
            whole, done = whole + len(line), done + 1
    file.truncate(whole)
    return done


def _path(line: bytes) -> object:
    try:
        return json.loads(line)["path"]
    except (ValueError, KeyError, TypeError):
        return None
