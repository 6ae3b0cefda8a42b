"""A small Keras `fit`, timed after its first epoch: compiled steps, progress bar off."""

import sys
import time

import keras
import numpy as np

EPOCHS = 12

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(4096, 32)).astype("float32")
y = x[:, :1] * 2.0 + 1.0
layers = [keras.layers.Dense(128, "relu"), keras.layers.Dense(128, "relu"), keras.layers.Dense(1)]
model = keras.Sequential([keras.Input((32,)), *layers])
model.compile("adam", "mse")
model.fit(x, y, epochs=1, batch_size=32, verbose=0)  # warm

started, worked = time.perf_counter(), time.process_time()
history = model.fit(x, y, epochs=EPOCHS, batch_size=32, verbose=0)
sys.stderr.write(f"loop-seconds: {time.perf_counter() - started:.6f} cpu-seconds: {time.process_time() - worked:.6f}\n")
print(len(history.history["loss"]))
