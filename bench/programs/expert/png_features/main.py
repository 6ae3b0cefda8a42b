# -*- coding: utf-8 -*-
# Nearest neighbour search over png files with random conv features.
# see https://stackoverflow.com/q/ ... "tensorflow gets slower and slower with every image"
import os, sys, shutil, tempfile
import numpy as np
from PIL import Image
import tensorflow as tf

tf.compat.v1.disable_eager_execution()

N_IMAGES = 100


class FeatureExtractor(object):

    def __init__(self, size=24, seed=7):
        self.size = size
        rng = np.random.RandomState(seed)
        self.path = tf.compat.v1.placeholder(tf.string, [])
        img = tf.image.decode_png(tf.io.read_file(self.path), channels=3)
        img = tf.image.resize(tf.image.convert_image_dtype(img, tf.float32), [size, size])
        self.x = tf.expand_dims(img, 0)
        kernel = tf.constant(rng.randn(5, 5, 3, 12).astype("float32") * 0.1)
        hidden = tf.nn.relu(tf.nn.conv2d(self.x, kernel, strides=2, padding="SAME"))
        self.features = tf.reduce_mean(hidden, axis=[1, 2])
        # keep ONE session open, opening it every time was slow!!
        self.sess = tf.compat.v1.Session()

    def load(self, filename):
        data = tf.io.read_file(filename)
        img = tf.image.decode_png(data, channels=3)
        img = tf.image.convert_image_dtype(img, tf.float32)
        img = tf.image.resize(img, [self.size, self.size])
        return self.sess.run(tf.expand_dims(img, 0))

    def extract(self, files):
        rows = []
        for n, f in enumerate(files):
            rows.append(self.sess.run(self.features, feed_dict={self.path: f})[0])
            if n % 40 == 0:
                sys.stderr.write("%d/%d\n" % (n, len(files)))
        return np.array(rows)

    def close(self):
        self.sess.close()


def make_images(where):
    rng = np.random.RandomState(0)
    names = []
    for i in range(N_IMAGES):
        base = rng.randint(0, 200, size=3)
        px = base + rng.randint(0, 56, size=(40, 40, 3))
        names.append(os.path.join(where, "%04d.png" % i))
        Image.fromarray(px.astype("uint8")).save(names[-1])
    return names


if __name__ == "__main__":
    d = tempfile.mkdtemp()
    try:
        fx = FeatureExtractor()
        feats = fx.extract(make_images(d))
        fx.close()
    finally:
        shutil.rmtree(d)
    dist = ((feats[:, None] - feats[None]) ** 2).sum(-1)
    np.fill_diagonal(dist, np.inf)
    nn = dist.argmin(1)
    print("neighbours of the first ten:", nn[:10].tolist())
    print("checksum %.4f" % feats.sum())
