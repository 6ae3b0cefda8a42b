"""Least squares on random batches."""

import numpy as np
import tensorflow as tf

STEPS = 150

rng = np.random.default_rng(0)
inputs = np.tile(rng.normal(size=(32, 8)).astype(np.float32), (8, 1))
targets = inputs @ np.arange(8, dtype=np.float32)[:, None]

dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(32)
weights = tf.Variable(tf.zeros([8, 1]))


@tf.function
def step(x, y):
    error = x @ weights - y
    weights.assign_sub(0.0001 * tf.transpose(x) @ error)
    return tf.reduce_mean(error**2)


for i in range(STEPS):
    x, y = next(iter(dataset))  # expect: dataset-in-loop
    loss = step(x, y)
print(f"loss {float(loss):.4f}")
