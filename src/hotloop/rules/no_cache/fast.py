"""Mean colour of a folder of pictures, over many epochs."""

import pathlib
import tempfile

import tensorflow as tf

EPOCHS = 60
FILES = 24

folder = pathlib.Path(tempfile.mkdtemp())
ramp = tf.range(512 * 512 * 3)
for i in range(FILES):
    picture = tf.cast(tf.reshape(ramp // (i + 1) % 256, [512, 512, 3]), tf.uint8)
    tf.io.write_file(str(folder / f"{i:03}.jpg"), tf.io.encode_jpeg(picture))


def load(path):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(picture, [64, 64], antialias=True)


paths = sorted(str(path) for path in folder.glob("*.jpg"))
dataset = tf.data.Dataset.from_tensor_slices(paths)
dataset = dataset.map(load).cache()
dataset = dataset.batch(8)

colour = tf.Variable(tf.zeros([3]))
for epoch in range(EPOCHS):
    for pictures in dataset:
        mean = tf.reduce_mean(pictures, axis=[0, 1, 2])
        colour.assign_add(0.1 * (mean - colour))
print("colour", " ".join(f"{value:.2f}" for value in colour.numpy()))
