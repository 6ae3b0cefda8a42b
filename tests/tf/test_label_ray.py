"""`hotloop label --engine ray` on a real Ray of two workers, which does not spare them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'hotloop[ray]'")
IMAGES, DISTINCT, BATCH = 3000, 24, 8

MAKE = """
import sys
import numpy as np
import tensorflow.compat.v1 as tf

rng = np.random.default_rng(3)
with tf.Graph().as_default() as graph:
    images = tf.placeholder(tf.float32, [None, 32, 32, 3], name="input")
    x = tf.nn.relu(tf.nn.conv2d(images, rng.normal(0, 0.3, (3, 3, 3, 8)).astype("float32"), 2, "SAME"))
    x = tf.matmul(tf.reduce_mean(x, [1, 2]), rng.normal(0, 9, (8, 5)).astype("float32"))
    tf.nn.softmax(x, name="final_result")
    open("graph.pb", "wb").write(graph.as_graph_def().SerializeToString())
for number in range(int(sys.argv[1])):
    pixels = np.kron(rng.integers(0, 255, (4, 6, 3), np.uint8), np.ones((20, 20, 1), np.uint8))
    open(f"{number}.jpg", "wb").write(tf.io.encode_jpeg(pixels).numpy())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small frozen graph, its labels, and a long list of a few images, one of them damaged."""
    folder = tmp_path_factory.mktemp("label")
    subprocess.run([sys.executable, "-c", MAKE, str(DISTINCT)], cwd=folder, check=True, capture_output=True)
    (folder / "7.jpg").write_bytes((folder / "7.jpg").read_bytes()[:300])
    (folder / "labels.txt").write_text("".join(f"{name}\n" for name in ("cat", "dog", "bird", "ship", "frog")))
    (folder / "list.txt").write_text("".join(f"{number % DISTINCT}.jpg\n" for number in range(IMAGES)))
    return folder


def command(output: str, *options: str) -> list[str]:
    start = [sys.executable, "-m", "hotloop", "label", "graph.pb", "list.txt", "--labels", "labels.txt"]
    return [*start, "--batch", str(BATCH), "--output", output, *options]


def begun(folder: Path, *options: str) -> subprocess.Popen[str]:
    words = command("ray.jsonl", "--engine", "ray", "--workers", "2", *options)
    return subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True, env=os.environ | {"NO_COLOR": "1"})


def shards(folder: Path) -> int:
    return len(list((folder / "ray.jsonl.part").glob("shard-*.jsonl")))


def wait_for_more_than(count: int, folder: Path, process: subprocess.Popen[str]) -> int:
    """How many shards are written, once there are more than that."""
    while (now := shards(folder)) <= count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    return now


def kill_a_worker(process: subprocess.Popen[str]) -> None:
    import psutil

    children = psutil.Process(process.pid).children(recursive=True)
    next(child for child in children if "Labeller" in " ".join(child.cmdline())).kill()


def test_killed_runs_and_killed_workers_lose_and_repeat_no_row(folder: Path) -> None:
    done = subprocess.run(command("local.jsonl"), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # one image is damaged
    whole = (folder / "local.jsonl").read_bytes()
    assert whole.count(b"\n") == IMAGES

    first = begun(folder)
    kept = wait_for_more_than(0, folder, first)
    first.kill()
    first.communicate()
    assert not (folder / "ray.jsonl").exists()

    second = begun(folder, "--resume")
    wait_for_more_than(kept, folder, second)
    kill_a_worker(second)
    told = second.communicate()[1]
    assert second.returncode == 1, told
    assert (folder / "ray.jsonl").read_bytes() == whole
    assert not (folder / "ray.jsonl.part").exists()
    assert "of the run before" in told
