"""Eager execution: operations dispatched, gradients taken, updates applied, elements waited for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes.watch import FAILED, Depth, disguise, part, watch, watch_outermost

TIMED = 16  # every 16th call is timed and stands for the others: counting costs 2%, timing all 6%
SLOW = 1e-4  # seconds a call on average: from there timing every call costs nothing, and misses nothing
WINDOW = 64  # timed calls, of which the quick ones show what a call costs that computes next to nothing

_applying = Depth()


class OpCounter:
    """Eager operations so far, and an estimate of the seconds that their kernels computed.

    A call of the C++ side is dispatch and kernel. Most ops of most steps are small, so the lower quartile of the
    calls' times is what dispatch costs on this machine; what a call takes beyond that is its kernel.
    """

    def __init__(self) -> None:
        self.read: Callable[[], tuple[int, float]] = lambda: (0, 0.0)

    def install(self, log: Log) -> None:
        pywrap = part("tensorflow.python.pywrap_tfe")
        execute = part("tensorflow.python.pywrap_tfe:TFE_Py_FastPathExecute")
        count, seconds, dispatch = 0, 0.0, 0.0
        every = 1  # a power of two
        window: list[float] = []

        @functools.wraps(execute)
        def counted(*args: Any) -> Any:
            nonlocal count, seconds, dispatch, every
            count += 1
            if count & (every - 1):
                return execute(*args)
            started = perf_counter()
            try:
                return execute(*args)
            finally:
                taken = perf_counter() - started
                window.append(taken)
                if len(window) == WINDOW:
                    dispatch = sorted(window)[WINDOW // 4]
                    every = 1 if sum(window) > WINDOW * SLOW else TIMED
                    window.clear()
                seconds += max(0.0, taken - 2.0 * dispatch) * every

        disguise(counted, execute, str(pywrap.__file__))
        pywrap.TFE_Py_FastPathExecute = counted
        self.read = lambda: (count, seconds)


def install_gradients(log: Log) -> None:
    tape = part("tensorflow.python.eager.backprop:GradientTape")
    eagerly = _eagerly()
    watch(log, tape, "gradient", eagerly, _emits(log, "gradient"))


def install_updates(log: Log) -> None:
    """`apply` and `apply_gradients` call each other in some versions: the outermost counts."""
    optimizer = part("keras.src.optimizers.base_optimizer:BaseOptimizer")
    eagerly = _eagerly()
    for name in ("apply_gradients", "apply"):
        watch_outermost(log, _applying, optimizer, name, eagerly, _emits(log, "apply"))


def install_v1_updates(log: Log) -> None:
    optimizer = part("tensorflow.python.training.optimizer:Optimizer")
    watch_outermost(log, _applying, optimizer, "apply_gradients", _eagerly(), _emits(log, "apply"))


def install_input(log: Log) -> None:
    iterator = part("tensorflow.python.data.ops.iterator_ops:OwnedIterator")
    watch(log, iterator, "__next__", lambda args, kwargs: True, _emits(log, "input"))


def _emits(log: Log, kind: str) -> Callable[[Any, float, Any], None]:
    def leave(state: Any, seconds: float, result: Any) -> None:
        if result is not FAILED:
            log.emit(kind, seconds=seconds)

    return leave


def _eagerly() -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    executing_eagerly = part("tensorflow.python.eager.context:executing_eagerly")
    return lambda args, kwargs: True if executing_eagerly() else None
