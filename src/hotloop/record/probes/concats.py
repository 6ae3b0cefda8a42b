"""Eager concatenations of something large with something more: all of it is copied each time."""

from __future__ import annotations

from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes.watch import FAILED, part, watch

LARGE = 16_000  # elements in the first part: below, the copy costs less than the call
FEW = 4  # parts: a list of many is one concatenation at the end, the cure


def install(log: Log) -> None:
    ops = part("tensorflow.python.ops.gen_array_ops")
    tensor = part("tensorflow.python.framework.ops:EagerTensor")

    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parts = kwargs.get("values") or args[0]
        if len(parts) > FEW or not isinstance(parts[0], tensor):
            return None
        elements = max(one.shape.num_elements() or 0 for one in parts[:2])
        return elements if elements >= LARGE else None

    def ends(elements: Any, seconds: float, result: Any) -> None:
        if result is not FAILED:
            size = float(elements * result.dtype.size)
            log.emit("concat", seconds=seconds, totals={"bytes": size}, example={"bytes": size})

    watch(log, ops, "concat_v2", begins, ends)
