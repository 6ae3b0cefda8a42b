"""Never run: near misses and odd spellings."""

import random

import keras
import numpy as np
import tensorflow as tf

paths, images, words = [], [], []
files = tf.data.Dataset.from_tensor_slices(paths)


def decode(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), [224, 224])


def augment(path):
    return tf.image.random_flip_left_right(decode(path))


def noisy(path):
    image = decode(path)
    return image + tf.random.normal(tf.shape(image))


flip = keras.layers.RandomFlip("horizontal")
layers = keras.Sequential([keras.layers.RandomFlip(), keras.layers.RandomRotation(0.1)])
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0)


def labelled(path):
    return decode(path), table.lookup(path)


augmented = files.map(augment).batch(32)  # expect: serial-map
one_call = files.map(augment, num_parallel_calls=1).batch(32)  # expect: serial-map
none = files.map(augment, num_parallel_calls=None).batch(32)  # expect: serial-map
with_noise = files.map(lambda path: noisy(path)).batch(32)  # expect: serial-map
by_layer = files.map(lambda path: flip(decode(path))).batch(32)  # expect: serial-map
by_layers = files.map(lambda path: layers(decode(path))).batch(32)  # expect: serial-map
by_table = files.map(labelled).batch(32)  # expect: serial-map
vectorize = keras.layers.TextVectorization(max_tokens=10_000)
texts = tf.data.Dataset.from_tensor_slices(words).batch(32).map(lambda text: vectorize(text))  # expect: serial-map


class Reader:
    def _read(self, path):
        return tf.image.random_brightness(decode(path), 0.1)

    def dataset(self):
        ds = tf.data.Dataset.list_files("*.jpg")
        ds = ds.map(self._read)  # expect: serial-map
        return ds.batch(16)


def fetch(path):
    return np.load(path)


waiting = files.map(lambda p: tf.py_function(fetch, [p], tf.float32))  # expect: serial-map, python-in-pipeline


# -- silent ----------------------------------------------------------------------------------------------------


def augmented_without_state(path, seed):
    return tf.image.stateless_random_flip_left_right(decode(path), seed)


def shift(x):
    return x + random.random()


def options(more):
    return files.map(augment, **more).batch(32)


plain = files.map(decode).batch(32)
told = files.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
by_position = files.map(augment, 8).batch(32)
stateless = tf.data.Dataset.zip((files, tf.data.Dataset.random(3))).map(augmented_without_state).batch(32)
tiny = tf.data.Dataset.from_tensor_slices(images).map(lambda x: x + tf.random.uniform([])).prefetch(1)
python_that_computes = tf.data.Dataset.from_tensor_slices(images).map(
    lambda x: tf.numpy_function(shift, [x], tf.float32)  # expect: python-in-pipeline
)
looked_up = tf.data.Dataset.from_tensor_slices(words).batch(32).map(table.lookup)
cached_texts = tf.data.Dataset.from_tensor_slices(words).batch(32).map(lambda text: vectorize(text)).cache()
not_a_dataset = list(map(augment, paths))
