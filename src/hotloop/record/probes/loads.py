"""Models loaded and checkpoints restored, by the inner functions that every public spelling reaches."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterable
from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes.watch import Depth, keras_part, part, watch_outermost

SAVING = ("saving.saving_lib", "saving.saving_lib")
LEGACY = ("legacy.saving.legacy_h5_format", "saving.legacy.hdf5_format")
TENSORFLOW = (
    ("tensorflow.python.saved_model.load", "load_partial", "saved_model.load"),
    ("tensorflow.python.saved_model.loader_impl:SavedModelLoader", "load", "saved_model.load"),
    ("tensorflow.python.checkpoint.checkpoint:Checkpoint", "restore", "Checkpoint.restore"),
    ("tensorflow.python.training.saver:Saver", "restore", "Saver.restore"),
)
KERAS = (
    (SAVING, "load_model", "load_model"),
    (SAVING, "load_weights_only", "load_weights"),
    (LEGACY, "load_model_from_hdf5", "load_model"),
)

_depth = Depth()


def install_tensorflow(log: Log) -> None:
    _install(log, [(functools.partial(part, place), name, shown) for place, name, shown in TENSORFLOW])


def install_keras(log: Log, package: str) -> None:
    _install(log, [(functools.partial(keras_part, package, *places), name, shown) for places, name, shown in KERAS])


def _install(log: Log, targets: Iterable[tuple[Callable[[], Any], str, str]]) -> None:
    missing = []
    for owner, name, shown in targets:
        try:
            _watch_load(log, owner(), name, shown)
        except LookupError as error:
            missing.append(str(error))
    if missing:
        raise LookupError(", ".join(missing))


def _watch_load(log: Log, owner: object, name: str, shown: str) -> None:
    watch_outermost(
        log,
        _depth,
        owner,
        name,
        lambda args, kwargs: _digest(*args, *kwargs.values()),
        lambda state, seconds, result: log.emit("load", shown, seconds, example={"source": state}),
    )


def _digest(*arguments: object) -> str:
    """Tells one model from another without keeping the user's paths."""
    path = next((os.fspath(a) for a in arguments if isinstance(a, str | os.PathLike)), "")
    return hashlib.sha256(str(path).encode("utf-8", "replace")).hexdigest()[:12]
