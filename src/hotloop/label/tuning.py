"""The batch size, chosen by measuring: the smallest that is nearly as fast as the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotloop.label.network import Network

ENOUGH = 0.95  # of the best throughput
# Batches computed at once. Two on 2 cores: 1.3 to 1.6 times the images of one. Four with 16 cores: 1.4 to 1.8 times,
# with a GPU 1.3 to 1.7 times; eight, on either, sometimes a little more and sometimes less.
STREAMS = 4
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
RUNS = 3  # of each size
PART = 8  # measuring computes at most one image for so many of the list with each size
BUDGET = 1 << 28  # bytes of pixels in one batch


def usual_batch() -> int:
    """On a CPU, what a few images need in between still fits into its caches; a GPU wants many."""
    import tensorflow as tf

    return 32 if tf.config.list_physical_devices("GPU") else 8


def usual_streams(threads: int) -> int:
    """How many batches are computed at once."""
    return min(STREAMS, threads)


def choose(throughput: Callable[[int], float | None], sizes: Sequence[int] = SIZES) -> int:
    """Tries larger and larger sizes until they bring nothing; None from `throughput`: that one does not fit."""
    rates: dict[int, float] = {}
    for size in sizes:
        rate = throughput(size)
        if rate is None or (len(rates) > 2 and rate < ENOUGH * max(rates.values())):
            break
        rates[size] = rate
    best = max(rates.values(), default=0.0)
    return next((size for size in rates if rates[size] >= ENOUGH * best), 1)


def measured_batch(network: Network, images: int, streams: int, clock: Callable[[], float] = time.perf_counter) -> int:
    """For so many images: where measuring would not pay, the usual size, or as many as there are."""
    import numpy as np
    import tensorflow as tf

    if network.one_by_one:
        return 1
    shape = [size or 1 for size in network.example]
    example = np.random.default_rng(0).random((1, *shape)).astype(network.dtype)
    sizes = [size for size in SIZES if size * example.nbytes <= BUDGET and RUNS * PART * streams * size <= images]
    if len(sizes) < 2:
        return min(usual_batch(), 1 << (images - 1).bit_length())

    def throughput(size: int) -> float | None:
        with tf.device("/CPU:0"):  # where a batch comes from
            batch, best = tf.repeat(example, size, axis=0), 0.0
        try:
            for _ in range(RUNS):  # the first makes TensorFlow ready for this size
                began = clock()
                list(pool.map(network.run, [batch] * streams))
                best = max(best, streams * size / (clock() - began))
        except tf.errors.ResourceExhaustedError:
            return None
        return best

    with ThreadPoolExecutor(streams) as pool:
        return choose(throughput, sizes)
