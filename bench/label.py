"""How fast `hotloop label` labels photographs, beside what people write by hand, in turns, and against the limit.

Each peer is a process that has loaded its network and waits for its turn; a turn labels the same files and writes the
five best of each. The limits do half of the work: decode and nothing else, compute and nothing else. The naive loop
gets slower with every image, so it labels a few, and starts afresh for each turn.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from labelling import DISTINCT, LIMITS, SIZES, Peer, environment, make_inputs, peers
from surroundings import HERE, surroundings

from hotloop.series import bootstrap_ratio
from hotloop.settings import cache_dir

PACKAGES = ("hotloop", "tensorflow", "tensorflow-cpu", "tensorflow_cpu", "keras", "numpy", "ray")
DEMO = HERE.parent / "src" / "hotloop" / "demo"
MB, IN_DEMO = 1e6, 300


def measure(network: Path, paths: list[str], found: dict[str, Peer], rounds: int) -> dict[str, Any]:
    """Seconds an image in each round, by peer, and how far the peers' scores are from one session's."""
    seconds: dict[str, list[float]] = {name: [] for name in found}
    batches: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        outputs = {name: Path(scratch, f"{name}.jsonl") for name in found}
        for number in range(-1, rounds):  # the first warms up
            for name in list(found)[:: -1 if number % 2 else 1]:
                answer = found[name].turn(network, paths, outputs[name])
                spent = answer["seconds"] / answer["images"]
                print(f"round {number}: {name} {1 / spent:.1f} images/s", flush=True)
                if "batch" in answer:
                    batches[name] = answer["batch"]
                if number >= 0:
                    seconds[name].append(spent)
        scores = {name: _scores(path) for name, path in outputs.items() if path.exists()}
    for peer in found.values():
        peer.stop()
    off = {name: _off(one, scores["session"]) for name, one in scores.items() if "session" in scores}
    return {"batches": batches, "off": off, "seconds": seconds}


def _scores(output: Path) -> dict[str, list[float]]:
    rows = (json.loads(line) for line in output.read_text().splitlines())
    return {row["path"]: row["scores"] for row in rows}


def _off(one: dict[str, list[float]], plain: dict[str, list[float]]) -> float:
    """The largest difference of a score from a plain session's."""
    pairs = (pair for path, found in one.items() for pair in zip(found, plain[path], strict=True))
    return max(abs(mine - theirs) for mine, theirs in pairs)


