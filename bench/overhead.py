"""What recording costs: programs with and without it, interleaved, timed by their own clocks in their loops."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from hotloop.record import record
from hotloop.series import bootstrap_ratio

HERE = Path(__file__).resolve().parent
PROGRAMS = {"eager_ops": 1.10, "keras_fit": 1.03}  # the most that recording may cost


def chunks(stderr: bytes) -> list[float]:
    """Seconds of the loop's equal parts, as the program printed them."""
    found = re.search(rb"^chunk-seconds: ([0-9. ]+)$", stderr, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the program did not print its loop's seconds:\n{stderr.decode()[-2000:]}")
    return [float(seconds) for seconds in found[1].split()]


def plain(program: Path) -> list[float]:
    return chunks(subprocess.run([sys.executable, str(program)], capture_output=True, check=True).stderr)


def recorded(program: Path) -> list[float]:
    return chunks(record([str(program)], capture=True)[1].stderr)


def measure(program: Path, pairs: int) -> dict[str, Any]:
    """The whole loop, and its undisturbed part: on a shared machine neighbours decide the first."""
    without: list[list[float]] = []
    with_it: list[list[float]] = []
    for number in range(pairs):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            (without, with_it)[side].append((plain, recorded)[side](program))
        print(f"{program.stem}: {sum(without[-1]):.3f} s plain, {sum(with_it[-1]):.3f} s recorded", flush=True)
    return {"loop": compared(without, with_it, sum), "undisturbed": compared(without, with_it, lower_quartile)}


def lower_quartile(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) // 4]


def compared(
    without: list[list[float]], with_it: list[list[float]], of: Callable[[list[float]], float]
) -> dict[str, Any]:
    before, after = [of(run) for run in without], [of(run) for run in with_it]
    ratio, low, high = bootstrap_ratio(after, before)
    rounded = [[round(seconds, 6) for seconds in side] for side in (before, after)]
    return {
        "ratio": round(ratio, 4),
        "interval": [round(low, 4), round(high, 4)],
        "plain": rounded[0],
        "recorded": rounded[1],
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
        for part in ("loop", "undisturbed"):
            print(f"{name}, {part}: {result[part]['ratio']:.3f} {result[part]['interval']} (limit {result['limit']})")


if __name__ == "__main__":
    main()
