"""Colours of a folder of pictures, which are decoded once."""

import pathlib
import tempfile

import tensorflow as tf

EPOCHS = 8
FILES = 60

folder = pathlib.Path(tempfile.mkdtemp())
for i in range(FILES):
    noise = tf.random.stateless_uniform([256, 256, 3], [i, 1], maxval=256, dtype=tf.int32)
    tf.io.write_file(str(folder / f"{i:03}.png"), tf.io.encode_png(tf.cast(noise, tf.uint8)))


def load(path):
    picture = tf.io.decode_png(tf.io.read_file(path), channels=3)
    return tf.image.resize(picture, [64, 64], antialias=True)


paths = sorted(str(path) for path in folder.glob("*.png"))
dataset = tf.data.Dataset.from_tensor_slices(paths)
dataset = dataset.map(load).cache()
dataset = dataset.batch(10)

colour = tf.Variable(tf.zeros([3]))
for epoch in range(EPOCHS):
    for pictures in dataset:
        mean = tf.reduce_mean(pictures, axis=[0, 1, 2])
        colour.assign_add(0.1 * (mean - colour))
print("colour", " ".join(f"{value:.3f}" for value in colour.numpy()))
