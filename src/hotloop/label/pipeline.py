"""Decoding ahead: batches of pixels are filled by many threads while the one before is computed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from hotloop.label.headers import ImageError

if TYPE_CHECKING:
    import numpy as np

AHEAD = 2  # batches at least that are filled while one is computed


@dataclass(frozen=True)
class Batch:
    """The pixels are lent until the next batch is asked for."""

    paths: tuple[str, ...]
    pixels: np.ndarray[Any, Any]  # always of the full size: a row without an image is zero
    errors: dict[int, ImageError]


@dataclass(frozen=True)
class _Filling:
    paths: tuple[str, ...]
    pixels: np.ndarray[Any, Any]
    slots: tuple[Future[ImageError | None], ...]

    def done(self) -> Batch:
        told = {at: error for at, slot in enumerate(self.slots) if (error := slot.result()) is not None}
        self.pixels[len(self.paths) :] = 0
        return Batch(self.paths, self.pixels, told)


def batches(
    paths: Iterable[str],
    decode: Callable[[str], np.ndarray[Any, Any]],
    empty: np.ndarray[Any, Any],
    threads: int | None,
) -> Iterator[Batch]:
    """The images in order, as many at once as `empty` has rows."""
    threads = threads or cores()
    ahead = max(AHEAD, -(-2 * threads // len(empty)))  # small batches: enough of them to keep every thread busy
    coming, free = iter(paths), [empty, *(empty.copy() for _ in range(ahead))]
    filling: deque[_Filling] = deque()
    pool = ThreadPoolExecutor(threads, "hotloop-decode")

    def fill(pixels: np.ndarray[Any, Any], at: int, path: str) -> ImageError | None:
        try:
            pixels[at] = decode(path)
        except ImageError as error:
            pixels[at] = 0
            return error
        return None

    try:
        while True:
            while free and (some := tuple(islice(coming, len(empty)))):
                pixels = free.pop()
                filling.append(
                    _Filling(some, pixels, tuple(pool.submit(fill, pixels, *slot) for slot in enumerate(some)))
                )
            if not filling:
                return
            batch = filling.popleft().done()
            yield batch
            free.append(batch.pixels)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
