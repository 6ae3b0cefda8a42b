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
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        data = tf.read_file(path)  # expect: ops-in-loop
        image = tf.image.decode_png(data, channels=3)
        small = tf.image.resize_bilinear(tf.expand_dims(tf.cast(image, tf.float32), 0), [8, 8])
        total += float(sess.run(tf.reduce_mean(small)))
print(f"brightness {total / STEPS:.3f}")
