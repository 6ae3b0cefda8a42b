"""Learns from a stream of measurements, one call of fit() per batch."""

import numpy as np
import tensorflow as tf

STEPS = 30
BATCH = 16

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential(
    [
        tf.keras.Input((8,)),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="mse")
inputs = np.random.default_rng(0).random((STEPS * BATCH, 8), dtype=np.float32)
targets = inputs.sum(axis=1, keepdims=True)

for start in range(0, len(inputs), BATCH):
    x, y = inputs[start : start + BATCH], targets[start : start + BATCH]
    model.train_on_batch(x, y)
print(f"loss {model.test_on_batch(inputs, targets):.3f}")
