"""A small Keras `fit`: compiled steps, progress bar off."""

import time

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(2048, 32)).astype("float32")
y = x[:, :1] * 2.0 + 1.0
layers = [keras.layers.Dense(128, "relu"), keras.layers.Dense(128, "relu"), keras.layers.Dense(1)]
model = keras.Sequential([keras.Input((32,)), *layers])
model.compile("adam", "mse")


def part() -> float:
    """Seconds of one epoch."""
    started = time.perf_counter()
    model.fit(x, y, epochs=1, batch_size=32, verbose=0)
    return time.perf_counter() - started
