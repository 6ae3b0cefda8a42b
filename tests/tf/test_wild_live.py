"""`hotloop run` on programs that were written without a look at the rules."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from wild_programs import PROGRAMS, guilt, strays

COMPARED = {"checkpoint_sweep", "fgsm_homework", "label_folder", "moons_notebook"}  # with a run of their own, alone


def python(*arguments: str, cwd: Path) -> bytes:
    environment = {**os.environ, "HOTLOOP_HOME": str(cwd.parent / "home"), "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda folder: folder.name)
def test_run_prices_the_guilty_lines_and_leaves_the_program_as_it_was(program: Path, tmp_path: Path) -> None:
    folder, output = tmp_path / program.name, tmp_path / "report.json"
    shutil.copytree(program, folder, ignore=shutil.ignore_patterns("__pycache__"))
    printed = python("-m", "hotloop", "run", "--format", "json", "--output", str(output), "main.py", cwd=folder)
    report: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    guilty = guilt(program)

    assert report["problems"] == []
    assert strays(report["findings"], guilty) == []
    assert bool(report["findings"]) == bool(guilty)
    assert all(finding["cost"] and finding["cost"]["seconds"] > 0 for finding in report["findings"])
    if program.name in COMPARED:
        assert printed == python("main.py", cwd=folder)
