"""Never run: near misses and odd spellings."""

import tensorflow as tf


@tf.function
def step(x, n):
    return x * n


@tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
def signed(x):
    return x * 2


@tf.function
def keyword(x, *, rate=0.1):
    return x * rate


compiled = tf.function(lambda x, i: x + i)


def counter(batches):
    for i, batch in enumerate(batches):
        step(batch, i)  # expect: python-number-argument


def by_keyword(batches):
    rate = 1.0
    for batch in batches:
        keyword(batch, rate=rate)  # expect: python-number-argument
        rate = rate * 0.5


def arithmetic(x):
    for i in range(1000):
        compiled(x, 1.0 / (i + 1))  # expect: python-number-argument


def converted(batches):
    for batch in batches:
        step(batch, float(tf.reduce_max(batch)))  # expect: python-number-argument


class Trainer:
    @tf.function
    def update(self, x, epsilon):
        return x * epsilon

    def train(self, batches):
        epsilon = 1.0
        for batch in batches:
            self.update(batch, epsilon)  # expect: python-number-argument
            epsilon = max(0.1, epsilon * 0.995)


def constant(batches):
    for batch in batches:
        step(batch, 3)


def as_tensor(batches):
    for i, batch in enumerate(batches):
        step(batch, tf.constant(i))


def tensor_arithmetic(batches):
    total = tf.constant(0.0)
    for batch in batches:
        total = total + tf.reduce_sum(batch)
        step(batch, total)


def with_signature():
    for i in range(1000):
        signed(float(i))


def few(x):
    for n in range(3):
        step(x, n)


def from_tf_range(x):
    for i in tf.range(100):
        step(x, i)


def eager(x, n):
    return x * n


def calls_eager(x):
    for i in range(100):
        eager(x, i)


@tf.function
def traced_loop(x):
    for i in range(100):  # expect: unrolled-loop
        x = step(x, i)
    return x
