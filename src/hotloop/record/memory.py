"""How much memory this process holds, and how long it waits for a core, asked cheaply enough to ask often."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from hotloop.model import Series

CEILING = 1024


def rss_reader() -> Callable[[], int]:
    """Bytes resident now. An open file is 1.7 us a read; psutil, where there is no /proc, 14 us."""
    try:
        file = os.open("/proc/self/statm", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        import psutil

        process = psutil.Process()
        return lambda: int(process.memory_info().rss)
    page = os.sysconf("SC_PAGE_SIZE")
    return lambda: int(os.pread(file, 100, 0).split()[1]) * page


def queue_reader() -> Callable[[], float]:
    """Seconds that the main thread was ready to run and others had the cores; 0 where the system does not tell."""
    try:
        file = os.open("/proc/self/schedstat", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        int(os.pread(file, 100, 0).split()[1])
    except (OSError, ValueError, IndexError):
        return lambda: 0.0
    return lambda: round(int(os.pread(file, 100, 0).split()[1]) / 1e9, 3)


def peak_rss() -> int:
    """The most this process ever held, as the system counted it."""
    try:  # `ru_maxrss` begins with what the process that started this one held
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class Gauge:
    """A reading over time, of resident bytes first of all: when full, every second point goes, the interval doubles."""

    def __init__(self, read: Callable[[], float], name: str = "rss", unit: str = "bytes") -> None:
        self._read = read
        self._name, self._unit = name, unit
        self.peak = 0.0
        self._at: list[float] = []
        self._values: list[float] = []
        self._every = 1
        self._seen = 0

    def look(self, now: float) -> None:
        value = self._read()
        self.peak = max(self.peak, value)
        if self._seen % self._every == 0:
            self._at.append(round(now, 4))
            self._values.append(float(value))
            if len(self._at) >= CEILING:
                del self._at[1::2], self._values[1::2]
                self._every *= 2
        self._seen += 1

    def series(self) -> Series:
        return Series(self._name, self._unit, tuple(self._at), tuple(self._values))
