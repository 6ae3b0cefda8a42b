"""The programs that label photographs in turns, and the photographs and networks that they share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surroundings import HERE

from hotloop.settings import cache_dir

PROGRAMS = HERE / "programs"
SIZES = {"mobilenet": 224, "inception": 299, "resnet50": 224}
BATCH, FEW, DISTINCT = 32, 20, 200  # images in a batch made by hand, in a naive turn, and how many differ
LIMITS = ("decode", "compute")
ONNX = ("tf2onnx==1.17.0", "onnx==1.23.2", "onnxruntime==1.31.1", "opencv-python-headless==5.0.0.93")

Answer = dict[str, Any]


@dataclass
class Peer:
    """One program that labels in turns."""

    program: str
    words: str
    arguments: list[str] = field(default_factory=list)
    few: bool = False
    _process: subprocess.Popen[str] | None = None

    def turn(self, network: Path, paths: list[str], output: Path) -> Answer:
        """How many images it labelled, in how many seconds."""
        process = self._process or self._started(network)
        assert process.stdin
        turn = {"paths": paths[:FEW] if self.few else paths, "output": str(output)}
        process.stdin.write(json.dumps(turn) + "\n")
        process.stdin.flush()
        answer = self._answer(process)
        if self.few:
            self.stop()
        return answer

    def stop(self) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.close()
            self._process.wait()
        self._process = None

    def _started(self, network: Path) -> subprocess.Popen[str]:
        command = [_program(f"label_{self.program}"), str(network), str(SIZES[network.stem]), *self.arguments]
        self._process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
        )
        self._answer(self._process)
        return self._process

    def _answer(self, process: subprocess.Popen[str]) -> Answer:
        assert process.stdout
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"label_{self.program}.py ended: nothing was measured.")
        return dict(json.loads(line))


def peers(images: int = 0) -> dict[str, Peer]:
    by_hand = [str(BATCH)]
    return {
        "hotloop": Peer("hotloop", "`hotloop label`", [str(images)]),
        "naive": Peer("naive", f"label_image.py in a loop (its first {FEW} images)", few=True),
        "session": Peer("session", "one session, one image at a time", ["1"]),
        "batched": Peer("session", f"one session, batches of {BATCH} by hand", by_hand),
        "keras": Peer("keras", "Keras `predict` over tf.data", by_hand),
        "onnx": Peer("onnx", "ONNX Runtime, OpenCV decoding in threads (its pixels differ)", by_hand),
        "ray": Peer("ray", "Ray Data, an actor written by hand", by_hand),
        "decode": Peer("decode", "decoding alone"),
        "compute": Peer("compute", "computing alone"),
    }


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(_onnx()))))
    return os.environ | {"PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}


def _program(name: str) -> str:
    return str(PROGRAMS / f"{name}.py")


def _onnx() -> Path:
    """Where packages lie that hotloop does not need."""
    return cache_dir() / "bench" / "label-packages"


def make_inputs(folder: Path, network: str, count: int, onnx: bool) -> list[str]:
    """The photographs' paths; what is there already is kept."""
    frozen = str(folder / f"{network}.pb")
    _run(_program("label_inputs"), str(folder), "--network", network, "--count", str(DISTINCT))
    if onnx and not _onnx().exists():
        _run("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(_onnx()), *ONNX)
    if onnx and not (folder / f"{network}.onnx").exists():
        _run(_program("label_onnx_convert"), frozen, str(SIZES[network]))
    return [str(path) for path in _links(folder, count)]


def _run(*words: str) -> None:
    subprocess.run([sys.executable, *words], env=environment(), check=True)


def _links(folder: Path, count: int) -> Iterator[Path]:
    photographs = sorted((folder / "photographs").glob("*.jpg"))
    links = folder / "images"
    links.mkdir(exist_ok=True)
    for number in range(count):
        path = links / f"{number:06}.jpg"
        if not path.exists():
            path.hardlink_to(photographs[number % len(photographs)])
        yield path
