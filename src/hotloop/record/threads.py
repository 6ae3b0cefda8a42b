"""Python's threads: which there are, and where each of them is now."""

from __future__ import annotations

import ctypes
import types
from collections.abc import Iterator


class Threads:
    """Threads go by the address of what Python knows of them.

    Not `sys._current_frames`: before Python 3.11.9 it hangs when garbage is collected inside it and a
    `threading.local` goes, and every graph of TensorFlow has one. For the same reason collection must be off
    while threads are gone through or a frame's `f_back`s are followed: a finalizer may let the others run on, and what
    was being read is gone.
    """

    def __init__(self) -> None:
        # With prototypes of its own: those of `ctypes.pythonapi` belong to everybody.
        self._python = python = ctypes.PyDLL("python", handle=ctypes.pythonapi._handle)
        for name in ("PyThreadState_Get", "PyInterpreterState_Get"):
            getattr(python, name).restype = ctypes.c_void_p
        # A frame is no `py_object`: one that is NULL crashes Python 3.11.
        for name in ("PyThreadState_GetFrame", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
            getattr(python, name).argtypes, getattr(python, name).restype = [ctypes.c_void_p], ctypes.c_void_p
        python.Py_DecRef.argtypes = [ctypes.c_void_p]
        self._interpreter = python.PyInterpreterState_Get()

    def current(self) -> int:
        return int(self._python.PyThreadState_Get())

    def all(self) -> Iterator[int]:
        thread = self._python.PyInterpreterState_ThreadHead(self._interpreter)
        while thread:
            yield thread
            thread = self._python.PyThreadState_Next(thread)

    def frame(self, thread: int) -> types.FrameType | None:
        """None: it runs no Python code."""
        address = self._python.PyThreadState_GetFrame(thread)
        if not address:
            return None
        frame: types.FrameType = ctypes.cast(address, ctypes.py_object).value
        self._python.Py_DecRef(address)
        return frame
