"""`hotloop label --engine ray` on a real Ray of two workers, which does not spare them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hotloop.label.job import settings_of
from hotloop.label.listing import images
from hotloop.label.options import Options
from hotloop.label.shards import Shards, shard_size

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


def leave_a_shard(folder: Path, whole: bytes) -> int:
    """As a run that was killed leaves it, with one shard done and another half written; how many rows are done."""
    options = Options("graph.pb", labels="labels.txt", batch=BATCH, engine="ray")
    settings = {**settings_of(options), "batch": BATCH, "shard": shard_size(IMAGES, 2, BATCH)}
    shards = Shards(folder / "ray.jsonl", settings, images(["list.txt"]), resume=False)
    lines = whole.decode().splitlines(keepends=True)[3 * shards.size : 4 * shards.size]
    shards.keep(3, "".join(lines))
    (folder / "ray.jsonl.part" / "shard-00005.tmp").write_text(lines[0][:20])
    shards.close()
    return shards.size


def wait_for_a_shard(folder: Path, process: subprocess.Popen[str]) -> None:
    while len(list((folder / "ray.jsonl.part").glob("shard-*.jsonl"))) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


def kill_a_worker(process: subprocess.Popen[str]) -> None:
    import psutil

    children = psutil.Process(process.pid).children(recursive=True)
    next(child for child in children if "Labeller" in " ".join(child.cmdline())).kill()


def test_killed_runs_and_killed_workers_lose_and_repeat_no_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = subprocess.run(command("local.jsonl"), capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # one image is damaged
    whole = (folder / "local.jsonl").read_bytes()
    assert whole.count(b"\n") == IMAGES

    before = leave_a_shard(folder, whole)
    flags = ("--engine", "ray", "--workers", "2", "--resume")
    process = subprocess.Popen(command("ray.jsonl", *flags), stderr=subprocess.PIPE, text=True)
    wait_for_a_shard(folder, process)
    kill_a_worker(process)
    assert (folder / "ray.jsonl.part").exists()  # in the middle of it
    told = process.communicate()[1]
    assert process.returncode == 1, told
    assert (folder / "ray.jsonl").read_bytes() == whole
    assert not (folder / "ray.jsonl.part").exists()
    assert f"after {before} of the run before" in told
