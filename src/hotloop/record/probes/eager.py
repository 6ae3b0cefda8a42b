"""Eager execution: operations dispatched, gradients taken, updates applied."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes import doubles
from hotloop.record.probes.watch import FAILED, Depth, disguise, keras_part, part, watch, watch_outermost

COUNTED_FIRST = 10_000  # operations that are all counted and timed, before only some windows are
ONE_WINDOW_IN = 8  # counting all costs 4% of a loop of tiny operations, timing them 3% more
SLOW = 20  # operations a window: when they are so few, each is long, and watching them all costs nothing
LATEST = 64  # calls of an operation, by which the next are judged
FAR = 4.0  # times what three in four of its like take: the machine was busy with something else
ENOUGH = 16  # operations, of which the quick ones show what a call costs that computes next to nothing

_applying = Depth()


class OpCounter:
    """Eager operations, and an estimate of the seconds that their kernels computed, window by window.

    All of the first 10,000 are counted and timed; then one window in eight is, and stands for the others. A call
    of the C++ side is dispatch and kernel: most operations of most programs are small, so that the lower quartile
    of a window is what dispatch costs on this machine, and what a call takes beyond twice that is its kernel. A call
    that takes far longer than its like was interrupted.
    """

    def __init__(self) -> None:
        self._module: Any = None
        self._is_open = False
        self._windows = 0
        self._taken: list[tuple[str, float]] = []  # operation, seconds
        self._usual: dict[str, deque[float]] = {}  # by operation, its latest
        self._dispatch = 1e-4
        self.stands_for = 1  # windows, of which the one that is open is one
        self.beside: Callable[[bool], None] | None = None  # what else is open with a window

    def install(self, log: Log) -> None:
        module = part("tensorflow.python.pywrap_tfe")
        execute = self._execute = part("tensorflow.python.pywrap_tfe:TFE_Py_FastPathExecute")
        note = self._taken.append
        self._counted_before = 0

        @functools.wraps(execute)
        def counted(*args: Any) -> Any:
            started = perf_counter()
            result = None
            try:
                result = execute(*args)
                return result
            finally:
                seconds = perf_counter() - started
                note((args[1] if len(args) > 1 else "", seconds))
                if seconds > doubles.LONG and result is not None:
                    doubles.computed(log, args[1], seconds * self.stands_for, result)

        disguise(counted, execute, str(module.__file__))
        self._counted = counted
        self._module = module
        self._open(True)

    def _open(self, is_open: bool) -> None:
        self._is_open = is_open
        self._module.TFE_Py_FastPathExecute = self._counted if is_open else self._execute
        if self.beside is not None:
            self.beside(is_open)

    def rest(self) -> None:
        """Count nothing until the next window."""
        if self._module is not None:
            self._open(False)

    def look(self) -> tuple[int, float] | None:
        """A window ends, the next begins: its operations and their seconds, None where nobody counted."""
        if self._module is None:
            return None
        was_open, taken = self._is_open, self._taken[:]
        del self._taken[: len(taken)]
        self._counted_before += len(taken)
        self._windows += 1
        few = was_open and len(taken) < SLOW
        everything = few or self._counted_before < COUNTED_FIRST
        is_open = everything or self._windows % ONE_WINDOW_IN == 0
        self.stands_for = 1 if everything else ONE_WINDOW_IN
        if is_open != was_open:
            self._open(is_open)
        return (len(taken), self._kernels(taken)) if was_open else None

    def _kernels(self, taken: list[tuple[str, float]]) -> float:
        if len(taken) >= ENOUGH:
            self._dispatch = sorted(seconds for _, seconds in taken)[len(taken) // 4]
        for name, seconds in taken:
            self._usual.setdefault(name, deque(maxlen=LATEST)).append(seconds)
        most = {name: FAR * sorted(self._usual[name])[len(self._usual[name]) * 3 // 4] for name in dict(taken)}
        return sum(max(0.0, min(seconds, most[name]) - 2.0 * self._dispatch) for name, seconds in taken)


def install_gradients(log: Log) -> None:
    tape = part("tensorflow.python.eager.backprop:GradientTape")
    eagerly = _eagerly()
    watch(log, tape, "gradient", eagerly, _emits(log, "gradient"))


def install_updates(log: Log, package: str) -> None:
    """`apply` and `apply_gradients` call each other in some versions: the outermost counts."""
    optimizer = keras_part(package, "optimizers.base_optimizer:BaseOptimizer", "optimizers.optimizer:Optimizer")
    eagerly = _eagerly()
    for name in ("apply_gradients", "apply") if hasattr(optimizer, "apply") else ("apply_gradients",):
        watch_outermost(log, _applying, optimizer, name, eagerly, _emits(log, "apply"))


def install_v1_updates(log: Log) -> None:
    optimizer = part("tensorflow.python.training.optimizer:Optimizer")
    watch_outermost(log, _applying, optimizer, "apply_gradients", _eagerly(), _emits(log, "apply"))


def _emits(log: Log, kind: str) -> Callable[[Any, float, Any], None]:
    def leave(state: Any, seconds: float, result: Any) -> None:
        if result is not FAILED:
            log.emit(kind, seconds=seconds)

    return leave


def _eagerly() -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    executing_eagerly = part("tensorflow.python.eager.context:executing_eagerly")
    return lambda args, kwargs: True if executing_eagerly() else None
