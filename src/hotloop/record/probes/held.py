"""Who holds memory: lists and dicts of the user's that fill up with tensors or arrays while a loop runs."""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hotloop.garbage import collection_off
from hotloop.record.frames import Stack
from hotloop.record.log import Log
from hotloop.record.threads import Threads

HELD_EVERY = 0.04  # seconds between looks at first
HELD_MOST = 2.0
MANY = 16  # items: shorter containers are no habit
MUCH = 4e6  # bytes: less is not worth a word
Kind = tuple[type, Callable[[Any], float]]  # and how many bytes one holds
DEEP = 3  # frames of the user's that are looked into, innermost first


@dataclass(frozen=True)
class _Named:
    """What holds something, and the line that fills it in the code where that stands, if it is seen to."""

    name: str
    line: int
    code: types.CodeType | None
    items: int = 0


class Holders:
    """Looks into the variables of the user's running frames, from the recorder's thread. Made in the main thread."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._known: dict[int, _Named] = {}
        self._users_modules: dict[str, bool] = {}
        self._threads = Threads()
        self._thread = self._threads.current()

    def look(self) -> None:
        tensor = getattr(sys.modules.get("tensorflow.python.framework.ops"), "EagerTensor", None)
        if tensor is None or self._log.deaf:
            return
        kinds: dict[str, Kind] = {
            "held": (tensor, lambda item: (item.shape.num_elements() or 0) * item.dtype.size),
            "held.arrays": (sys.modules["numpy"].ndarray, lambda item: item.nbytes),
        }
        with collection_off():
            for frame in self._users():
                self._look_into(frame, kinds)

    def _users(self) -> Iterator[types.FrameType]:
        frame, left = self._threads.frame(self._thread), DEEP
        while frame is not None and left:
            if self._log.frames.shown(frame.f_code.co_filename):
                left -= 1
                yield frame
            frame = frame.f_back

    def _look_into(self, frame: types.FrameType, kinds: Mapping[str, Kind]) -> None:
        for name, value, owner in self._variables(frame):
            if not isinstance(value, list | dict | deque) or len(value) < MANY:
                continue
            some = _some(value)
            for event, kind in kinds.items():
                size = sum(_bytes(item, kind) for item in some) / len(some) * len(value)
                if size >= MUCH:
                    named = self._named(value, name, frame.f_code, owner)
                    example = {"bytes": size, "items": len(value), "at": round(self._log.now(), 3)}
                    self._log.tally(event, named.name, self._stack(frame, named)).add(0.0, example=example)

    def _named(self, value: Any, name: str, code: types.CodeType, owner: type | None) -> _Named:
        """As it was seen first: what hangs on an object has another name in each function that knows the object.

        One that has become shorter is another.
        """
        known = self._known.get(id(value))
        if known is None or known.items > len(value) or (known.name != name and "." not in name):
            line = _filling(code, name)
            filled, where = (line, code) if line else _filled_by(owner, name)
            known = _Named(name, filled, where)
        self._known[id(value)] = known = replace(known, items=len(value))
        return known

    def _variables(self, frame: types.FrameType) -> Iterator[tuple[str, Any, type | None]]:
        """What a frame names, what lies in small dicts of that, and what hangs on objects of the user's own classes:
        this with its class."""
        for name, value in _named(frame):
            yield name, value, None
            if isinstance(value, dict) and len(value) < MANY:
                yield from ((f'{name}["{key}"]', v, None) for key, v in list(value.items()) if isinstance(key, str))
            elif name != "self" and self._is_users(type(value)):
                hanging = getattr(value, "__dict__", {})
                yield from ((f"{name}.{key}", v, type(value)) for key, v in list(hanging.items()))

    def _is_users(self, kind: type) -> bool:
        module = kind.__module__
        if module not in self._users_modules:
            file = getattr(sys.modules.get(module), "__file__", None)
            self._users_modules[module] = bool(file and self._log.frames.shown(file))
        return self._users_modules[module]

    def _stack(self, frame: types.FrameType, named: _Named) -> Stack:
        """With the line that fills it in place of the one that just ran, or above it where another function does."""
        stack = self._log.frames.stack(frame)
        if named.code is None:
            return stack
        filled = self._log.frames.shown(named.code.co_filename), named.line
        return (filled, *(stack[1:] if frame.f_code is named.code else stack))


def _filled_by(owner: type | None, name: str) -> tuple[int, types.CodeType | None]:
    """The line of a method that fills what hangs on `self`."""
    itself = f"self.{name.rpartition('.')[2]}"
    for method in vars(owner).values() if owner else ():
        if isinstance(method, types.FunctionType) and (line := _filling(method.__code__, itself)):
            return line, method.__code__
    return 0, None


def _filling(code: types.CodeType, name: str) -> int:
    """The first line of a function that puts something into a variable of its; 0 where none is seen to."""
    fills = re.compile(
        re.escape(name) + r"\s*(\.(append|appendleft|extend|insert|setdefault|update)\(|\[.*\]\s*=[^=]|\+=)"
    )
    lines = sorted({line for _, _, line in code.co_lines() if line})
    said = ((line, linecache.getline(code.co_filename, line).replace("'", '"')) for line in lines)
    return next((line for line, text in said if fills.search(text)), 0)


def _named(frame: types.FrameType) -> Iterator[tuple[str, Any]]:
    """Its locals (of a module: its globals), what hangs on `self`, and the globals that it uses."""
    seen = dict(frame.f_locals)
    yield from seen.items()
    mine = getattr(seen.get("self"), "__dict__", None)
    if isinstance(mine, Mapping):
        yield from ((f"self.{name}", value) for name, value in list(mine.items()))
    if frame.f_globals is not frame.f_locals:
        used = frame.f_code.co_names
        yield from ((name, frame.f_globals[name]) for name in used if name in frame.f_globals)


def _some(container: Any) -> list[Any]:
    """A few of its items, which stand for all."""
    values = list(container.values()) if isinstance(container, dict) else container
    return [values[index * (len(values) - 1) // 4] for index in range(5)]


def _bytes(item: Any, kind: Kind) -> float:
    its_type, size = kind
    if isinstance(item, its_type):
        return size(item)
    if isinstance(item, tuple | list) and len(item) <= 8:
        return sum(_bytes(one, kind) for one in item)
    return 0.0
