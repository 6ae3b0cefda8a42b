"""Logistic regression on digits that are scaled in the pipeline."""

import numpy as np
import tensorflow as tf

EPOCHS = 3

rng = np.random.default_rng(0)
digits = rng.integers(0, 256, (12_000, 64)).astype(np.uint8)
labels = rng.integers(0, 10, 12_000)


def prepare(digit, label):
    return tf.cast(digit, tf.float32) / 255.0, tf.one_hot(label, 10)


dataset = tf.data.Dataset.from_tensor_slices((digits, labels)).batch(200).map(prepare)
weights = tf.Variable(tf.zeros([64, 10]))


@tf.function
def step(x, y):
    error = tf.nn.softmax(x @ weights) - y
    weights.assign_sub(0.1 * tf.transpose(x) @ error / 200.0)
    return tf.reduce_mean(tf.abs(error))


for epoch in range(EPOCHS):
    for x, y in dataset:
        loss = step(x, y)
print(f"error {float(loss):.4f}")
