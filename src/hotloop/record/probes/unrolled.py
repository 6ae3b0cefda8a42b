"""Graphs that hold the same few lines many times over: Python loops that a trace has unrolled, and large constants."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from hotloop.record.frames import Frames
from hotloop.record.log import Log
from hotloop.record.probes.watch import FAILED, part, watch

LARGE = 200  # operations: smaller graphs hold no loop worth naming
LOOKED_AT = 150  # operations whose origin is asked for: 50 microseconds each
BIG = 1_000_000  # bytes of a constant
LAYERS = ("layers/layer.py", "engine/base_layer.py")  # of Keras 3 and 2
CAPTURE = "Placeholder"  # made where something from outside is first used, and once
LOOPS = ("_py_for_stmt", "_py_while_stmt")  # AutoGraph's way of running a loop in Python


def loop_in(graph: Any, frames: Frames) -> dict[str, Any] | None:
    """The loop of the user's that made most of a graph: where, how often it went round, how many operations."""
    operations = graph.get_operations()
    if len(operations) < LARGE:
        return None
    found: dict[str, list[tuple[str, str, bool]]] = {}
    # By chance, but the same each time: every n-th operation may be the same one of the loop's.
    chosen = random.Random(0).sample(operations, min(LOOKED_AT, len(operations)))
    stands_for = len(operations) / len(chosen)
    for operation in chosen:
        loop, line, is_model = _origin(operation, frames)
        if loop:
            found.setdefault(loop, []).append((line, str(operation.type), is_model))
    if not found:
        return None
    loop, seen = max(found.items(), key=lambda item: len(item[1]))
    often = Counter((line, kind) for line, kind, _ in seen)
    times = _rounds(operations, loop, frames) or round(sorted(often.values())[len(often) // 4] * stands_for)
    models = Counter(line for line, _, is_model in seen if is_model)
    gradients = sum(operation.name.startswith("grad") for operation in operations)
    return {
        "loop": loop,
        "times": times,
        "inside": min(len(operations), len(seen) * stands_for + gradients) / len(operations),
        "model": models.most_common(1)[0][0] if models else "",
        "rows": sum(_takes_a_row(o) for o in operations if o.type == "StridedSlice"),
    }


def _rounds(operations: list[Any], loop: str, frames: Frames) -> int:
    """How often a loop went round, by all operations of the rarest kinds; 0 where each kind has too many.

    Where a round is a thousand operations, hardly two of those that were chosen are of one line and one kind.
    """
    kinds: dict[str, list[Any]] = {}
    for operation in operations:
        kinds.setdefault(str(operation.type), []).append(operation)
    seen: Counter[tuple[str, str]] = Counter()
    left = LOOKED_AT
    for kind, some in sorted(kinds.items(), key=lambda item: len(item[1])):
        left -= len(some)
        if left < 0:
            break
        if kind != CAPTURE:
            origins = (_origin(operation, frames) for operation in some)
            seen.update((line, kind) for inside, line, _ in origins if inside == loop)
    return sorted(seen.values())[len(seen) // 4] if seen else 0


def _origin(operation: Any, frames: Frames) -> tuple[str, str, bool]:
    """The unrolled loop that an operation was made in, its line there, and whether a Keras layer made it."""
    loop = line = ""
    is_model = False
    for frame in operation.traceback:
        if shown := frames.shown(frame.filename):
            line, is_model = f"{shown}:{frame.lineno}", False
        elif frame.name in LOOPS and line:
            loop = line
        elif frame.name == "__call__" and frame.filename.endswith(LAYERS):
            is_model = True
    return loop, line, is_model


def _takes_a_row(operation: Any) -> bool:
    """`x[i]` or `x[i : i + 1]`: one example of a batch, not one step of a sequence."""
    whole, part_of = operation.inputs[0].shape, operation.outputs[0].shape
    if whole.rank is None or part_of.rank is None or whole.rank < 2:
        return False
    if part_of.rank == whole.rank:
        return bool(part_of[0] == 1 and whole[0] != 1 and part_of[1:].is_compatible_with(whole[1:]))
    return bool(part_of.rank == whole.rank - 1 and part_of.is_compatible_with(whole[1:]))


def install_constants(log: Log) -> None:
    """Arrays that become part of a graph: a copy in each, and again in what TensorFlow makes of it."""
    ops = part("tensorflow.python.framework.ops")
    older = part("tensorflow.python.framework.constant_op")  # up to 2.12, of eager constants too
    owner, name = (
        (ops, "_create_graph_constant") if hasattr(ops, "_create_graph_constant") else (older, "_constant_impl")
    )
    eagerly = part("tensorflow.python.eager.context:executing_eagerly")

    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        size = int(getattr(args[0], "nbytes", 0)) if args else 0
        return size if size >= BIG and not eagerly() else None

    def ends(state: Any, seconds: float, result: Any) -> None:
        if result is FAILED:
            return
        lines = [f"{s}:{f.lineno}" for f in result.op.traceback if (s := log.frames.shown(f.filename))]
        log.emit("constant", lines[-1] if lines else "", seconds, totals={"bytes": float(state)})

    watch(log, owner, name, begins, ends)
