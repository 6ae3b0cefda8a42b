"""Never run: near misses and odd spellings."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

from .data import few_vectors, vectors

ROWS = 100_000

(x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
x_train = x_train.astype("float32") / 255.0
features = np.random.rand(ROWS, 64)
table = np.load("table.npy")
small = np.zeros((100, 10))
labels = np.zeros(100)
as_tensor = tf.constant(np.zeros((ROWS, 64)))
converted = np.ones((ROWS, 64))
converted = tf.convert_to_tensor(converted)
net = keras.Sequential([keras.layers.Dense(1)])


@tf.function
def whole_set():
    return net(x_train)  # expect: array-in-graph


@tf.function(jit_compile=True)
def gathered(indices):
    return tf.gather(features, indices)  # expect: array-in-graph


@tf.function
def from_a_file(query):
    return query @ table  # expect: array-in-graph


def train(size):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(50_000, 100)).astype(np.float32)

    @tf.function
    def closure(weights):
        return tf.reduce_sum(weights * data)  # expect: array-in-graph

    return closure


class Lookup(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.rows = np.empty([ROWS, 300], dtype="float32")
        self.few = np.empty([10, 10])

    def call(self, x):
        return tf.matmul(x, self.rows) + self.few  # expect: array-in-graph


def looked_up(dataset):
    return dataset.map(lambda i: tf.gather(x_train, i))  # expect: array-in-graph


def passed_on(i):
    return tf.nn.embedding_lookup(params=features, ids=i)  # expect: array-in-graph


compiled = tf.function(passed_on)


@tf.function
def of_another_module(query):
    return similar(query) + tf.reduce_sum(few_vectors)


def similar(query):
    return tf.linalg.matvec(vectors, query)  # expect: array-in-graph


# Small, or only looked at.


@tf.function
def small_table(x):
    return tf.matmul(x, small)


@tf.function
def labels_only(x):
    return x - y_train


@tf.function
def shape_only(x):
    return x * x_train.shape[0] + len(features) + features.dtype.size


@tf.function
def one_row(x):
    return x + features[0]


@tf.function
def mean_only(x):
    return x - np.mean(features)


# A tensor is referred to, not copied.


@tf.function
def tensor(x):
    return tf.gather(as_tensor, x)


@tf.function
def converted_before(x):
    return tf.gather(converted, x)


# An argument.


@tf.function
def argument(features):
    return tf.reduce_sum(features)


def passes():
    return argument(features)


# Not compiled.


def eager(indices):
    return tf.gather(features, indices)


def eager_constant():
    return tf.constant(features), tf.data.Dataset.from_tensor_slices((x_train, y_train))


def of_unknown_size(n):
    data = np.random.rand(n, 10)

    @tf.function
    def step(x):
        return x + data

    return step
