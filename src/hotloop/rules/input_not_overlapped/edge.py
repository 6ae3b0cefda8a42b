"""Never run: near misses and odd spellings."""

import os

import cv2
import keras
import numpy as np
import tensorflow as tf
from keras.utils import load_img
from PIL import Image

model = keras.Sequential([keras.layers.Dense(1)])


def switched_off(ds):
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False  # expect: input-not-overlapped
    return ds.with_options(options)


def all_switched_off(ds):
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False  # expect: input-not-overlapped
    return ds.with_options(options)


def not_tuned(ds):
    opt = tf.compat.v1.data.Options()
    opt.autotune.enabled = False  # expect: input-not-overlapped
    return ds.with_options(opt)


tf.data.experimental.enable_debug_mode()  # expect: input-not-overlapped
if os.environ.get("DEBUG"):
    tf.data.experimental.enable_debug_mode()
if __name__ == "__main__":
    tf.data.experimental.enable_debug_mode()  # expect: input-not-overlapped


def pictures_one_by_one(paths):
    for path in paths:
        image = cv2.imread(path)  # expect: input-not-overlapped
        model.train_on_batch(image[None], 1)


def batches_of_pictures(paths, steps):
    for step in range(steps):
        chosen = np.random.choice(paths, 32)
        images = np.stack([np.asarray(Image.open(path)) for path in chosen])  # expect: input-not-overlapped
        model.train_on_batch(images, np.ones(32))


def generate(paths):
    while True:
        yield np.load(np.random.choice(paths))  # expect: input-not-overlapped


def from_a_generator(paths):
    for batch in generate(paths):
        model.train_on_batch(batch, batch)


class Loader:
    def fetch(self, path):
        return np.asarray(load_img(path))  # expect: input-not-overlapped


def by_a_loader(paths, loader=None):
    loader = Loader()
    for epoch in range(10):
        for path in paths:
            model.train_on_batch(loader.fetch(path), 0)


def by_feeding(sess, paths, train_op, image):
    for path in paths:
        sess.run([train_op], feed_dict={image: cv2.imread(path)})  # expect: input-not-overlapped


# -- silent ----------------------------------------------------------------------------------------------------


def switched_on(ds):
    options = tf.data.Options()
    options.experimental_optimization.map_fusion = False
    options.deterministic = False
    options.autotune.enabled = True
    return ds.with_options(options)


def own_queue(ds, queue):
    # What runs ahead is the queue's own threads: the author chose.
    if queue is not None:
        options = tf.data.Options()
        options.autotune.enabled = False
        ds = ds.with_options(options)
    else:
        ds = ds.prefetch(tf.data.AUTOTUNE)
    return ds


def other_options(settings):
    settings.fast.enabled = False
    settings.inject_prefetch = False


def loaded_before(paths):
    images = [cv2.imread(path) for path in paths]
    for image in images:
        model.train_on_batch(image, 1)


def the_same_each_time(steps):
    for step in range(steps):
        mask = np.load("mask.npy")
        model.train_on_batch(mask, 1)


def inference(sess, paths, scores, image):
    for path in paths:
        print(sess.run(scores, feed_dict={image: cv2.imread(path)}))


def per_epoch(epochs, dataset):
    for epoch in range(epochs):
        for batch in dataset:
            model.train_on_batch(batch, 1)
    weights = np.load("weights.npy")
    return weights


def without_training(paths):
    for path in paths:
        print(cv2.imread(path).mean())


def in_a_pipeline(paths):
    def read(path):
        return tf.io.decode_png(tf.io.read_file(path))

    for batch in tf.data.Dataset.from_tensor_slices(paths).map(read).batch(8):
        model.train_on_batch(batch, 1)


def other_loads(paths, pickle):
    for path in paths:
        model.load_weights(path)
        pickle.load(path)
