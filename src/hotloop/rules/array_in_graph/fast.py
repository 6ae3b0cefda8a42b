"""Nearest neighbours in a table of vectors: distances by three measures, each compiled."""

import numpy as np
import tensorflow as tf

STEPS = 20

table = np.random.default_rng(2).normal(size=(20_000, 128)).astype("float32")
table_tensor = tf.constant(table)
queries = tf.constant(table[:STEPS] + 0.01)


@tf.function
def by_product(query):
    return tf.argmax(tf.linalg.matvec(table_tensor, query))


@tf.function
def by_distance(query):
    return tf.argmin(tf.reduce_sum(tf.square(tf.subtract(table_tensor, query)), axis=1))


@tf.function
def by_largest_step(query):
    return tf.argmin(tf.reduce_max(tf.abs(tf.subtract(table_tensor, query)), axis=1))


right = 0
for step in range(STEPS):
    query = queries[step]
    right += sum(int(find(query)) == step for find in (by_product, by_distance, by_largest_step))
print(f"found {right} of {3 * STEPS}")
