"""Mean brightness of pictures that are decoded and shuffled."""

import pathlib
import tempfile

import tensorflow as tf

FILES = 400

folder = pathlib.Path(tempfile.mkdtemp())
for i in range(FILES):
    picture = tf.fill([16, 16, 3], tf.cast(i % 256, tf.uint8))
    tf.io.write_file(str(folder / f"{i:03}.png"), tf.io.encode_png(picture))


def load(path):
    return tf.image.resize(tf.io.decode_png(tf.io.read_file(path), channels=3), [224, 224])


paths = sorted(str(path) for path in folder.glob("*.png"))
dataset = tf.data.Dataset.from_tensor_slices(paths)
dataset = dataset.shuffle(5_000, seed=0)
dataset = dataset.map(load)
dataset = dataset.batch(8)

total = 0.0
for pictures in dataset:
    total += float(tf.reduce_sum(tf.reduce_mean(pictures, axis=[1, 2, 3])))
print(f"brightness {total / FILES:.2f}")
