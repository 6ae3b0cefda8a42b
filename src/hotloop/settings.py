"""Where hotloop keeps things, and what a project's configuration says."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


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
