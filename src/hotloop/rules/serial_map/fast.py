"""Statistics over recordings that arrive slowly."""

import pathlib
import tempfile
import time

import numpy as np
import tensorflow as tf

FILES = 120

folder = pathlib.Path(tempfile.mkdtemp())
for i in range(FILES):
    np.save(folder / f"{i:03}.npy", np.full(100, i, np.float32))


def fetch(path):
    time.sleep(0.03)  # a network share
    return np.load(path.decode())


def load(path):
    values = tf.numpy_function(fetch, [path], tf.float32)  # expect: python-in-pipeline
    return tf.ensure_shape(values, [100])


paths = sorted(str(path) for path in folder.glob("*.npy"))
dataset = tf.data.Dataset.from_tensor_slices(paths).map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(10)

total = 0.0
for batch in dataset:
    total += float(tf.reduce_sum(batch))
print(f"total {total:.0f}")
