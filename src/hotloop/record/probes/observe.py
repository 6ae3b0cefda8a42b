"""Values that leave TensorFlow for Python, in few words each, so that two runs can be compared."""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Mapping
from typing import Any

from hotloop.record.frames import Frames, is_ours, package_of
from hotloop.record.log import Log
from hotloop.record.probes.watch import FAILED, keras2, part, watch

CEILING = 2000
HEAD = 4
_METHODS = ("tensorflow/python/framework/ops.py", "tensorflow/python/ops/resource_variable_ops.py")


class Observer:
    def __init__(self, kept: list[Mapping[str, Any]]) -> None:
        self.kept = kept
        self.count = 0

    def install_sessions(self, log: Log) -> None:
        session = part("tensorflow.python.client.session:BaseSession")
        watch(log, session, "run", lambda args, kwargs: True, self._leaves("session.run"))

    def install_tensors(self, log: Log) -> None:
        tensor = part("tensorflow.python.framework.ops:_EagerTensorBase")
        watch(
            log,
            tensor,
            "_numpy",  # numpy(), float(), int(), bool(), np.asarray() and formatting all go through it
            lambda args, kwargs: True if _asked_by_user(log.frames) else None,
            self._leaves("numpy"),
        )

    def install_keras(self, log: Log) -> None:
        trainer = part("keras.src.backend.tensorflow.trainer:TensorFlowTrainer", *keras2("engine.training:Model"))
        watch(log, trainer, "predict", lambda args, kwargs: True, self._leaves("predict"))

    def _leaves(self, kind: str) -> Any:
        def leave(state: Any, seconds: float, result: Any) -> None:
            if result is not FAILED:
                for value in _flat(result):
                    self._see(kind, value)

        return leave

    def _see(self, kind: str, value: Any) -> None:
        self.count += 1
        if len(self.kept) < CEILING:
            self.kept.append(_in_few_words(kind, value))


def seed_everything(seed: int) -> None:
    """After TensorFlow's import and before the program goes on."""
    random.seed(seed)
    numpy, tensorflow = sys.modules.get("numpy"), sys.modules.get("tensorflow")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    if tensorflow is not None:
        tensorflow.random.set_seed(seed)


def _asked_by_user(frames: Frames) -> bool:
    """Only the tensor's own methods, and NumPy, may lie between: TensorFlow looks into tensors for itself too."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if frames.shown(filename):
            return True
        if not (is_ours(frame) or filename.endswith(_METHODS) or package_of(filename) == "numpy"):
            return False
        frame = frame.f_back
    return False


def _flat(result: Any) -> list[Any]:
    if isinstance(result, list | tuple):
        return [leaf for item in result for leaf in _flat(item)]
    if isinstance(result, dict):
        return [leaf for key in sorted(result, key=str) for leaf in _flat(result[key])]
    return [] if result is None else [result]


def _in_few_words(kind: str, value: Any) -> dict[str, Any]:
    import numpy

    array = numpy.asarray(value)
    words: dict[str, Any] = {"kind": kind, "dtype": str(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind not in "biufc":
        return words | {"sum": 0.0, "abs_sum": 0.0, "head": [str(item)[:60] for item in array.ravel()[:HEAD]]}
    numbers = array.ravel()
    if array.dtype.kind == "c":
        numbers = numbers.view(numbers.real.dtype)
    numbers = numbers.astype("float64")
    return words | {
        "sum": float(numpy.nansum(numbers)),
        "abs_sum": float(numpy.nansum(numpy.abs(numbers))),
        "head": [float(number) for number in numbers[:HEAD]],
    }
