"""Where hotloop keeps things, and what a project's configuration says."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from hotloop.model import HotloopError

UNFINISHED = "unfinished-"


def cache_dir() -> Path:
    """Recordings live outside the project: a program that lists its folder must not see them."""
    base = os.environ.get("HOTLOOP_HOME")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hotloop"


def last_recording(root: Path) -> Path:
    """Where `run` leaves its recording of a project, and where `report` looks for it."""
    name = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]
    return cache_dir() / "recordings" / name / "last.json.gz"


@contextmanager
def findable(recording: Path, root: Path) -> Iterator[None]:
    """Leave word, while a recording is being written, of where: `run` itself may be killed."""
    word = last_recording(root).with_name(f"{UNFINISHED}{os.getpid()}")
    with suppress(OSError):
        word.parent.mkdir(parents=True, exist_ok=True)
        word.write_text(str(recording), encoding="utf-8")
    try:
        yield
    finally:
        for path in (word, *(old for old, _ in _unfinished(word.parent))):  # those that were left are old news now
            with suppress(OSError):
                path.unlink()


def latest_recording(root: Path) -> Path:
    """The last recording, or a later one that was never finished because whoever made it was killed."""
    last = last_recording(root)
    left = [path for path in (last, *(path for _, path in _unfinished(last.parent))) if path.exists()]
    return max(left, key=lambda path: path.stat().st_mtime, default=last)


def _unfinished(folder: Path) -> Iterator[tuple[Path, Path]]:
    """The words that were left by processes that are no more, and where their recordings are."""
    for word in folder.glob(f"{UNFINISHED}*"):
        import psutil

        process = word.name.removeprefix(UNFINISHED)
        if process.isdigit() and not psutil.pid_exists(int(process)):
            with suppress(OSError, UnicodeDecodeError):
                yield word, Path(word.read_text(encoding="utf-8"))


def cores() -> int:
    """Those that this process may use: a container or `taskset` may allow fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# -- configuration -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """`[tool.hotloop]` of pyproject.toml, or hotloop.toml. Its paths and patterns are relative to `folder`."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    baseline: str | None = None
    folder: Path = field(default_factory=Path.cwd)
    file: Path | None = None


def load_settings(paths: Iterable[Path]) -> Settings:
    """The configuration nearest to the paths: of the folder that they share, or of one above it."""
    start = Path(os.path.commonpath([path.resolve() for path in paths] or [Path.cwd()]))
    for folder in (start, *start.parents):
        for name in ("hotloop.toml", "pyproject.toml"):
            file = folder / name
            if file.is_file():
                table = _table(file)
                if table is not None:
                    return _settings(table, file)
    return Settings()


def _table(file: Path) -> dict[str, object] | None:
    """What the file says of hotloop; None if it is a pyproject.toml that does not mention it."""
    import tomllib

    own = file.name == "hotloop.toml"
    try:
        data = file.read_bytes()
        if not own and b"hotloop" not in data:
            return None
        content = tomllib.loads(data.decode())
    except OSError as error:
        raise HotloopError(f"cannot read {file}: {error.strerror or error}.") from error
    except ValueError as error:
        raise HotloopError(f"{file} is not valid TOML: {error}.") from error
    if own:
        return content
    tool = content.get("tool")
    table = tool.get("hotloop") if isinstance(tool, dict) else None
    if table is None or isinstance(table, dict):
        return table
    raise HotloopError(f"{file}: `tool.hotloop` must be a table.")


def _settings(table: Mapping[str, object], file: Path) -> Settings:
    lists = ("select", "ignore", "exclude")
    known = (*lists, "per-file-ignores", "baseline")
    for key in table:
        if key not in known:
            raise HotloopError(f"{file}: there is no setting `{key}`. The settings are: {', '.join(known)}.")
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise HotloopError(f"{file}: `per-file-ignores` must be a table of patterns, each with a list of rules.")
    baseline = table.get("baseline")
    if baseline is not None and not isinstance(baseline, str):
        raise HotloopError(f"{file}: `baseline` must be a string: the path of a file.")
    select, ignore, exclude = (_strings(table.get(key, []), key, file) for key in lists)
    ignores = {pattern: _strings(rules, f"per-file-ignores.{pattern}", file) for pattern, rules in per_file.items()}
    return Settings(select, ignore, exclude, ignores, baseline, file.parent, file)


def _strings(value: object, key: str, file: Path) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise HotloopError(f"{file}: `{key}` must be a list of strings.")
