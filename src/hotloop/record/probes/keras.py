"""Keras loops: each `fit`, `evaluate` and `predict` that the user called, its rows and its batches' times."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from hotloop.model import Place
from hotloop.record.frames import Stack
from hotloop.record.log import Log, places
from hotloop.record.probes.data import Pipelines
from hotloop.record.probes.switches import Switches
from hotloop.record.probes.watch import FAILED, keras_part, watch
from hotloop.record.track import Track

KINDS = {"fit": "train", "evaluate": "test", "predict": "predict"}
DEFAULT_BATCH = 32  # Keras' own
CALLS = 500  # told apart by all the lines that led to them
TRAINER = ("backend.tensorflow.trainer:TensorFlowTrainer", "engine.training:Model")
COMPILER = ("trainers.trainer:Trainer", "engine.training:Model")
CALLBACKS = ("callbacks.callback_list:CallbackList", "callbacks:CallbackList")


class _Call(threading.local):
    """The Keras call that this thread is in."""

    kind = ""
    track: Track | None = None
    batches = 0
    began = 0  # the batch that is not over; Keras also begins one to find that there are no more


class KerasLoops:
    """One track per kind and line. No callback is added: by those Keras decides when to wait for results."""

    def __init__(self, tracks: list[Track], switches: Switches, pipelines: Pipelines) -> None:
        self._tracks = tracks
        self._pipelines = pipelines
        self._switches = switches
        self._compiled: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # where each model was
        self._by_key: dict[tuple[str, Stack], Track] = {}
        self._call = _Call()

    def install(self, log: Log, package: str) -> None:
        trainer, callbacks = keras_part(package, *TRAINER), keras_part(package, *CALLBACKS)
        for kind, stage in KINDS.items():
            watch(log, trainer, kind, self._begins(log, kind), self._ends(log, kind))
            watch(log, callbacks, f"on_{stage}_batch_begin", self._batch_begins(kind), _pass)
            watch(log, callbacks, f"on_{stage}_batch_end", self._batch_ends(kind), _pass)
        for name, kind in (("on_epoch_begin", "epoch"), ("on_train_end", "epoch.end")):
            watch(log, callbacks, name, self._epoch(log, kind), _pass)

    def install_compile(self, log: Log, package: str) -> None:
        def compiled(model: Any, seconds: float, result: Any) -> None:
            stack = log.frames.here()
            if result is FAILED or not stack:
                return
            again = model in self._compiled
            self._compiled[model] = f"{stack[0][0]}:{stack[0][1]}"
            log.emit("compile", seconds=seconds, stack=stack, totals={"again": float(again)})

        watch(log, keras_part(package, *COMPILER), "compile", lambda args, kwargs: args[0], compiled)

    def _begins(self, log: Log, kind: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
        def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            call = self._call
            if call.track is not None and not log.frames.called_by_user():
                return None  # the validation inside a fit
            stack = log.frames.here()
            if not stack:
                return None
            before = (call.kind, call.track, call.batches, call.began)
            call.kind, call.track, call.batches, call.began = kind, self._track(kind, stack), 0, 0
            call.track.marks.append(perf_counter_ns())
            x = args[1] if len(args) > 1 else kwargs.get("x")
            eagerly = self._eagerly(args[0])
            return before, stack, _rows(x), _batch_size(kind, args, kwargs), log.traced, eagerly

        return enter

    def _ends(self, log: Log, kind: str) -> Callable[[Any, float, Any], None]:
        def leave(state: Any, seconds: float, result: Any) -> None:
            before, stack, rows, size, traced, eagerly = state
            call = self._call
            if call.track is not None:
                if result is FAILED and call.began:  # somebody stopped it in the middle
                    call.track.ticks.append(call.began)
                    call.batches += 1
                call.track.marks.append(-perf_counter_ns())
            batches = call.batches
            call.kind, call.track, call.batches, call.began = before
            log.handed += rows
            tracing = log.traced - traced
            log.emit(
                kind,
                seconds=seconds,
                stack=stack,
                totals={"rows": rows, "batches": batches, "trace_seconds": tracing, "eager": bool(eagerly) * 1.0},
                example={"rows": rows, "batch_size": size, "trace_seconds": round(tracing, 6), "eagerly": eagerly},
            )

        return leave

    def _eagerly(self, model: Any) -> str:
        """The line that made this model run eagerly; "" when it is compiled."""
        itself = getattr(model, "_run_eagerly", False)
        return self._switches.eagerly or (self._compiled.get(model, "?") if itself else "")

    def _batch_begins(self, kind: str) -> Callable[[tuple[Any, ...], dict[str, Any]], None]:
        def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if self._call.kind == kind:
                self._call.began = perf_counter_ns()

        return enter

    def _batch_ends(self, kind: str) -> Callable[[tuple[Any, ...], dict[str, Any]], None]:
        def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            call = self._call
            if call.kind == kind and call.track is not None and call.began:
                call.track.ticks.append(call.began)
                call.began = 0
                call.batches += 1
                self._pipelines.look_if_due()

        return enter

    def _epoch(self, log: Log, kind: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
        def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if self._call.track is not None:
                log.emit(kind)

        return enter

    def _track(self, kind: str, stack: Stack) -> Track:
        track = self._by_key.get((kind, stack))
        if track is None and len(self._by_key) >= CALLS:
            stack = stack[:1]
            track = self._by_key.get((kind, stack))
        if track is None:
            path, line = stack[0]
            place = Place(path, line, 0, line, 0)
            track = self._by_key[kind, stack] = Track(place, kind, "", stack=places(stack))
            self._tracks.append(track)
        return track


def _pass(state: Any, seconds: float, result: Any) -> None:
    """There is nothing to see after the call."""


def _batch_size(kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    position = 2 if kind == "predict" else 3
    size = args[position] if len(args) > position else kwargs.get("batch_size")
    return size if isinstance(size, int) else DEFAULT_BATCH


def _rows(x: Any) -> int:
    """Rows of what was given, where that can be known without touching it."""
    while isinstance(x, list | tuple | dict) and x:
        first = next(iter(x.values())) if isinstance(x, dict) else x[0]
        if not hasattr(first, "shape"):
            break
        x = first
    shape = getattr(x, "shape", None)
    if shape is not None and len(shape):
        return int(shape[0] or 0)
    return len(x) if isinstance(x, list | tuple) else 0
