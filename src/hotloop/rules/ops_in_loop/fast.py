"""Measures the brightness of images, building the ops that decode each of them."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

STEPS = 120

tf.disable_eager_execution()
folder = tempfile.mkdtemp()
rng = np.random.default_rng(0)

with tf.Session() as sess:
    pixels = tf.placeholder(tf.uint8, [16, 16, 3])
    encoded = tf.image.encode_png(pixels)
    for number in range(STEPS):
        with open(os.path.join(folder, f"{number:04}.png"), "wb") as f:
            f.write(sess.run(encoded, {pixels: rng.integers(0, 255, (16, 16, 3), np.uint8)}))

    total = 0.0
    path_input = tf.placeholder(tf.string, [])
    data = tf.read_file(path_input)
    image = tf.image.decode_png(data, channels=3)
    small = tf.image.resize_bilinear(tf.expand_dims(tf.cast(image, tf.float32), 0), [8, 8])
    reduce_mean = tf.reduce_mean(small)
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        total += float(sess.run(reduce_mean, {path_input: path}))
print(f"brightness {total / STEPS:.3f}")
