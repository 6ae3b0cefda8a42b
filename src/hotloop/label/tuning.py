"""The batch size, chosen by measuring: the smallest that is nearly as fast as the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hotloop.label.options import BATCH

if TYPE_CHECKING:
    from hotloop.label.network import Network

ENOUGH = 0.95  # of the best throughput
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
WORTH = 16  # images in the list for each that measuring computes
BUDGET = 1 << 28  # bytes of pixels in one batch


def choose(throughput: Callable[[int], float | None], sizes: Sequence[int] = SIZES) -> int:
    """Tries larger and larger sizes until they bring nothing; None from `throughput`: that one does not fit."""
    rates: dict[int, float] = {}
    for size in sizes:
        rate = throughput(size)
        if rate is None or (len(rates) > 1 and rate < ENOUGH * max(rates.values())):
            break
        rates[size] = rate
    best = max(rates.values(), default=0.0)
    return next((size for size in rates if rates[size] >= ENOUGH * best), 1)


def measured_batch(network: Network, images: int, clock: Callable[[], float] = time.perf_counter) -> int:
    """For so many images: where measuring would not pay, the usual size, or as many as there are."""
    import numpy as np
    import tensorflow as tf

    if network.one_by_one:
        return 1
    example = np.zeros((1, *(size or 1 for size in network.example)), network.dtype)
    sizes = [size for size in SIZES if size * example.nbytes <= BUDGET and 3 * WORTH * size <= images]
    if len(sizes) < 4:
        return max(1, min(BATCH, 1 << (images - 1).bit_length()))

    def throughput(size: int) -> float | None:
        batch = np.repeat(example, size, axis=0)
        try:
            network.run(batch)
            began = clock()
            network.run(batch)
            first = clock()
            network.run(batch)
        except tf.errors.ResourceExhaustedError:
            return None
        return size / min(first - began, clock() - first)

    return choose(throughput, sizes)
