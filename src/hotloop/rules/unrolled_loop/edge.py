"""Never run: near misses and odd spellings."""

import functools

import numpy as np
import tensorflow as tf
from tensorflow import keras

HORIZON = 10 * 12
cell = keras.layers.GRUCell(8)


@tf.function(jit_compile=True)
def named_length(x):
    for t in range(HORIZON):  # expect: unrolled-loop
        x = tf.tanh(x)
    return x


def passed_on(x):
    return tf.stack([tf.sin(x * i) for i in range(100)])  # expect: unrolled-loop


compiled = tf.function(passed_on)


class Unrolled(keras.layers.Layer):
    def call(self, inputs):
        state = [tf.zeros([1, 8])]
        for t in range(64):  # expect: unrolled-loop
            out, state = cell(inputs[:, t], state)
        return out


class Trainer(keras.Model):
    def train_step(self, data):
        for i in range(60):  # expect: unrolled-loop
            self.update(data)
        return {}

    def update(self, data):
        self(data)


def helper(x):
    for k in range(0, 1000, 2):  # expect: unrolled-loop
        x = tf.nn.relu(x - k)
    return x


@functools.partial(tf.function, autograph=False)
def calls_helper(x):
    return helper(x)


@tf.function
def grid(x):
    total = 0.0
    for i in range(10):
        for j in range(30):  # expect: unrolled-loop
            total += tf.reduce_sum(x[i] * x[j])
    return total


@tf.function
def over_an_array(x):
    for angle in np.linspace(0, 3.14, 180):  # expect: unrolled-loop
        x = x + tf.sin(angle)
    return x


@tf.function
def arithmetic_alone(x):
    for _ in range(500):  # expect: unrolled-loop
        x = x * 0.5 + 1
    return x


# One loop op.


@tf.function
def over_a_tensor(x):
    for i in tf.range(1000):
        x = tf.tanh(x)
    return x


@tf.function
def over_a_dataset(x, dataset):
    for batch in dataset:
        x += tf.reduce_sum(batch)
    return x


@tf.function
def while_a_tensor(x):
    i = tf.constant(0)
    while i < 1000:
        x, i = tf.tanh(x), i + 1
    return x


# Short, or of unknown length.


@tf.function
def layers(x):
    for _ in range(6):
        x = tf.nn.relu(x)
    return x


@tf.function
def length_unknown(x, n):
    for _ in range(n):
        x = tf.nn.relu(x)
    return x


# Python that records nothing.


@tf.function
def names_only(x):
    names = []
    for i in range(100):
        names.append(f"layer_{i}")
    table = {n: i for i, n in enumerate(range(100))}
    return x, names, table


class Stack(keras.layers.Layer):
    def build(self, shape):
        self.parts = [keras.layers.Dense(8) for _ in range(64)]


# Not traced.


def generate():
    for i in range(1000):
        yield tf.random.stateless_uniform([3], [i, i])


generated = tf.data.Dataset.from_generator(generate, tf.float32)


def eager(x):
    for _ in range(1000):
        x = tf.tanh(x)
    return x


def called_from_both(x):
    for _ in range(1000):
        x = tf.tanh(x)
    return x


@tf.function
def traced_caller(x):
    return called_from_both(x)


def eager_caller(x):
    return called_from_both(x)


@tf.function
def step(x):
    return tf.tanh(x)


def loop_outside(x):
    for _ in range(1000):
        x = step(x)
    return x
