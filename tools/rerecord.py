"""Records the rules' specimens into their folders, so that detectors are tested without TensorFlow."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Any

from hotloop.model import HotloopError, Recording, from_plain, to_plain
from hotloop.record import record
from hotloop.rules import Rule, find_rule, select
from hotloop.rules.specimens import program, specimen, write

KEPT = (
    "program",
    "argv",
    "seconds",
    "import_seconds",
    "peak_rss",
    "python",
    "tensorflow",
    "keras",
    "hotloop",
)


def main(names: list[str]) -> int:
    try:
        rules = [find_rule(name) for name in select(names)]
        for rule in rules:
            for name in ("slow", "fast"):
                print(f"{rule.name}: {name}", flush=True)
                portable(record_specimen(rule, name)).save(rule.folder / f"{name}.json.gz")
    except HotloopError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def record_specimen(rule: Rule, name: str) -> Recording:
    with tempfile.TemporaryDirectory() as scratch:
        write(specimen(rule, name), Path(scratch))
        recording, done = record([program(rule, name)], cwd=Path(scratch), seed=0, capture=True)
    if done.code != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise HotloopError(f"{rule.name}: {name} fails: {' '.join(last)}")
    return recording


def portable(recording: Recording) -> Recording:
    """Nothing of the machine it was made on, and times rounded to the microsecond."""
    meta = {key: value for key, value in recording.meta.items() if key in KEPT}
    return from_plain(Recording, _rounded(to_plain(dataclasses.replace(recording, meta=meta))))


def _rounded(plain: Any) -> Any:
    if isinstance(plain, float):
        return round(plain, 6)
    if isinstance(plain, list):
        return [_rounded(item) for item in plain]
    if isinstance(plain, dict):
        return {key: _rounded(item) for key, item in plain.items()}
    return plain


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
