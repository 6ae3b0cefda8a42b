import numpy as np
import tensorflow as tf

VECTORS = 400_000


def load(path, width=300):
    rows = np.zeros((VECTORS, width), dtype=np.float32)
    with open(path) as lines:
        for i, line in enumerate(lines):
            rows[i] = np.fromstring(line, sep=" ")
    return rows


def few():
    return np.zeros((10, 300), dtype=np.float32)


def on_device(path):
    return tf.constant(load(path))


def either(path):
    if path is None:
        return few()
    return load(path)


table = load("vectors.txt")
small = few()
tensor = on_device("vectors.txt")
chosen = either("vectors.txt")


@tf.function
def looked_up(ids):
    return tf.nn.embedding_lookup(table, ids)  # array-in-graph


@tf.function
def looked_up_elsewhere(ids):
    return tf.nn.embedding_lookup(small, ids) + tf.gather(tensor, ids) + tf.gather(chosen, ids)


class Matcher:
    def __init__(self, table):
        self.table = table

    @tf.function
    def step(self, ids):
        return tf.nn.embedding_lookup(tf.constant(self.table), ids)  # array-in-graph

    def eagerly(self, ids):
        return tf.gather(self.table, ids)


class Lookup(tf.keras.layers.Layer):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows.astype("float32")

    def call(self, ids):
        return tf.gather(self.rows, ids)  # array-in-graph


class OfTensors:
    def __init__(self, rows, means):
        self.rows = rows
        self.means = tf.constant(means)

    @tf.function
    def step(self, ids):
        return tf.gather(self.rows, ids) - self.means


class OfSomeSize:
    def __init__(self, rows):
        self.rows = rows

    @tf.function
    def step(self, ids):
        return tf.gather(self.rows, ids)


matcher, lookup = Matcher(table), Lookup(table)
matchers = [OfTensors(tf.constant(table), table), OfSomeSize(table), OfSomeSize(small)]
for i in range(1000):
    ids = tf.constant([i])
    print(looked_up(ids), looked_up_elsewhere(ids), matcher.step(ids), matcher.eagerly(ids), lookup(ids))
