"""Keras `fit` of a small convnet: compiled steps, progress bar off."""

import time

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(512, 28, 28, 1)).astype("float32")
y = np.arange(512) % 10
layers = [
    keras.layers.Conv2D(8, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Conv2D(16, 3, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(10),
]
model = keras.Sequential([keras.Input((28, 28, 1)), *layers])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def part() -> float:
    """Seconds of three epochs."""
    started = time.perf_counter()
    model.fit(x, y, epochs=3, batch_size=16, verbose=0)
    return time.perf_counter() - started
