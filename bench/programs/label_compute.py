"""The limit of computing: the same batch in memory again and again, of the size that does best here."""

import sys
import time

import numpy as np
import tensorflow as tf
from label_turns import take_turns

MODEL, SIZE = sys.argv[1], int(sys.argv[2])
LARGEST = 256 if tf.config.list_physical_devices("GPU") else 32
SIZES = [size for size in (1, 2, 4, 8, 16, 32, 64, 128, 256) if size <= LARGEST]

graph_def = tf.compat.v1.GraphDef()
with open(MODEL, "rb") as f:
    graph_def.ParseFromString(f.read())
wrapped = tf.compat.v1.wrap_function(lambda: tf.compat.v1.import_graph_def(graph_def, name=""), [])
network = wrapped.prune("input:0", "Identity:0")


def batch_of(size):
    return tf.constant(np.random.default_rng(0).random((size, SIZE, SIZE, 3), np.float32))


def compute(batch, images):
    """Rounds it up to whole batches."""
    started = time.perf_counter()
    computed = 0
    while computed < images:
        found = network(batch)
        computed += len(batch)
    tf.nest.flatten(found)[0].numpy()  # a device answers before it has computed
    return {"images": computed, "seconds": time.perf_counter() - started, "batch": len(batch)}


def rate(size):
    batch = batch_of(size)
    compute(batch, 1)
    found = compute(batch, 2 * LARGEST)
    return found["images"] / found["seconds"]


batch = batch_of(max(SIZES, key=rate))


take_turns(lambda paths, output: compute(batch, len(paths)))
