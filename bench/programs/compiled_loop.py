"""A training loop of one's own whose step is compiled: one call of a `tf.function` and one number read per step."""

import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
batches = [(tf.constant(rng.normal(size=(64, 32)), tf.float32), tf.zeros((64, 1))) for _ in range(100)]
model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.01)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


def part() -> float:
    """Seconds of twenty passes over the batches."""
    total = 0.0
    started = time.perf_counter()
    for _ in range(20):
        for x, y in batches:
            total += float(train_step(x, y))
    return time.perf_counter() - started
