"""A small Keras `fit`, timed after its first epoch: compiled steps, progress bar off."""

import itertools
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


class Clock(keras.callbacks.Callback):  # type: ignore[misc]
    """Seconds of each epoch, from one end to the next."""

    def on_train_begin(self, logs: object = None) -> None:
        self.ends = [time.perf_counter()]

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        self.ends.append(time.perf_counter())


clock = Clock()
model.fit(x, y, epochs=EPOCHS, batch_size=32, verbose=0, callbacks=[clock])
chunks = [after - before for before, after in itertools.pairwise(clock.ends)]
sys.stderr.write(f"chunk-seconds: {' '.join(f'{seconds:.6f}' for seconds in chunks)}\n")
print(len(chunks))
