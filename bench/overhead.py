"""What recording costs: the same loop in one process, in parts by turns with the recorder on and off.

Two processes on a shared machine differ by more than what is measured here; neighbouring parts of one process do not.
Off means: no ticks (the code as it is written), the recorder's thread ended, operations uncounted, probes deaf.
"""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surroundings import HERE, surroundings

from hotloop.record.stage import Stage, prepare
from hotloop.series import bootstrap_ratio

PROGRAMS = {"eager_ops": 1.10, "keras_fit": 1.03}  # the most that recording may cost
WARM = 12  # parts before the first that counts: traces, caches, the recorder's first and densest second

PACKAGES = ("hotloop", "tensorflow-cpu", "keras", "numpy")

Part = Callable[[], float]


def measure(name: str, pairs: int) -> list[tuple[float, float]]:
    """Seconds of neighbouring parts, off and on."""
    program = HERE / "programs" / f"{name}.py"
    with tempfile.TemporaryDirectory() as scratch:
        options = {"recording": f"{scratch}/recording.json", "sample": True, "observe": False, "seed": None}
        stage = prepare(program, [], options)
        assert stage.code is not None
        ticked: dict[str, Any] = {"__name__": "__main__", "__file__": str(program)}
        exec(stage.code, ticked)
        without: Part = runpy.run_path(str(program))["part"]
        with_it: Part = ticked["part"]
        stage.recorder.start()
        for _ in range(WARM):
            _on(stage, with_it)
            _off(stage, without)
        found = []
        for number in range(pairs):
            if number % 2:
                on, off = _on(stage, with_it), _off(stage, without)
            else:
                off, on = _off(stage, without), _on(stage, with_it)
            found.append((off, on))
        return found


def _on(stage: Stage, part: Part) -> float:
    stage.recorder.log.deaf = False
    stage.clockwork.start()
    seconds = part()
    stage.clockwork.stop()
    return seconds


def _off(stage: Stage, part: Part) -> float:
    stage.recorder.log.deaf = True
    stage.ops.rest()
    return part()


def compared(found: list[tuple[float, float]], limit: float) -> dict[str, Any]:
    off, on = zip(*found, strict=True)
    ratio, low, high = bootstrap_ratio(on, off)
    return {
        "ratio": round(ratio, 4),
        "interval": [round(low, 4), round(high, 4)],
        "off": [round(seconds, 5) for seconds in off],
        "on": [round(seconds, 5) for seconds in on],
        "limit": limit,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--output", type=Path, default=HERE / "results" / "overhead.json")
    parser.add_argument("--only", choices=PROGRAMS, help="measure one program in this process, print its pairs")
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measure(arguments.only, arguments.pairs)))
        return
    results = {}
    for name, limit in PROGRAMS.items():
        command = [sys.executable, __file__, "--only", name, "--pairs", str(arguments.pairs)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        results[name] = compared(json.loads(done.stdout.splitlines()[-1]), limit)
        print(f"{name}: {results[name]['ratio']:.3f} {results[name]['interval']} (limit {limit})", flush=True)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(
        json.dumps({**surroundings(*PACKAGES), "pairs": arguments.pairs, "results": results}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
