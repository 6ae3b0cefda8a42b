"""A tight loop of pure Python beside a little TensorFlow."""

import time

import tensorflow as tf


@tf.function
def scaled(x):
    return x * 2.0


def part(steps: int = 10_000_000) -> float:
    """Seconds of the loop and of one compiled call."""
    total = 0
    started = time.perf_counter()
    for number in range(steps):
        total += number & 7
    scaled(tf.constant(float(total)))
    return time.perf_counter() - started
