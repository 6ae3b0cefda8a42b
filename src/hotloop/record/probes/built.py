"""Keras objects that the user's code makes: models, layers, metrics, optimizers, and how many of them are dropped."""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any

from hotloop.record.frames import Frames, Stack, is_ours
from hotloop.record.log import Log, Tally
from hotloop.record.probes.watch import FAILED, keras_part, watch

MADE = (
    ("layers.layer:Layer", "engine.base_layer:Layer"),
    ("metrics.metric:Metric", "engine.base_layer:Layer"),  # in Keras 2, a metric is a layer
    ("optimizers.base_optimizer:BaseOptimizer", "optimizers.optimizer:Optimizer"),
)
MODEL = ("models.model:Model", "engine.training:Model")
_CONSTRUCTORS = frozenset(
    {"__init__", "__new__", "__call__", "wrapper", "_method_wrapper", "_wrap_function", "error_handler"}
)


def install(log: Log, package: str) -> None:
    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        stack = _maker(log.frames)
        return (args[0], stack) if stack else None

    def ends(state: Any, seconds: float, result: Any) -> None:
        if result is FAILED:
            return
        made, stack = state
        tally = log.tally("built", type(made).__name__, stack)
        tally.add(seconds, {"models": float(isinstance(made, model)), "dropped": 0.0})
        weakref.finalize(made, _dropped, tally).atexit = False

    model = keras_part(package, *MODEL)
    for owner in dict.fromkeys(keras_part(package, *places) for places in MADE):
        watch(log, owner, "__init__", begins, ends)


def _dropped(tally: Tally) -> None:
    tally.totals["dropped"] += 1


def _maker(frames: Frames) -> Stack:
    """The user's lines that made an object, from the one outside all constructors; none when a library made it."""
    frame: types.FrameType | None = sys._getframe(1)
    by_library = False
    while frame is not None:
        code = frame.f_code
        if frames.shown(code.co_filename):
            if code.co_name != "__init__":  # a layer of the user's own model is part of that model
                return () if by_library else frames.stack(frame)
        elif code.co_name == "clone_model":  # whoever calls it makes all that is in the copy
            by_library = False
        elif code.co_name not in _CONSTRUCTORS and "applications" not in code.co_filename and not is_ours(frame):
            by_library = True
        frame = frame.f_back
    return ()
