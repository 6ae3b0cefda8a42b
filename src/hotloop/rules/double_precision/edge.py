"""Never run: near misses and odd spellings."""

import keras
import numpy as np
import tensorflow as tf
from keras import mixed_precision
from tensorflow.keras import backend as K
from tensorflow.keras import layers as L

KIND = "float64"
K.set_floatx(KIND)  # expect: double-precision
keras.config.set_floatx("float64")  # expect: double-precision
mixed_precision.set_global_policy("float64")  # expect: double-precision
tf.keras.backend.set_floatx(np.dtype("float64").name)

N, M = 800, 200
rng = np.random.default_rng(1)


def network():
    return keras.Sequential(
        [
            L.Dense(256, dtype="float64"),  # expect: double-precision
            L.Conv2D(8, 3, dtype=tf.float64),  # expect: double-precision
            L.Rescaling(1 / 255, dtype="float64"),
            L.Dense(10, dtype="float32"),
        ]
    )


def trained(batches):
    weights = tf.Variable(np.random.randn(784, 256) * 0.01)  # expect: double-precision
    for batch in batches:
        print(tf.reduce_sum(tf.matmul(batch, weights)))


def propagated(scores, steps):
    links = tf.constant(rng.random((N, N)))  # expect: double-precision
    for _ in range(steps):
        scores = links @ scores
    return scores


class Reservoir:
    def __init__(self, size):
        self.inner = tf.convert_to_tensor(np.random.normal(0, 1, (size, size)))  # expect: double-precision
        self.small = tf.Variable(np.random.randn(4, 4))
        self.outer = tf.Variable(np.random.randn(size, size), dtype=tf.float32)

    @tf.function
    def step(self, state):
        return tf.tanh(tf.matmul(self.inner, state) + self.small @ state[:4] + self.outer @ state)


def in_single(batches):
    cast = tf.constant(np.random.randn(N, M).astype("float32"))
    typed = tf.constant(rng.random((N, M), dtype=np.float32))
    drawn = tf.random.normal([N, M])
    positional = tf.constant(np.zeros((N, M), np.float32))
    slope = tf.Variable(np.random.randn())
    for batch in batches:
        print(batch @ cast, batch @ typed, batch @ drawn, batch @ positional, slope * batch)


def never_multiplied(batches):
    noise = tf.constant(np.random.randn(N, M))
    for batch in batches:
        print(batch.shape, noise.shape)


def multiplied_once(x):
    projection = tf.constant(np.random.randn(N, M))
    return x @ projection


def in_a_short_loop(x):
    projection = tf.constant(np.random.randn(N, N))
    for _ in range(3):
        x = x @ projection
    return x


def fed(model, batches):
    # Keras converts what it is given.
    for _ in batches:
        model.predict_on_batch(np.random.randn(32, 784))


def on_request(args):
    if args.double:
        K.set_floatx("float64")


def explained():
    # The residuals cancel: single precision is not accurate enough here.
    keras.backend.set_floatx("float64")


def labels(y):
    return tf.cast(y, tf.float64)
