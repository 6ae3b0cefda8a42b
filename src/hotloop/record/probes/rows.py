"""What is done row by row or held for long: `tf.map_fn`, and tapes that stay open around many steps."""

from __future__ import annotations

import weakref
from time import perf_counter
from typing import Any

from hotloop.record.log import Log
from hotloop.record.memory import rss_reader
from hotloop.record.probes.watch import FAILED, part, watch

LONG = 0.2  # seconds that a tape is open, from which it may hold many steps


def install_map_fn(log: Log) -> None:
    module = part("tensorflow.python.ops.map_fn")

    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        elements = kwargs["elems"] if "elems" in kwargs else args[1]
        first = elements
        while isinstance(first, tuple | list | dict) and first:
            first = next(iter(first.values())) if isinstance(first, dict) else first[0]
        rows = getattr(first, "shape", None)
        return (int(rows[0] or 0),) if rows is not None and len(rows) else (0,)

    def ends(state: Any, seconds: float, result: Any) -> None:
        if result is FAILED:
            return
        first = result
        while isinstance(first, tuple | list) and first:
            first = first[0]
        line = _made_at(first, log)
        log.emit("map_fn", line, seconds, totals={"rows": float(state[0])}, example={"traced": bool(line)})

    watch(log, module, "map_fn", begins, ends)


def _made_at(tensor: Any, log: Log) -> str:
    """The user's line of an operation of a graph; "" for an eager result."""
    try:
        lines = [f"{s}:{f.lineno}" for f in tensor.op.traceback if (s := log.frames.shown(f.filename))]
    except (AttributeError, TypeError):
        return ""
    return lines[-1] if lines else ""


def install_tapes(log: Log) -> None:
    tape = part("tensorflow.python.eager.backprop:GradientTape")
    opened: weakref.WeakKeyDictionary[Any, tuple[float, int]] = weakref.WeakKeyDictionary()
    rss = rss_reader()

    def enters(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        opened[args[0]] = (perf_counter(), rss())

    def leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        since, before = opened.pop(args[0], (perf_counter(), 0))
        seconds = perf_counter() - since
        if seconds > LONG:
            log.emit("tape", seconds=seconds, totals={"bytes": float(max(0, rss() - before))})

    watch(log, tape, "__enter__", enters, lambda state, seconds, result: None)
    watch(log, tape, "__exit__", leaves, lambda state, seconds, result: None)
