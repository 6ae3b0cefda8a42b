"""Single examples from many threads become batches, without a thread of its own and without waiting for nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class _Ticket:
    example: Any
    result: Any = None
    error: BaseException | None = None
    taken: bool = False  # into a batch
    served: bool = False


class Gatherer:
    """Whoever comes while `streams` batches are computed waits and goes with the next one. The first of those computes
    it for all; before it does, it waits up to `max_wait` seconds for as many callers as the last batch had."""

    def __init__(
        self,
        compute: Callable[[Sequence[Any]], Sequence[Any]],
        batch: int,
        max_wait: float,
        streams: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._compute = compute
        self._batch = batch
        self._max_wait = max_wait
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: list[_Ticket] = []
        self._free = streams
        self._led = False  # somebody waits for others to come
        self._usual = 1

    def __call__(self, example: Any) -> Any:
        ticket = _Ticket(example)
        with self._changed:
            self._waiting.append(ticket)
            self._changed.notify_all()
        while together := self._turn(ticket):
            self._serve(together)
        if ticket.error is not None:
            raise ticket.error
        return ticket.result

    def _turn(self, ticket: _Ticket) -> list[_Ticket]:
        """The batch that this caller has to compute; none once it is served. Who came first is served first: a caller
        may have to compute a batch that is full without it, and then comes again."""
        with self._changed:
            while not ticket.served and (ticket.taken or self._led or not self._free):
                self._changed.wait()
            return [] if ticket.served else self._lead()

    def _lead(self) -> list[_Ticket]:
        until = self._clock() + self._max_wait
        self._led = True
        try:
            while len(self._waiting) < min(self._usual, self._batch) and (left := until - self._clock()) > 0:
                self._changed.wait(left)
        finally:  # also when Ctrl-C ends the waiting
            self._led = False
            self._changed.notify_all()
        self._free -= 1
        together, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
        for ticket in together:
            ticket.taken = True
        return together

    def _serve(self, together: list[_Ticket]) -> None:
        error: BaseException | None = None
        results: Sequence[Any] = [None] * len(together)
        try:
            results = self._compute([ticket.example for ticket in together])
        except BaseException as caught:  # everybody in the batch has to hear of it  # noqa: BLE001
            error = caught
        with self._changed:
            for ticket, result in zip(together, results, strict=False):
                ticket.result, ticket.error, ticket.served = result, error, True
            self._usual = len(together)
            self._free += 1
            self._changed.notify_all()
