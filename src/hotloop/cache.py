"""What `check` said the last time: the same files, the same question and the same hotloop give the same report."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hotloop import __version__
from hotloop.model import Report, from_plain, to_plain
from hotloop.settings import cache_dir

RECENT = 2_000_000_000  # nanoseconds: a file so young when it was read may have changed since within its timestamp
KEPT = 30 * 86400  # seconds that an answer nobody asks for is kept

Stamp = list[Any]  # size, time of the last change, digest of the content
Contents = dict[Path, bytes]


def remembered(question: Sequence[str], files: Sequence[Path], ask: Callable[[Contents], Report]) -> Report:
    """`ask`, or what it said before. `question` is all that the answer depends on besides the files' content.

    What was read on the way is handed over: the answer is about these bytes.
    """
    key = hashlib.sha256("\0".join([*question, *_ourselves()]).encode()).hexdigest()[:32]
    kept = cache_dir() / "check" / f"{key}.json"
    before, said = _load(kept)
    now = time.time_ns()
    contents: Contents = {}
    try:
        stamps = {str(file): _stamp(file, before.get(str(file)), contents) for file in files}
    except OSError:
        return ask(contents)  # a file that cannot be read has its own sentence
    if said is not None and {name: stamp[2] for name, stamp in before.items()} == {n: s[2] for n, s in stamps.items()}:
        if before != stamps:
            _save(kept, stamps, said, now)
        return said
    report = ask(contents)
    if not report.problems:
        _save(kept, stamps, report, now)
    return report


def _stamp(file: Path, before: Stamp | None, contents: Contents) -> Stamp:
    status = os.stat(file)
    if before and before[0] == status.st_size and before[1] == status.st_mtime_ns:
        return before
    data = contents[file] = file.read_bytes()
    return [status.st_size, status.st_mtime_ns, hashlib.blake2b(data, digest_size=16).hexdigest()]


def _ourselves() -> list[str]:
    """Another Python, another version or an edited rule may say something else."""
    found = [__version__, sys.version]
    for folder, _, names in sorted(os.walk(Path(__file__).parent)):
        for name in sorted(names):
            if name.endswith(".py"):
                status = os.stat(os.path.join(folder, name))
                found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return found


def _load(path: Path) -> tuple[dict[str, Stamp], Report | None]:
    """Anything unreadable is as good as nothing. What is asked for is kept on."""
    try:
        plain = json.loads(path.read_bytes())
        os.utime(path)
        return dict(plain["files"]), from_plain(Report, plain["report"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}, None


def _save(path: Path, stamps: dict[str, Stamp], report: Report, now: int) -> None:
    """At once or not at all: another hotloop may be reading or writing the same."""
    # A time that was young when the file was read proves nothing: the digest has to.
    files = {name: [size, at if at < now - RECENT else 0, digest] for name, (size, at, digest) in stamps.items()}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"files": files, "report": to_plain(report)}, file, separators=(",", ":"))
        os.replace(name, path)
        for other in path.parent.iterdir():
            if other.stat().st_mtime < time.time() - KEPT:
                other.unlink()