def compared(seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Images a second; how many times as fast hotloop is; how much of the limits it reaches."""
    result: dict[str, Any] = {"rates": {name: round(len(one) / sum(one), 2) for name, one in seconds.items()}}
    ours = seconds.get("hotloop")
    if ours is None:
        return result
    result["faster"] = {name: _ratio(one, ours) for name, one in seconds.items() if name not in ("hotloop", *LIMITS)}
    if all(limit in seconds for limit in LIMITS):
        pairs = list(zip(*(seconds[limit] for limit in LIMITS), strict=True))
        result["reached"] = {
            "bottleneck": _ratio([max(pair) for pair in pairs], ours),
            "same cores": _ratio([sum(pair) for pair in pairs], ours),
        }
    return result


def _ratio(before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    ratio, low, high = bootstrap_ratio(before, after)
    return {"ratio": round(ratio, 3), "interval": [round(low, 3), round(high, 3)]}


def flat(network: Path, paths: list[str]) -> dict[str, Any]:
    """One long run: what an image takes in the last tenth against the first, and what memory it took in between."""
    peer = peers(len(paths))["hotloop"]
    with tempfile.TemporaryDirectory() as scratch:
        peer.turn(network, paths[:DISTINCT], Path(scratch, "rows.jsonl"))
        marks = peer.turn(network, paths, Path(scratch, "rows.jsonl"))["marks"]
    peer.stop()
    tenth = len(marks) // 10
    if tenth < 2:
        raise SystemExit(f"{len(paths)} images are too few to compare tenths of them.")
    first, last = marks[: tenth + 1], marks[-tenth - 1 :]
    steps = {name: [_each(part, column) for part in (first, last)] for name, column in (("wall", 1), ("cpu", 2))}
    return {
        "images": len(paths),
        "slower": {name: _ratio(late, early) for name, (early, late) in steps.items()},
        "grown_mb": round((last[-1][3] - first[-1][3]) / MB, 1),
    }


def _each(marks: list[list[float]], column: int) -> list[float]:
    """What an image took between two marks."""
    return [(after[column] - before[column]) / (after[0] - before[0]) for before, after in pairwise(marks)]


def demo(rounds: int) -> dict[str, Any]:
    """The program of `make demo` and `hotloop label` on the same images, each as a whole command, by turns."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [sys.executable, str(DEMO / "make_inputs.py"), "--folder", scratch, "--count", str(IN_DEMO)],
            env=environment(),
            check=True,
        )
        inputs = [f"{scratch}/graph.pb", f"{scratch}/images", "--labels", f"{scratch}/labels.txt"]
        program = ["--graph", inputs[0], "--images", inputs[1], *inputs[2:]]
        ways = {
            "program": [sys.executable, str(DEMO / "label_images.py"), *program],
            "hotloop": [
                sys.executable,
                "-m",
                "hotloop",
                "label",
                *inputs,
                "--output",
                f"{scratch}/rows.jsonl",
                "--overwrite",
            ],
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, command in ways.items():
                began = time.perf_counter()
                subprocess.run(command, env=environment(), check=True, capture_output=True)
                seconds[name].append(time.perf_counter() - began)
    return {
        "images": IN_DEMO,
        "rounds": rounds,
        "faster": _ratio(seconds["program"], seconds["hotloop"]),
        "seconds": seconds,
    }


def _gpu() -> str:
    if shutil.which("nvidia-smi") is None:
        raise SystemExit("--gpu needs a GPU, and there is no nvidia-smi to tell of one.")
    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def keep(output: Path | None, name: str, result: dict[str, Any]) -> None:
    """Beside what was measured before under other names."""
    print(json.dumps({key: value for key, value in result.items() if key != "seconds"}, indent=1))
    if output is None:
        return
    kept = json.loads(output.read_text()) if output.exists() else {"results": {}}
    kept["results"][name] = {**surroundings(*PACKAGES), **result}
    output.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=400, help="in each turn")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--network", choices=SIZES, default="inception")
    parser.add_argument("--only", action="append", choices=peers(), help="these peers, keep no result")
    parser.add_argument("--flat", type=int, metavar="N", help="one run of N images instead: does it get slower?")
    parser.add_argument("--gpu", action="store_true", help="hotloop and the limits alone, with ResNet50, kept as `gpu`")
    parser.add_argument("--demo", action="store_true", help="`make demo`'s program and hotloop, as whole commands")
    parser.add_argument("--folder", type=Path, default=cache_dir() / "bench" / "label", help="of the inputs")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "label.json")
    arguments = parser.parse_args()
    output = None if arguments.only else arguments.output
    if arguments.demo:
        return keep(output, "demo", demo(arguments.rounds))
    name = "resnet50" if arguments.gpu else arguments.network
    device = {"gpu": _gpu()} if arguments.gpu else {}
    images = arguments.flat or arguments.images
    wanted = ("hotloop", *LIMITS) if arguments.gpu else arguments.only or peers()
    found = {peer: one for peer, one in peers(images).items() if peer in wanted and not arguments.flat}
    paths = make_inputs(arguments.folder, name, images, "onnx" in found)
    network = arguments.folder / f"{name}.pb"
    if arguments.flat:
        return keep(output, "flat", {"network": name, **flat(network, paths)})
    measured = measure(network, paths, found, arguments.rounds)
    told = {**device, "network": name, "images": images, "rounds": arguments.rounds, **compared(measured["seconds"])}
    told["words"] = {peer: one.words for peer, one in found.items()}
    return keep(output, "gpu" if arguments.gpu else name, {**told, **measured})


if __name__ == "__main__":
    main()
