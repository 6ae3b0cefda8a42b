"""How fast `hotloop label` labels photographs, beside what people write by hand, in turns, and against the limit.

Each peer is a process that has loaded its network and waits for its turn; a turn labels the same files and writes the
five best of each. The limits do half of the work: decode and nothing else, compute and nothing else. The naive loop
gets slower with every image, so it labels a few, and starts afresh for each turn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surroundings import HERE, surroundings

from hotloop.series import bootstrap_ratio
from hotloop.settings import cache_dir

SIZES = {"mobilenet": 224, "inception": 299, "resnet50": 224}
BATCH, FEW, DISTINCT = 32, 20, 200  # images in a batch made by hand, in a naive turn, and how many differ
EXTRAS = ("tf2onnx==1.17.0", "onnx==1.23.2", "onnxruntime==1.31.1", "opencv-python-headless==5.0.0.93")
PACKAGES = ("hotloop", "tensorflow", "tensorflow-cpu", "keras", "numpy", "ray")
LIMITS = ("decode", "compute")


@dataclass
class Peer:
    """One program that labels in turns."""

    program: str
    words: str
    arguments: list[str] = field(default_factory=list)
    few: bool = False
    _process: subprocess.Popen[str] | None = None

    def turn(self, network: Path, paths: list[str], output: Path) -> float:
        """Seconds an image."""
        process = self._process or self._started(network)
        assert process.stdin
        turn = {"paths": paths[:FEW] if self.few else paths, "output": str(output)}
        process.stdin.write(json.dumps(turn) + "\n")
        process.stdin.flush()
        answer = self._answer(process)
        if self.few:
            self.stop()
        return float(answer["seconds"] / answer["images"])

    def stop(self) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.close()
            self._process.wait()
        self._process = None

    def _started(self, network: Path) -> subprocess.Popen[str]:
        program = str(HERE / "programs" / f"label_{self.program}.py")
        command = [sys.executable, program, str(network), str(SIZES[network.stem]), *self.arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(), text=True
        )
        self._answer(self._process)
        return self._process

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"label_{self.program}.py ended: nothing was measured.")
        return dict(json.loads(line))


def peers() -> dict[str, Peer]:
    return {
        "hotloop": Peer("hotloop", "`hotloop label`"),
        "naive": Peer("naive", f"label_image.py in a loop (its first {FEW} images)", few=True),
        "session": Peer("session", "one session, batch 1", ["1"]),
        "batched": Peer("session", f"one session, batches of {BATCH} by hand", [str(BATCH)]),
        "keras": Peer("keras", "Keras `predict` over tf.data", [str(BATCH)]),
        "onnx": Peer("onnx", "ONNX Runtime, OpenCV decoding in threads", [str(BATCH)]),
        "ray": Peer("ray", "Ray Data, an actor written by hand", [str(BATCH)]),
        "decode": Peer("decode", "decoding alone"),
        "compute": Peer("compute", "computing alone"),
    }


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(_extras()), "TF_CPP_MIN_LOG_LEVEL": "3"}


def _extras() -> Path:
    """Where the peers' packages lie that hotloop does not need."""
    return cache_dir() / "bench" / "label-packages"


def make_inputs(folder: Path, network: str, count: int, onnx: bool) -> list[str]:
    """The photographs' paths; what is there already is kept."""
    programs = HERE / "programs"
    make = [sys.executable, str(programs / "label_inputs.py"), str(folder), "--network", network]
    subprocess.run([*make, "--count", str(DISTINCT)], env=_environment(), check=True)
    if onnx and not _extras().exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(_extras())]
        subprocess.run([*install, *EXTRAS], check=True)
    if onnx and not (folder / f"{network}.onnx").exists():
        convert = [sys.executable, str(programs / "label_onnx_convert.py"), str(folder / f"{network}.pb")]
        subprocess.run([*convert, str(SIZES[network])], env=_environment(), check=True)
    return [str(path) for path in _links(folder, count)]


def _links(folder: Path, count: int) -> Iterable[Path]:
    photographs = sorted((folder / "photographs").glob("*.jpg"))
    links = folder / "images"
    links.mkdir(exist_ok=True)
    for number in range(count):
        path = links / f"{number:06}.jpg"
        if not path.exists():
            path.hardlink_to(photographs[number % len(photographs)])
        yield path


