"""Values that leave TensorFlow for Python, in few words each, so that two runs can be compared."""

from __future__ import annotations

import functools
import itertools
import random
import sys
import types
from collections.abc import Mapping
from typing import Any

from hotloop.leavings import few_words
from hotloop.record.frames import Frames, is_ours, package_of
from hotloop.record.log import Log
from hotloop.record.probes.keras import TRAINER
from hotloop.record.probes.watch import FAILED, keras_part, part, watch

CEILING = 2000
SCORES = ("fit", "evaluate", "train_on_batch", "test_on_batch")  # losses and metrics: by name here, in a list there
KERAS = ("predict", "predict_on_batch", *SCORES)
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

    def install_keras(self, log: Log, package: str) -> None:
        trainer = keras_part(package, *TRAINER)
        for name in KERAS:
            if hasattr(trainer, name):
                watch(log, trainer, name, lambda args, kwargs: log.frames.called_by_user() or None, self._leaves(name))

    def _leaves(self, kind: str) -> Any:
        def leave(state: Any, seconds: float, result: Any) -> None:
            if result is not FAILED:
                values = _flat(result)
                for value in sorted(values, key=_number) if kind in SCORES else values:
                    self._see(kind, value)

        return leave

    def _see(self, kind: str, value: Any) -> None:
        self.count += 1
        if len(self.kept) < CEILING:
            self.kept.append(few_words(kind, value))


def seed_everything(seed: int) -> None:
    """After an import of NumPy or TensorFlow and before the program goes on."""
    random.seed(seed)
    numpy: Any = sys.modules.get("numpy")
    tensorflow: Any = sys.modules.get("tensorflow")
    if hasattr(numpy, "random"):
        numpy.random.seed(seed % 2**32)
        _seed_generators(numpy.random, seed)
    if hasattr(tensorflow, "random"):
        tensorflow.random.set_seed(seed)


def seed_graphs(log: Log, seed: int) -> None:
    """A graph that the program makes, or gets for the default one that it drops, has no seed of its own."""

    def made(graph: Any, seconds: float, result: Any) -> None:
        if result is not FAILED and graph.seed is None:
            graph.seed = seed

    watch(log, part("tensorflow.python.framework.ops:Graph"), "__init__", lambda args, kwargs: args[0], made)


def _seed_generators(module: Any, seed: int) -> None:
    """`default_rng()` without a seed asks the system for one: give each another one, the same in every run."""
    original, made = module.default_rng, itertools.count(seed)
    if getattr(original, "__wrapped__", None) is not None:
        return

    @functools.wraps(original)
    def default_rng(seed: Any = None) -> Any:
        return original(next(made) if seed is None else seed)

    module.default_rng = default_rng


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


def _number(value: Any) -> float:
    """What tells losses and metrics apart where their names are not given; no number is as good as none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _flat(result: Any) -> list[Any]:
    result = getattr(result, "history", result)  # what `fit` returns
    if isinstance(result, list | tuple):
        return [leaf for item in result for leaf in _flat(item)]
    if isinstance(result, dict):
        return [leaf for key in sorted(result, key=str) for leaf in _flat(result[key])]
    return [] if result is None else [result]
