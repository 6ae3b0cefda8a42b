"""What recording costs: the same loop in one process, in parts by turns plain, recorded, and under each of the peers.

Two processes on a shared machine differ by more than what is measured here; neighbouring parts of one process do not.
Plain means: no ticks (the code as it is written), the recorder's thread ended, operations uncounted, probes deaf.
The peers are measured while they watch: what they need to start, to stop and to write in the end is left out, as is
ours. The recorder's thread goes on in each part where it stopped in the one before: what it writes in between counts.
`tf.profiler` does most of its work when it stops, the more the longer it watched: it is measured with that as well.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import json
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surroundings import HERE, surroundings

from hotloop.record.stage import Stage, prepare
from hotloop.series import bootstrap_ratio

# The most that recording may cost.
PROGRAMS = {
    "keras_fit": 1.03,
    "compiled_loop": 1.03,
    "data_fit": 1.03,
    "session_loop": 1.20,
    "eager_ops": 1.10,
    "python_loop": 1.10,
}
PEERS = ("cProfile", "pyinstrument", "tf.profiler", "tf.profiler to its end")
WARM = 12  # rounds before the first that counts: traces, caches, the recorder's first and densest second

PACKAGES = ("hotloop", "tensorflow", "tensorflow-cpu", "tensorflow_cpu", "keras", "numpy", "pyinstrument")

Part = Callable[[], float]


def measure(name: str, rounds: int, peers: bool) -> dict[str, list[float]]:
    """Seconds of neighbouring parts, by who watches."""
    program = HERE / "programs" / f"{name}.py"
    with tempfile.TemporaryDirectory() as scratch:
        options = {"recording": f"{scratch}/recording.json", "sample": True, "observe": False, "seed": None}
        stage = prepare(program, [], options)
        assert stage.code is not None
        ticked: dict[str, Any] = {"__name__": "__main__", "__file__": str(program)}
        exec(stage.code, ticked)
        plain: Part = runpy.run_path(str(program))["part"]
        stage.recorder.start()
        ways: dict[str, Callable[[], float]] = {
            "plain": lambda: _off(stage, plain),
            "hotloop": lambda: _on(stage, ticked["part"]),
        }
        if peers:
            for peer, watch in zip(PEERS, (_c_profile, _pyinstrument, _tf_profiler, _to_its_end), strict=True):
                ways[peer] = lambda watch=watch: _off(stage, lambda: watch(plain, scratch))  # type: ignore[misc]
        found: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(WARM + rounds):
            for way in list(ways)[:: -1 if number % 2 else 1]:
                seconds = ways[way]()
                if number >= WARM:
                    found[way].append(seconds)
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


def _c_profile(part: Part, _: str) -> float:
    with cProfile.Profile():
        return part()


def _pyinstrument(part: Part, _: str) -> float:
    with importlib.import_module("pyinstrument").Profiler():
        return part()


def _tf_profiler(part: Part, scratch: str) -> float:
    import tensorflow as tf

    with tf.profiler.experimental.Profile(f"{scratch}/profile"):
        return part()


def _to_its_end(part: Part, scratch: str) -> float:
    started = time.perf_counter()
    _tf_profiler(part, scratch)
    return time.perf_counter() - started


def compared(found: dict[str, list[float]], limit: float) -> dict[str, Any]:
    ratios: dict[str, Any] = {}
    for way, seconds in found.items():
        if way != "plain":
            ratio, low, high = bootstrap_ratio(seconds, found["plain"])
            ratios[way] = {"ratio": round(ratio, 4), "interval": [round(low, 4), round(high, 4)]}
    parts = {way: [round(one, 5) for one in seconds] for way, seconds in found.items()}
    return {"limit": limit, "ratios": ratios, "parts": parts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="measure these again, and leave the figures of the others")
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--output", type=Path, default=HERE / "results" / "overhead.json")
    parser.add_argument("--alone", action="store_true", help="leave the peers out")
    parser.add_argument("--only", choices=PROGRAMS, help="measure one program in this process, print its parts")
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measure(arguments.only, arguments.rounds, not arguments.alone)))
        return
    results = json.loads(arguments.output.read_text())["results"] if arguments.programs else {}
    for name in arguments.programs or PROGRAMS:
        limit = PROGRAMS[name]
        command = [sys.executable, __file__, "--only", name, "--rounds", str(arguments.rounds)]
        command += ["--alone"] if arguments.alone else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        results[name] = compared(json.loads(done.stdout.splitlines()[-1]), limit)
        ways = results[name]["ratios"].items()
        said = ", ".join(f"{way} {one['ratio']:.3f} {one['interval']}" for way, one in ways)
        print(f"{name} (limit {limit}): {said}", flush=True)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    around = surroundings(*PACKAGES)
    arguments.output.write_text(json.dumps({**around, "rounds": arguments.rounds, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
