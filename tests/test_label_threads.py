"""Many threads: single calls become batches, images are decoded ahead in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from hotloop.label.gathering import Gatherer
from hotloop.label.headers import ImageError
from hotloop.label.pipeline import CHUNK, at_once, batches, chunk_size


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


def test_as_many_batches_are_computed_at_once_as_there_are_streams() -> None:
    begun: list[Sequence[int]] = []
    go_on = threading.Event()

    def compute(examples: Sequence[int]) -> list[int]:
        begun.append(examples)
        assert go_on.wait(60)
        return [-example for example in examples]

    gather = Gatherer(compute, batch=4, max_wait=0.0, streams=2)
    with ThreadPoolExecutor(5) as pool:
        calls = []
        for number in range(2):
            calls.append(pool.submit(gather, number))
            until(lambda: len(begun) > number)  # noqa: B023
        calls += [pool.submit(gather, number) for number in (2, 3, 4)]
        until(lambda: len(gather._waiting) == 3)
        go_on.set()
        assert [call.result() for call in calls] == [0, -1, -2, -3, -4]
    assert begun[:2] == [[0], [1]]
    assert sorted(example for together in begun for example in together) == [0, 1, 2, 3, 4]


def until(came: Callable[[], bool]) -> None:
    for _ in range(60_000):
        if came():
            return
        threading.Event().wait(0.001)
    raise TimeoutError


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


@pytest.mark.parametrize("streams", [1, 3])
def test_every_caller_gets_its_own_result_under_load(streams: int) -> None:
    gather = Gatherer(lambda examples: [-example for example in examples], batch=5, max_wait=0.001, streams=streams)
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(gather, range(5000))) == [-number for number in range(5000)]


def decode(paths: Sequence[str]) -> tuple[list[float], dict[int, ImageError]]:
    errors = {at: ImageError("cut off") for at, path in enumerate(paths) if path.startswith("bad")}
    return [0.0 if at in errors else float(path) for at, path in enumerate(paths)], errors


def join(chunks: Sequence[list[float]]) -> list[float]:
    return [pixel for chunk in chunks for pixel in chunk]


@pytest.mark.parametrize("size", [1, 3, 8, 11, 64])
def test_images_come_in_order_in_batches_of_chunks_with_the_errors_of_each(size: int) -> None:
    paths = [f"bad {number}" if number % 7 == 3 else str(number) for number in range(100)]
    seen = list(batches(paths, decode, join, size, threads=4))
    assert [len(batch.paths) for batch in seen] == [size] * (100 // size) + [100 % size] * bool(100 % size)
    assert [path for batch in seen for path in batch.paths] == paths
    assert join([batch.pixels for batch in seen]) == [0 if at % 7 == 3 else at for at in range(100)]
    bad = [start * size + at for start, batch in enumerate(seen) for at in batch.errors]
    assert bad == list(range(3, 100, 7))


@pytest.mark.parametrize("batch", [1, 2, 7, 8, 9, 12, 17, 64, 100, 256])
def test_a_batch_is_cut_into_nearly_equal_parts(batch: int) -> None:
    size = chunk_size(batch)
    assert 1 <= size <= CHUNK
    assert -(-batch // size) * size - batch < size
    assert size > CHUNK // 2 or batch == size


def test_a_long_list_is_read_no_further_ahead_than_needed() -> None:
    taken: list[int] = []

    def endless() -> Iterator[str]:
        for number in range(10**9):
            taken.append(number)
            yield str(number)

    coming = batches(endless(), decode, join, 4, threads=2)
    for number, batch in zip(range(50), coming, strict=False):
        assert batch.pixels[0] == number * 4
        assert len(taken) <= (number + 9) * 4
    coming.close()  # type: ignore[attr-defined]


def test_an_error_of_ours_in_a_decoding_thread_is_not_taken_for_a_bad_image() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        list(batches(["not a number"], decode, join, 2, threads=1))


def test_what_is_worked_on_at_once_comes_out_in_order() -> None:
    both = threading.Barrier(2, timeout=60)  # broken unless two are under way at once
    begun: list[int] = []

    def negative(number: int) -> int:
        begun.append(number)
        if number < 2:
            both.wait()
        return -number

    for number, made in enumerate(at_once(negative, range(9), 2)):
        assert made == (number, -number)
        assert len(begun) <= number + 3  # what waits takes memory
    assert sorted(begun) == list(range(9))


def test_what_cannot_be_worked_on_raises_in_its_turn() -> None:
    made = at_once(lambda number: 8 // number, [1, 2, 0, 4], 2)
    assert [next(made), next(made)] == [(1, 8), (2, 4)]
    with pytest.raises(ZeroDivisionError):
        next(made)
