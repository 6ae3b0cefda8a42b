"""Eager operations, as the counter that stands before TensorFlow's own dispatch judges their times."""

from __future__ import annotations

import random

from hotloop.record.probes.eager import OpCounter

DISPATCH, KERNEL = 3e-5, 5e-4


def kernels(interruptions: int, windows: int = 20) -> float:
    """Seconds of kernels that are told of steps with a hundred small operations and two large ones each."""
    chance = random.Random(0)
    counter, told = OpCounter(), 0.0
    for _ in range(windows):
        taken = [("AddV2", DISPATCH * chance.uniform(1.0, 1.5)) for _ in range(100)]
        taken += [("MatMul", DISPATCH + KERNEL * chance.uniform(0.9, 1.1)) for _ in range(2)]
        for _ in range(interruptions):
            at = chance.randrange(len(taken))
            taken[at] = (taken[at][0], taken[at][1] + 5e-3)
        told += counter._kernels(taken)
    return told / windows


def test_large_operations_among_small_ones_are_kernels() -> None:
    assert 0.7 * 2 * KERNEL < kernels(0) < 1.1 * 2 * KERNEL


def test_operations_that_a_neighbour_interrupted_do_not_pass_for_large_ones() -> None:
    assert kernels(5) < 2.0 * kernels(0)
