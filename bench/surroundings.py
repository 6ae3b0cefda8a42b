"""Where a figure was measured: the machine, the versions, the commit."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from hotloop.settings import cores

HERE = Path(__file__).resolve().parent


def surroundings(*packages: str) -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False)
    return {
        "machine": {"cpu": _cpu(), "cpus": cores(), "system": platform.system(), "gpu": None},
        "versions": {"python": platform.python_version()} | _versions(packages),
        "commit": commit.stdout.strip(),
    }


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """Of those that are installed."""
    found = {distribution.name: distribution.version for distribution in metadata.distributions()}
    return {name: found[name] for name in packages if name in found}


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor()
