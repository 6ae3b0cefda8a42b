# mypy: ignore-errors
# ruff: noqa: N802
"""A stand-in for TensorFlow: as much as the generated programs and their fixes use, with the semantics that matter.

Tensors are NumPy arrays. A `function` captures what is free in it when it is traced, as TensorFlow does: once for each
kind of arguments, where Python numbers count by value and tensors by shape.
"""

from __future__ import annotations

import functools
import itertools
import types

import numpy as np

float32, float64, int32, int64, string = np.float32, np.float64, np.int32, np.int64, np.str_


class Tensor(np.ndarray):
    def numpy(self):
        return np.asarray(self)


def _tensor(value, dtype=None):
    array = np.asarray(value, dtype)
    if dtype is None and array.dtype == np.float64:
        array = array.astype(np.float32)
    return array.view(Tensor)


def constant(value, dtype=None, shape=None, name=None):
    return _tensor(value, dtype)


convert_to_tensor = constant


def TensorSpec(shape=None, dtype=np.float32, name=None):
    return shape, dtype


def zeros(shape, dtype=np.float32):
    return _tensor(np.zeros(shape, dtype))


def cast(value, dtype):
    return _tensor(np.asarray(value).astype(dtype))


def concat(values, axis=0):
    return _tensor(np.concatenate([_tensor(value) for value in values], axis))


def stack(values, axis=0):
    return _tensor(np.stack([_tensor(value) for value in values], axis))


def reduce_sum(value, axis=None):
    return _tensor(np.sum(value, axis))


def reduce_max(value, axis=None):
    return _tensor(np.max(value, axis))


def reduce_mean(value, axis=None):
    return _tensor(np.mean(value, axis))


def add(one, two):
    return _tensor(np.add(one, two))


def range(*ends):
    return [_tensor(value) for value in np.arange(*ends)]


def gather(values, indices, axis=0):
    return _tensor(np.take(values, indices, axis))


def function(made=None, **options):
    if made is None:
        return functools.partial(function, **options)
    traces = {}

    @functools.wraps(made)
    def call(*args, **kwargs):
        key = tuple(_kind(value) for value in (*args, *sorted(kwargs.items())))
        if key not in traces:
            traces[key] = _captured(made)
        return traces[key](*args, **kwargs)

    return call


def _kind(value):
    if isinstance(value, tuple):
        return tuple(_kind(item) for item in value)
    return (value.shape, value.dtype.str) if isinstance(value, np.ndarray) else value


def _captured(made):
    """The function as of now: later changes of what is free in it are not seen."""
    if not isinstance(made, types.FunctionType):
        return made
    cells = tuple(types.CellType(_held(cell)) for cell in made.__closure__ or ())
    found = types.FunctionType(made.__code__, dict(made.__globals__), made.__name__, made.__defaults__, cells or None)
    found.__kwdefaults__ = made.__kwdefaults__
    return found


def _held(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


class _Dataset:
    def __init__(self, elements):
        self._elements = elements

    def __iter__(self):
        return iter(self._elements())

    def map(self, f, num_parallel_calls=None, deterministic=None):
        f = _captured(f)  # it is traced here, once
        return _Dataset(lambda: (_tensor(f(element)) for element in self))

    def filter(self, f):
        f = _captured(f)
        return _Dataset(lambda: (element for element in self if f(element)))

    def take(self, count):
        return _Dataset(lambda: itertools.islice(iter(self), count if count >= 0 else None))

    def skip(self, count):
        return _Dataset(lambda: itertools.islice(iter(self), count, None))

    def repeat(self, count=None):
        return _Dataset(lambda: (element for _ in np.arange(count) for element in self))

    def batch(self, size, drop_remainder=False, num_parallel_calls=None):
        def batches():
            elements = iter(self)
            while chunk := list(itertools.islice(elements, size)):
                if len(chunk) == size or not drop_remainder:
                    yield _tensor(np.stack(chunk))

        return _Dataset(batches)

    def unbatch(self):
        return _Dataset(lambda: (_tensor(row) for element in self for row in element))

    def cache(self, filename=""):
        kept = []

        def elements():
            if not kept:
                kept.append(list(self))
            return iter(kept[0])

        return _Dataset(elements)

    def prefetch(self, size):
        return self


class _Datasets:
    @staticmethod
    def range(*ends):
        return _Dataset(lambda: (_tensor(value) for value in np.arange(*ends)))

    @staticmethod
    def from_tensor_slices(values):
        return _Dataset(lambda: (_tensor(value) for value in values))


data = types.SimpleNamespace(Dataset=_Datasets, AUTOTUNE=-1)