def measure(network: Path, paths: list[str], found: dict[str, Peer], rounds: int) -> dict[str, Any]:
    """Seconds an image in each round, by peer, and how far the peers' scores are from one session's."""
    seconds: dict[str, list[float]] = {name: [] for name in found}
    with tempfile.TemporaryDirectory() as scratch:
        outputs = {name: Path(scratch, f"{name}.jsonl") for name in found}
        for number in range(-1, rounds):  # the first warms up
            for name in list(found)[:: -1 if number % 2 else 1]:
                spent = found[name].turn(network, paths, outputs[name])
                print(f"round {number} {name}: {1 / spent:.1f} images/s", flush=True)
                if number >= 0:
                    seconds[name].append(spent)
        scores = {name: _scores(path) for name, path in outputs.items() if path.exists() and name not in LIMITS}
    for peer in found.values():
        peer.stop()
    return {"seconds": seconds, "off": {name: _off(one, scores) for name, one in scores.items()}}


def _scores(output: Path) -> dict[str, list[float]]:
    rows = (json.loads(line) for line in output.read_text().splitlines())
    return {row["path"]: row["scores"] for row in rows}


def _off(one: dict[str, list[float]], scores: dict[str, dict[str, list[float]]]) -> float | None:
    """The largest difference of a score from a plain session's."""
    plain = scores.get("session")
    if plain is None:
        return None
    pairs = (pair for path, found in one.items() for pair in zip(found, plain[path], strict=True))
    return max(abs(mine - theirs) for mine, theirs in pairs)


def compared(seconds: dict[str, list[float]], words: dict[str, str]) -> dict[str, Any]:
    """What each takes against hotloop; how much of the limits hotloop reaches."""
    ours = seconds.get("hotloop")
    result: dict[str, Any] = {"rates": {name: round(len(one) / sum(one), 2) for name, one in seconds.items()}}
    result["words"] = {name: words[name] for name in seconds}
    if ours is None:
        return result
    result["faster"] = {name: _ratio(one, ours) for name, one in seconds.items() if name not in ("hotloop", *LIMITS)}
    if all(limit in seconds for limit in LIMITS):
        decode, compute = (seconds[limit] for limit in LIMITS)
        pairs = list(zip(decode, compute, strict=True))
        result["reached"] = {
            "bottleneck": _ratio([max(pair) for pair in pairs], ours),
            "same cores": _ratio([sum(pair) for pair in pairs], ours),
        }
    return result


def _ratio(before: list[float], after: list[float]) -> dict[str, Any]:
    ratio, low, high = bootstrap_ratio(before, after)
    return {"ratio": round(ratio, 3), "interval": [round(low, 3), round(high, 3)]}


def keep(output: Path, name: str, result: dict[str, Any]) -> None:
    """Beside what was measured before under other names."""
    kept = json.loads(output.read_text()) if output.exists() else {"results": {}}
    kept["results"][name] = {**surroundings(*PACKAGES), **result}
    output.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=400, help="in each turn")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--network", choices=SIZES, default="inception")
    parser.add_argument("--only", action="append", choices=peers(), help="these peers, keep no result")
    parser.add_argument(
        "--folder", type=Path, default=cache_dir() / "bench" / "label", help="where the inputs are kept"
    )
    parser.add_argument("--output", type=Path, default=HERE / "results" / "label.json")
    arguments = parser.parse_args()
    found = {name: peer for name, peer in peers().items() if name in (arguments.only or peers())}
    paths = make_inputs(arguments.folder, arguments.network, arguments.images, "onnx" in found)
    measured = measure(arguments.folder / f"{arguments.network}.pb", paths, found, arguments.rounds)
    result = compared(measured["seconds"], {name: peer.words for name, peer in found.items()})
    print(json.dumps(result | {"off": measured["off"]}, indent=1))
    if not arguments.only:
        told = {"images": arguments.images, "rounds": arguments.rounds, **result, **measured}
        keep(arguments.output, arguments.network, told)


if __name__ == "__main__":
    main()
