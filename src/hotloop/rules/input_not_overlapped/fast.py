"""A linear model trained on files that a pipeline reads ahead."""

import pathlib
import tempfile
import time

import numpy as np
import tensorflow as tf

FILES = 100

folder = pathlib.Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for i in range(FILES):
    np.save(folder / f"{i:03}.npy", rng.normal(size=(32, 9)).astype(np.float32))
paths = sorted(str(path) for path in folder.glob("*.npy"))

weights = tf.Variable(tf.zeros([8, 1]))


def load(path):
    time.sleep(0.03)  # a network share
    return np.load(path.decode())


def read(path):
    rows = tf.numpy_function(load, [path], tf.float32)  # expect: python-in-pipeline
    return tf.ensure_shape(rows, [32, 9])


@tf.function
def train_step(rows):
    error = rows[:, :8] @ weights - rows[:, 8:]
    weights.assign_sub(0.001 * tf.transpose(rows[:, :8]) @ error)
    return tf.reduce_mean(error**2)


for rows in tf.data.Dataset.from_tensor_slices(paths).map(read, num_parallel_calls=8):
    loss = train_step(rows)
print(f"loss {float(loss):.4f}")
