"""Many threads: single calls become batches, images are decoded ahead in order, in memory that does not grow."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hotloop.label.gathering import Gatherer
from hotloop.label.headers import ImageError
from hotloop.label.pipeline import batches


def test_calls_that_come_while_a_batch_is_computed_go_together_in_the_next() -> None:
    sizes: list[int] = []
    began, go_on = threading.Event(), threading.Event()

    def compute(examples: Sequence[int]) -> list[int]:
        sizes.append(len(examples))
        began.set()
        assert go_on.wait(60)
        return [example * 10 for example in examples]

    gather = Gatherer(compute, batch=4, max_wait=0.0)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(gather, 1)
        assert began.wait(60)
        rest = [pool.submit(gather, number) for number in range(2, 9)]
        while len(gather._waiting) < 7:
            threading.Event().wait(0.001)
        go_on.set()
        assert [first.result(), *(call.result() for call in rest)] == [number * 10 for number in range(1, 9)]
    assert sizes == [1, 4, 3]


def test_a_lone_caller_never_waits_for_others() -> None:
    gather = Gatherer(lambda examples: examples, batch=32, max_wait=3600.0, clock=lambda: 0.0)
    assert [gather(number) for number in range(100)] == list(range(100))


def test_an_error_reaches_everybody_in_the_batch_and_nobody_after_it() -> None:
    def compute(examples: Sequence[int]) -> Sequence[int]:
        if 13 in examples:
            raise ValueError("thirteen")
        return examples

    gather = Gatherer(compute, batch=8, max_wait=0.0)
    with pytest.raises(ValueError, match="thirteen"):
        gather(13)
    assert gather(1) == 1


def test_every_caller_gets_its_own_result_under_load() -> None:
    gather = Gatherer(lambda examples: [-example for example in examples], batch=5, max_wait=0.001)
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(gather, range(5000))) == [-number for number in range(5000)]


def decode(path: str) -> np.ndarray:
    if path.startswith("bad"):
        raise ImageError("cut off")
    return np.full((2, 2), float(path))


def test_images_come_in_order_in_full_batches_with_zeros_where_there_is_none() -> None:
    paths = ["1", "bad", "3", "4", "5"]
    coming = batches(paths, decode, np.ones((3, 2, 2)), 4)
    seen = [(batch.paths, batch.pixels[:, 0, 0].tolist(), batch.errors) for batch in coming]
    assert [paths for paths, _, _ in seen] == [("1", "bad", "3"), ("4", "5")]
    assert [pixels for _, pixels, _ in seen] == [[1, 0, 3], [4, 5, 0]]
    assert [[(at, str(error)) for at, error in errors.items()] for _, _, errors in seen] == [[(1, "cut off")], []]


def test_a_long_list_is_read_no_further_ahead_than_a_few_batches_and_into_the_same_memory() -> None:
    taken: list[int] = []

    def endless() -> object:
        for number in range(10**9):
            taken.append(number)
            yield str(number)

    coming = batches(endless(), decode, np.ones((4, 2, 2)), 2)  # type: ignore[arg-type]
    arrays = set()
    for number, batch in zip(range(50), coming, strict=False):
        assert batch.pixels[0, 0, 0] == number * 4
        arrays.add(id(batch.pixels))
        assert len(taken) <= (number + 4) * 4
    coming.close()  # type: ignore[attr-defined]
    assert len(arrays) <= 4


def test_an_error_of_ours_in_a_decoding_thread_is_not_taken_for_a_bad_image() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        list(batches(["not a number"], decode, np.ones((2, 2, 2)), 1))
