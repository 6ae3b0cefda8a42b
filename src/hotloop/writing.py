"""Changed texts -> files: all or none, each in one step, with its mode and owner; what is in the way is said."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from hotloop.model import HotloopError

KEPT = ".orig"


def write_files(root: Path, old: Mapping[str, bytes], new: Mapping[str, bytes], backup: bool = False) -> list[str]:
    """Write what changed; a file that is no longer as it was read, or cannot be written, stops everything first."""
    changed = [path for path in sorted(new) if new[path] != old[path]]
    with contextlib.ExitStack() as scratches:
        ready = [(_prepared(root / path, path, old[path], new[path], scratches)) for path in changed]
        for path, (scratch, file) in zip(changed, ready, strict=True):
            try:
                if backup:
                    shutil.copy2(file, _free(file))
                os.replace(scratch, file)
            except OSError as error:
                raise HotloopError(f"cannot write {path}: {error.strerror or error}; it is as it was.") from error
    return changed


def _prepared(file: Path, path: str, old: bytes, new: bytes, scratches: contextlib.ExitStack) -> tuple[Path, Path]:
    """The new text beside its file, whole and on the disk; and the file itself, where `file` is a link to it."""
    file = file.resolve()
    try:
        if file.read_bytes() != old:
            raise HotloopError(f"{path} was changed while it was being mended; nothing was written. Run again.")
        if not os.access(file, os.W_OK):
            raise PermissionError(0, "it is read-only")
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        scratches.callback(Path(name).unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as stream:
            stream.write(new)
            stream.flush()
            os.fsync(stream.fileno())
        status = file.stat()
        if (status.st_uid, status.st_gid) != (os.stat(name).st_uid, os.stat(name).st_gid):
            os.chown(name, status.st_uid, status.st_gid)
        shutil.copymode(file, name)
    except OSError as error:
        why = error.strerror or str(error)
        raise HotloopError(f"cannot write {path}: {why}; nothing was written, all files are as they were.") from error
    return Path(name), file


def _free(file: Path) -> Path:
    """Where a copy of the file goes: never over an older one."""
    names = (file.with_name(f"{file.name}{KEPT}{number or ''}") for number in range(1000))
    return next(name for name in names if not name.exists())


def uncommitted(root: Path, paths: Iterable[str]) -> list[str]:
    """Of these files, those that git knows to differ from what was committed; none where git is not used."""
    command = ["git", "-C", str(root), "status", "--porcelain", "-z", "--", *paths]
    try:
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
        top = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--show-toplevel"], capture_output=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return []
    if done.returncode or top.returncode:
        return []
    folder = Path(os.fsdecode(top.stdout).rstrip("\n"))
    found = {folder / os.fsdecode(entry[3:]) for entry in done.stdout.split(b"\0") if len(entry) > 3}
    return [path for path in paths if (root / path).resolve() in {file.resolve() for file in found}]
