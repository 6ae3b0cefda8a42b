"""A network trained on batches that arrive slowly."""

import time

import numpy as np
import tensorflow as tf

STEPS = 60

rng = np.random.default_rng(0)
batches = rng.normal(size=(8, 256, 256)).astype(np.float32)
weights = tf.Variable(rng.normal(size=(256, 256)).astype(np.float32) / 16)


def fetch(number):
    time.sleep(0.03)  # a network share
    return batches[number % 8]


def load(number):
    rows = tf.numpy_function(fetch, [number], tf.float32)  # expect: python-in-pipeline
    return tf.ensure_shape(rows, [256, 256])


@tf.function
def train_step(rows):
    hidden = rows
    for _ in range(12):
        hidden = tf.nn.relu(hidden @ weights)
    loss = tf.reduce_mean((hidden - rows) ** 2)
    weights.assign_sub(0.001 * tf.gradients(loss, weights)[0])
    return loss


options = tf.data.Options()
options.experimental_optimization.inject_prefetch = False  # expect: input-not-overlapped
dataset = tf.data.Dataset.range(STEPS).map(load).with_options(options)

for rows in dataset:
    loss = train_step(rows)
print(f"loss {float(loss):.4f}")
