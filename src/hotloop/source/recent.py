"""What was found out about a module, kept for the next rule that asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from hotloop.source.module import Module

T = TypeVar("T")

RECENT = 64  # modules: rules ask about one after the other, and a large project has thousands


class Recent(Generic[T]):
    """One answer per module; of old modules, none. A module belongs to one project, so that it says enough."""

    def __init__(self) -> None:
        self._kept: dict[Module, T] = {}

    def of(self, module: Module, find: Callable[[], T]) -> T:
        if module not in self._kept:
            found = find()
            while len(self._kept) >= RECENT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[module] = found
        return self._kept[module]
