"""Models loaded and checkpoints restored, by the inner functions that every public spelling reaches."""

from __future__ import annotations

import hashlib
import os

from hotloop.record.log import Log
from hotloop.record.probes.watch import Depth, keras2, part, watch_outermost

SAVING = keras2("saving.saving_lib")
LEGACY = ("keras.src.legacy.saving.legacy_h5_format", *keras2("saving.legacy.hdf5_format"))
TENSORFLOW = (
    (("tensorflow.python.saved_model.load",), "load_partial", "saved_model.load"),
    (("tensorflow.python.saved_model.loader_impl:SavedModelLoader",), "load", "saved_model.load"),
    (("tensorflow.python.checkpoint.checkpoint:Checkpoint",), "restore", "Checkpoint.restore"),
    (("tensorflow.python.training.saver:Saver",), "restore", "Saver.restore"),
)
KERAS = (
    (SAVING, "load_model", "load_model"),
    (SAVING, "load_weights_only", "load_weights"),
    (LEGACY, "load_model_from_hdf5", "load_model"),
)

_depth = Depth()


def install_tensorflow(log: Log) -> None:
    _install(log, TENSORFLOW)


def install_keras(log: Log) -> None:
    _install(log, KERAS)


def _install(log: Log, targets: tuple[tuple[tuple[str, ...], str, str], ...]) -> None:
    missing = []
    for owner, name, shown in targets:
        try:
            _watch_load(log, part(*owner), name, shown)
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
