"""A loop over one session of TensorFlow 1: feed, run, fetch."""

import time

import numpy as np
import tensorflow.compat.v1 as tf

graph = tf.Graph()
with graph.as_default():
    x = tf.placeholder(tf.float32, [None, 64])
    hidden = tf.nn.relu(tf.matmul(x, tf.ones([64, 256])))
    score = tf.reduce_sum(hidden, axis=1)
session = tf.Session(graph=graph)
rows = np.random.default_rng(0).normal(size=(200, 8, 64)).astype("float32")


def part() -> float:
    """Seconds of four thousand runs."""
    found = []
    started = time.perf_counter()
    for _ in range(20):
        for row in rows:
            found.append(session.run(score, {x: row}))
    return time.perf_counter() - started
