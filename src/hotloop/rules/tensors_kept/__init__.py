"""Large tensors are kept in a list in every step of a loop, and only a small part of them is used later.

**Why**

A tensor lives as long as something refers to it. A list of model outputs, activations, images or gradients grows by
megabytes a step, on the GPU in the GPU's own memory, until there is none left. So does a list of tuples with the loss
and the features, of which only the losses are read. A list of scalar losses is small: a kilobyte a step.

**Instead**

Keep what is used: reduce the tensor in the step (`float(tf.reduce_mean(y))`, `tf.argmax(y, -1).numpy()`), update a
`keras.metrics` object, or keep the last few in a `collections.deque(maxlen=...)`.

**Not when**

All of it is needed after the loop, to be concatenated, saved or returned. Then `.numpy()` at least frees the memory of
the device. The fix keeps the number that is made of each tensor later, the last ones where only they are read, or
nothing where nothing is; it is tried before it is written, because numbers are added up in double precision.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hotloop import words
from hotloop.model import Event, Evidence, Finding, Fix, LoopRun, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.loops import InLoop, each, in_loop
from hotloop.rules.tensors_kept.store import Store, uses
from hotloop.rules.tensors_kept.tensors import keys_of, parts_of, size_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
HELD = 20e6  # bytes: less is nobody's trouble
GROWN = 1.2  # times as many items as when it was first seen
MEASURED = "memory"


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in module.calls_of("append"):
            func = call.node.func
            if not (isinstance(func, ast.Attribute) and func.attr == "append" and len(call.node.args) == 1):
                continue
            value = call.node.args[0]
            size = size_of(value, call.where.scope, project)
            found = in_loop(project, call.where) if size else None
            store = Store.of(func.value, call, found, project) if found else None
            if found is None or store is None:
                continue
            several = parts_of(value, call.where.scope, project)
            judged = _judged(found, size, uses(store, several, keys_of(value)))
            if judged:
                what = "with its tensors" if several else "as a tensor"
                message = (
                    f"`{ast.unparse(value)}` is appended to `{store.spelled}` {what} {each(judged, call.place)} "
                    f"and stays in memory. {_cure(size)}"
                )
                yield RULE.finding(call.place, message, **judged.where)


def _judged(found: InLoop, size: str, used: str) -> InLoop | None:
    """As sure as the later use makes us: all of it is needed (silence), a part, or nothing."""
    if used == "whole":
        return None
    if size == "scalar":
        return found.lowered().lowered()
    return found if used == "nothing" else found.lowered()


def _cure(size: str) -> str:
    if size == "scalar":
        return "Append `float(...)` of it, or update a `keras.metrics.Mean`."
    return "Keep only what is used later: reduce it in the step, or take a `deque` with a `maxlen`."


def diagnose(recording: Recording) -> Iterator[Finding]:
    kept: dict[tuple[str, LoopRun], list[tuple[Event, Mapping[str, Any]]]] = {}
    for event in recording.of_kind("held"):
        loop = measured.loop_of(recording, event)
        if loop is not None:
            kept.setdefault((event.subject, loop), []).extend((event, example) for example in event.examples)
    for (name, loop), seen in kept.items():
        seen.sort(key=lambda one: float(one[1]["at"]))
        first, last = seen[0][1], seen[-1][1]
        held, items = float(last["bytes"]), int(last["items"])
        if held < HELD or items < GROWN * int(first["items"]):
            continue
        yield measured.told(
            RULE, recording, seen[-1][0].place, 0.0,
            f"`{name}` held {items:,} tensors when last seen, {words.size(held)} in all, and grew with the loop. Keep "
            "only what is used later: reduce them in the step, or turn them into numbers.",
            loop,
            [Evidence("held", held, "bytes"), Evidence("items", items)],
            bytes_per_step=held / max(items, loop.steps),
            confidence="medium",
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.tensors_kept.mend import keep_less

    return keep_less(finding, project)
