"""What recording costs: programs with and without it, interleaved, timed by their own clocks in their loops."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from hotloop.record import record
from hotloop.series import bootstrap_ratio

HERE = Path(__file__).resolve().parent
PROGRAMS = {"eager_ops": 1.10, "keras_fit": 1.03}  # the most that recording may cost


def loop_seconds(stderr: bytes) -> float:
    found = re.search(rb"^loop-seconds: ([0-9.]+)$", stderr, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the program did not print its loop's seconds:\n{stderr.decode()[-2000:]}")
    return float(found[1])


def plain(program: Path) -> float:
    run = subprocess.run([sys.executable, str(program)], capture_output=True, check=True)
    return loop_seconds(run.stderr)


def recorded(program: Path) -> float:
    _, completed = record([str(program)], capture=True)
    return loop_seconds(completed.stderr)


def measure(program: Path, pairs: int) -> dict[str, Any]:
    without: list[float] = []
    with_it: list[float] = []
    for number in range(pairs):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            (without, with_it)[side].append((plain, recorded)[side](program))
        print(f"{program.stem}: {without[-1]:.3f} s plain, {with_it[-1]:.3f} s recorded", flush=True)
    ratio, low, high = bootstrap_ratio(with_it, without)
    return {
        "ratio": round(ratio, 4),
        "interval": [round(low, 4), round(high, 4)],
        "plain": without,
        "recorded": with_it,
    }


def surroundings() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False)
    packages = ("hotloop", "tensorflow-cpu", "keras", "numpy")
    return {
        "machine": {"cpu": _cpu(), "cpus": os.cpu_count(), "system": platform.system(), "gpu": None},
        "versions": {"python": platform.python_version()} | {name: metadata.version(name) for name in packages},
        "commit": commit.stdout.strip(),
    }


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--output", type=Path, default=HERE / "results" / "overhead.json")
    arguments = parser.parse_args()
    results = {
        name: {**measure(HERE / "programs" / f"{name}.py", arguments.pairs), "limit": limit}
        for name, limit in PROGRAMS.items()
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(
        json.dumps({**surroundings(), "pairs": arguments.pairs, "results": results}, indent=2) + "\n"
    )
    for name, result in results.items():
        print(f"{name}: {result['ratio']:.3f} {result['interval']} (limit {result['limit']})")


if __name__ == "__main__":
    main()
