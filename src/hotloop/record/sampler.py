"""Where the time goes between events: one quiet thread looks at the main thread, drains, saves."""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable
from time import perf_counter_ns

DRAIN_EVERY = 0.02
PERIOD = 0.01


class Clockwork:
    """Runs chores at their intervals. Not a `threading.Thread`: the program's thread count stays as it was."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._chores: list[list[float | Callable[[], None]]] = []
        self.stopped = False

    def every(self, seconds: float, chore: Callable[[], None]) -> None:
        self._chores.append([seconds, 0.0, chore])

    def start(self) -> None:
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        wait = 1.0
        due = time.monotonic() + wait
        while not self.stopped:
            time.sleep(PERIOD)
            now = time.monotonic()
            for chore in self._chores:
                if now - chore[1] >= chore[0]:  # type: ignore[operator]
                    chore[1] = now
                    chore[2]()  # type: ignore[operator]
            if now >= due and not self.stopped:
                started = perf_counter_ns()
                self._write()
                cost = (perf_counter_ns() - started) / 1e9
                due = time.monotonic() + max(wait, 100 * cost)
