"""Eager concatenations of something large with something more: all of it is copied each time."""

from __future__ import annotations

from itertools import count
from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes.watch import FAILED, part, watch

LARGE = 50_000  # elements in one part: below, the copy costs less than the call
FEW = 4  # parts: a list of many is one concatenation at the end, the cure
ONE_IN = 4  # that is looked at and stands for the others


def install(log: Log) -> None:
    ops = part("tensorflow.python.ops.gen_array_ops")
    tensor = part("tensorflow.python.framework.ops:EagerTensor")
    seen = count(1)

    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parts = kwargs.get("values") or args[0]
        if len(parts) > FEW or not isinstance(parts[0], tensor) or not isinstance(parts[-1], tensor):
            return None
        elements = max(parts[0]._num_elements(), parts[-1]._num_elements())
        return elements if elements >= LARGE and next(seen) % ONE_IN == 0 else None

    def ends(elements: Any, seconds: float, result: Any) -> None:
        if result is FAILED:
            return
        size = float(elements * result.dtype.size)
        tally = log.tally("concat", "", log.frames.here())
        tally.add(seconds * ONE_IN, {"bytes": size * ONE_IN}, {"bytes": size}, count=ONE_IN)

    watch(log, ops, "concat_v2", begins, ends)
