"""Turns at the interpreter's lock: ours comes soon, and the program cannot tell.

A thread that wants the lock waits for the one that has it to let go, or for Python's switch interval, 5 ms, to pass.
A program whose Python takes less than that between two calls into TensorFlow would always be seen inside TensorFlow,
where it lets go. So the interval is short while we wait, provided that nobody else does: for a thread of the program's
own, another interval would be another program.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable

from hotloop.garbage import collection_off
from hotloop.record.threads import Threads

SOON = 0.0001  # seconds
BUSY = 100  # waits for which the program's own interval is left alone once another of its threads was seen at work
RESTS = {("threading.py", "wait"), ("queue.py", "get"), ("selectors.py", "select"), ("thread.py", "_worker")}

_all: weakref.WeakSet[Turns] = weakref.WeakSet()


class Turns:
    """Must be made by the thread that is watched, and asked to wait by the one that watches."""

    def __init__(self) -> None:
        self._get, self._set = sys.getswitchinterval, sys.setswitchinterval
        self._own = self._get()
        self._busy = 0
        self._threads = Threads()
        self._watched = self._threads.current()
        _all.add(self)

    def hide(self) -> Callable[[], None]:
        """Let the program read and set the interval as if we were not there; what is returned undoes it."""
        own = self._get, self._set

        def getswitchinterval() -> float:
            return self._own

        def setswitchinterval(interval: float, /) -> None:
            self._set(interval)
            self._own = self._get()

        for mask, real in zip((getswitchinterval, setswitchinterval), own, strict=True):
            mask.__doc__, mask.__module__, mask.__qualname__ = real.__doc__, real.__module__, real.__qualname__
        sys.getswitchinterval, sys.setswitchinterval = getswitchinterval, setswitchinterval

        def undo() -> None:
            sys.getswitchinterval, sys.setswitchinterval = own

        return undo

    def wait(self, acquire: Callable[[float], bool], seconds: float) -> bool:
        """What `acquire` says after so many seconds at most."""
        self._busy = self._busy - 1 if self._busy else BUSY * (not self._others_rest())
        if self._busy or self._own <= SOON:
            return acquire(seconds)
        self._set(SOON)
        try:
            return acquire(seconds)
        finally:
            self._set(self._own)

    def give_back(self) -> None:
        self._set(self._own)

    def _others_rest(self) -> bool:
        """Whether all threads but the watched one and ours wait for something other than the lock."""
        with collection_off():
            known = (self._watched, self._threads.current())
            return all(self._rests(thread) for thread in self._threads.all() if thread not in known)

    def _rests(self, thread: int) -> bool:
        frame = self._threads.frame(thread)
        if frame is None:
            return False  # one of TensorFlow's own, about to call Python
        return (os.path.basename(frame.f_code.co_filename), frame.f_code.co_name) in RESTS


def give_back() -> None:
    """In a process that was forked while we waited."""
    for turns in _all:
        turns.give_back()
