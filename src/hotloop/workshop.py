"""Copies of a project to try changes on: what the program writes lands in the copy."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hotloop.discover import SKIPPED

COPIED_AT_MOST = 16 << 20  # bytes of a file that is copied; a larger one is linked
COPIED_IN_ALL = 512 << 20


@dataclass(frozen=True)
class Bench:
    """A copy, and the command to run in it."""

    folder: Path
    argv: tuple[str, ...]
    cwd: Path


@dataclass(frozen=True)
class Workshop:
    """A project below `root`, and the command that runs it from here."""

    root: Path
    argv: Sequence[str]

    @contextmanager
    def bench(self, contents: dict[str, bytes]) -> Iterator[Bench]:
        """A copy of the project with these files as given."""
        root = self.root.resolve()
        with tempfile.TemporaryDirectory(prefix="hotloop-", ignore_cleanup_errors=True) as folder:
            copy = Path(folder) / (root.name or "project")
            mirror(root, copy, {root / path: data for path, data in contents.items()})
            yield Bench(copy, moved(self.argv, root, copy), _moved(Path.cwd().resolve(), root, copy))


def moved(argv: Sequence[str], root: Path, copy: Path) -> tuple[str, ...]:
    """The command with every existing path below `root` that it spells in full, or leads out of here, in the copy."""
    here = Path.cwd().resolve()
    below = here.is_relative_to(root)

    def word(text: str) -> str:
        away = os.path.isabs(text) or not below or text.startswith("..")
        if not (away and os.path.exists(text)):
            return text
        real = Path(os.path.abspath(text))
        real = real if real.is_relative_to(root) else real.resolve()
        return str(copy / real.relative_to(root)) if real.is_relative_to(root) else text

    return tuple(word(text) for text in argv)


def _moved(folder: Path, root: Path, copy: Path) -> Path:
    return copy / folder.relative_to(root) if folder.is_relative_to(root) else folder


def mirror(source: Path, target: Path, files: dict[Path, bytes], room: list[int] | None = None) -> None:
    """`target` looks like `source`, with these files in it as given. What is large, hidden or linked is a link."""
    room = [COPIED_IN_ALL] if room is None else room
    target.mkdir(parents=True, exist_ok=True)
    folders = {parent for file in files for parent in file.parents}
    for entry in sorted(source.iterdir()):
        copy = target / entry.name
        apart = entry.name.startswith(".") or entry.name in SKIPPED or entry.is_symlink()
        apart = apart or (entry / "pyvenv.cfg").exists()
        if entry in files:
            copy.write_bytes(files[entry])
        elif entry in folders or (entry.is_dir() and not apart and room[0] > 0):
            mirror(entry, copy, files, room)
        elif entry.is_file() and not apart and entry.stat().st_size <= min(COPIED_AT_MOST, room[0]):
            room[0] -= entry.stat().st_size + 4096
            shutil.copy2(entry, copy)
        elif entry.name != "__pycache__":
            copy.symlink_to(entry)
