"""Never run: near misses and odd spellings."""

import functools
import glob
import os
from typing import NamedTuple

import tensorflow as tf


@tf.function
def step(x, options):
    return x * 2


compiled = tf.function(lambda x, f: f(x))


class Options:
    def __init__(self, rate):
        self.rate = rate


class Sizes(NamedTuple):
    width: int
    height: int


class Pair(tf.experimental.ExtensionType):
    left: tf.Tensor


class Protocol:
    def __tf_tracing_type__(self, context):
        return context


def new_object(batches):
    for batch in batches:
        step(batch, Options(0.1))  # expect: python-object-argument


def new_object_by_name(batches):
    for batch in batches:
        options = Options(0.1)
        step(batch, options=options)  # expect: python-object-argument


def partial(batches, scale):
    for batch in batches:
        compiled(batch, functools.partial(scale, 2))  # expect: python-object-argument


def inner_function(batches):
    for batch in batches:

        def double(x):
            return x * 2

        compiled(batch, double)  # expect: python-object-argument


def numbers_in_a_dict(batches):
    rate = 0.1
    for batch in batches:
        rate = rate * 0.9
        step(batch, {"rate": rate})  # expect: python-object-argument


def numbers_in_a_tuple(x):
    for i in range(1000):
        step(x, (i, i + 1))  # expect: python-object-argument


def lists(rows):
    for row in rows:
        step(row.tolist(), None)  # expect: python-object-argument


def floats(rows):
    for row in rows:
        step([float(v) for v in row], None)  # expect: python-object-argument


def text(x):
    for i in range(1000):
        step(x, f"step {i}")  # expect: python-object-argument


@tf.function
def load(path):
    return tf.io.decode_png(tf.io.read_file(path))


def listed(folder):
    for name in sorted(os.listdir(folder)):
        load(os.path.join(folder, name))  # expect: python-object-argument


def globbed():
    paths = glob.glob("*.png")
    return [load(path) for path in paths]  # expect: python-object-argument


class Trainer:
    @tf.function
    def update(self, x, loss):
        return loss(x)

    def one(self, batch):
        self.update(batch, lambda x: x * 2)  # expect: python-object-argument

    def train(self, batches):
        for batch in batches:
            self.one(batch)


# The same object each time.


def made_once(batches):
    options = Options(0.1)
    double = lambda x: x * 2  # noqa: E731
    for batch in batches:
        step(batch, options)
        compiled(batch, double)


def module_function(batches):
    for batch in batches:
        compiled(batch, tf.nn.relu)


# What TensorFlow looks into.


def tensors_in_containers(batches):
    for x, y in batches:
        step(x, (x, y))
        step(x, {"x": x, "y": tf.constant(1)})
        step(x, [x, y])


def taken_apart(batches):
    for batch in batches:
        step(batch, Sizes(3, 4))
        step(batch, Pair(batch))
        step(batch, Protocol())


def same_values(batches):
    for batch in batches:
        step(batch, {"training": True, "sizes": [1, 2, 3]})
        step(batch, "train")


def as_tensor(folder):
    for name in os.listdir(folder):
        load(tf.constant(os.path.join(folder, name)))


# Few, or not compiled.


def few(x):
    for name in ["a", "b"]:
        step(x, f"task {name}")


def plain(x, options):
    return x * 2


def calls_plain(batches):
    for batch in batches:
        plain(batch, Options(0.1))


@tf.function
def traced_caller(batches):
    for batch in batches:
        step(batch, Options(0.1))


def number_of_its_own(x):
    for i in range(1000):
        step(x, i)  # expect: python-number-argument


@tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
def signed(x):
    return x


def with_signature():
    for i in range(1000):
        signed([i, i + 1])
