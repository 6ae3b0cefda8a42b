"""What was found out about a module, noted on it for whoever asks next; it goes when the module goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

from hotloop.source.module import Module

T = TypeVar("T")


class Noted(Generic[T]):
    """One answer per module. A module belongs to one project, so that it says enough."""

    def of(self, module: Module, find: Callable[[], T]) -> T:
        if self not in module.notes:
            module.notes[self] = find()
        return cast("T", module.notes[self])
