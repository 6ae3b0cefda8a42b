"""The compiled model: one trace for good, batches padded to a handful of sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hotloop.label.models import Model
from hotloop.model import HotloopError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    Array = np.ndarray[Any, Any]


LARGEST = 1 << 29  # bytes of weights that are made constants: a Keras model of 100 MB took 2 GB while that was done


class Network:
    """Computes any number of examples, `batch` at a time. The sizes that TensorFlow ever sees are powers of two up to
    that: nothing is traced, tuned or allocated anew however often and with whatever number it is called."""

    def __init__(self, model: Model, example: tuple[int | None, ...], batch: int) -> None:
        import numpy as np
        import tensorflow as tf

        self.dtype = np.dtype(tf.dtypes.as_dtype(model.dtype).as_numpy_dtype)
        self.example = example
        self.function, self.whole = _compiled(model, example)
        self.output = self._one_output(model)
        self.one_by_one = model.one_by_one and not self._takes_two()
        self.batch = 1 if self.one_by_one else batch

    def __call__(self, examples: Array) -> Array:
        """Row for row what the model makes of them."""
        import numpy as np

        parts = [self._padded(examples[at : at + self.batch]) for at in range(0, len(examples), self.batch)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty((0, *self.output))

    def _padded(self, examples: Array) -> Array:
        import numpy as np

        wanted = min(self.batch, 1 << (len(examples) - 1).bit_length())
        if wanted == len(examples):
            return self.run(examples)
        padding = np.zeros((wanted - len(examples), *examples.shape[1:]), examples.dtype)
        return self.run(np.concatenate([examples, padding]))[: len(examples)]

    def run(self, examples: Any) -> Array:
        """A whole batch, which may be a tensor already."""
        import tensorflow as tf

        result: Array = self.function(tf.convert_to_tensor(examples)).numpy()
        return result

    def _one_output(self, model: Model) -> tuple[int, ...]:
        """Of one example of zeros: only running tells some models' shapes, and the first run is the slow one anyway."""
        import numpy as np
        import tensorflow as tf

        if None in self.example:
            return ()
        try:
            result = self.run(np.zeros((1, *self.example), self.dtype))
        except tf.errors.OpError as error:
            told = str(error.message).splitlines()[0]
            raise HotloopError(f"the model cannot compute an input of shape {list(self.example)}: {told}") from error
        if result.ndim == 0 or len(result) != 1:
            raise HotloopError(f"the output `{model.output}` has no row for each example: name another.")
        return tuple(result.shape[1:])

    def _takes_two(self) -> bool:
        """Files often say that a batch is one example where any number would do: together it must be as one by one."""
        import numpy as np
        import tensorflow as tf

        sizes = [size for size in self.example if size is not None]
        if len(sizes) < len(self.example):
            return False
        two = np.random.default_rng(0).random((2, *sizes)).astype(self.dtype)
        one_by_one = [self.run(two[:1])[0], self.run(two[1:])[0]]
        try:
            return bool(np.allclose(self.run(two), one_by_one, rtol=1e-3, atol=1e-5))
        except (tf.errors.OpError, ValueError):
            return False


def _compiled(model: Model, example: tuple[int | None, ...]) -> tuple[Callable[[Any], Any], bool]:
    """Variables become constants: TensorFlow then folds normalisations into the convolutions before them.

    And whether that went well: what was compiled is then the whole model, and what was loaded is needed no more.
    """
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    spec = tf.TensorSpec([None, *example], model.dtype)
    try:
        function = tf.function(model.call, autograph=False).get_concrete_function(spec)
    except (ValueError, TypeError) as error:
        told = str(error).strip().splitlines()[0]
        raise HotloopError(f"the model does not take a batch of shape {list(spec.shape)}: {told}") from error
    if not function.variables and not function.captured_inputs:
        return _first(function), True
    if sum(math.prod(variable.shape) * variable.dtype.size for variable in function.variables) > LARGEST:
        return _first(function), False
    try:
        return _first(convert_variables_to_constants_v2(function)), True
    except Exception:  # tables, weights beyond 2 GB, ops it does not know: it runs as it is  # noqa: BLE001
        return _first(function), False


def _first(function: Any) -> Callable[[Any], Any]:
    """Freezing wraps a single result in a list."""

    def call(batch: Any) -> Any:
        result = function(batch)
        return result[0] if isinstance(result, list | tuple) else result

    return call
