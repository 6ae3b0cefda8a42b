"""An environment with an older TensorFlow, made once beside the project's own, for tests of what is seen there."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints-tf215.txt"
HOME = ROOT / ".venv-tf215"


def older_python() -> Path:
    """Its Python. Skips the test where such an environment cannot be had."""
    python, stamp = HOME / "bin" / "python", HOME / ".installed"
    with CONSTRAINTS.open(encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # tests run in several processes: one makes it, the others wait
        wanted = f"{ROOT}\n{file.read()}"
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            if sys.version_info >= (3, 12):
                pytest.skip("TensorFlow 2.15 needs Python 3.11, and these tests run in a newer one.")
            _do(sys.executable, "-m", "venv", "--clear", str(HOME))
            _do(str(python), "-m", "pip", "install", "--quiet", "tensorflow-cpu", "-c", str(CONSTRAINTS))
            stamp.write_text(wanted, encoding="utf-8")
    return python


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or "no reason given").splitlines()[-1]
        pytest.skip(f"an environment with TensorFlow 2.15 could not be made: {last}")
