"""A loop of tiny eager operations: the worst case for a recorder that watches each of them."""

import time

import tensorflow as tf

x = tf.constant(1.0)


def part(steps: int = 5_000) -> float:
    """Seconds of one part of the loop."""
    total = tf.constant(0.0)
    started = time.perf_counter()
    for _ in range(steps):
        total = tf.add(total, x)
    return time.perf_counter() - started
