"""Never run: near misses and odd spellings."""

import os

import cv2
import numpy as np
import tensorflow as tf
from tensorflow.data import Dataset

images, labels, paths = [], [], []


def by_index():
    for i in range(len(images)):
        yield images[i], labels[i]


def from_files():
    for path in paths:
        yield cv2.imread(path)


def from_a_folder():
    for name in os.listdir("data"):
        if name.lower().endswith(".png"):
            yield cv2.resize(cv2.imread(os.path.join("data", name)), (64, 64)) / 255.0, int(name[0])


def read(path):
    return cv2.cvtColor(cv2.imread(path.decode()), cv2.COLOR_BGR2RGB)


listed = Dataset.from_generator(from_a_folder, (tf.float32, tf.int32)).batch(8)  # expect: python-in-pipeline
indexed = Dataset.from_generator(by_index, output_types=(tf.float32, tf.int32)).batch(8)  # expect: python-in-pipeline


def over_statements():
    ds = tf.data.Dataset.from_generator(from_files, tf.uint8)  # expect: python-in-pipeline
    ds = ds.shuffle(100)
    return ds.padded_batch(16)


def through_a_lambda(rows):
    def each(table):
        for row in table:
            yield row

    return tf.data.Dataset.from_generator(lambda: each(rows), tf.float32).batch(4)  # expect: python-in-pipeline


class Examples:
    def __init__(self, xs):
        self.xs = xs

    def __call__(self):
        for x in self.xs:
            yield x

    def dataset(self):
        return tf.data.Dataset.from_generator(self.generate, tf.float32).batch(32)  # expect: python-in-pipeline

    def generate(self):
        for x in self.xs:
            yield np.asarray(x)


from_an_object = tf.data.Dataset.from_generator(Examples(images), tf.float32).batch(2)  # expect: python-in-pipeline


def wrapped(path):
    return tf.numpy_function(read, [path], tf.uint8)  # expect: python-in-pipeline


called_back = tf.data.Dataset.from_tensor_slices(paths).map(wrapped, num_parallel_calls=4).batch(8)
as_lambda = tf.data.Dataset.list_files("*.npy").map(
    lambda p: tf.py_function(func=lambda q: np.load(q.numpy()), inp=[p], Tout=tf.float32),  # expect: python-in-pipeline
    num_parallel_calls=4,
)
old_name = tf.data.Dataset.from_tensor_slices(paths).map(
    lambda p: tf.compat.v1.py_func(read, [p], tf.uint8),  # expect: python-in-pipeline
    num_parallel_calls=4,
)


# -- silent ----------------------------------------------------------------------------------------------------


def batches(size=32):
    for start in range(0, len(images), size):
        yield images[start : start + size]


def simulate():
    import gym

    env = gym.make("CartPole-v1")
    while True:
        yield env.step(env.action_space.sample())


def delegate():
    yield from by_index()


def molecule(smiles):
    from rdkit import Chem

    return Chem.MolFromSmiles(smiles).GetNumAtoms()


whole_batches = tf.data.Dataset.from_generator(batches, tf.float32).prefetch(1)
sliced_and_rebatched = tf.data.Dataset.from_generator(batches, tf.float32).unbatch().batch(16)
not_batched = tf.data.Dataset.from_generator(by_index, (tf.float32, tf.int32)).prefetch(1)
simulation = tf.data.Dataset.from_generator(simulate, tf.float32).batch(8)
delegated = tf.data.Dataset.from_generator(delegate, tf.float32).batch(8)
no_counterpart = tf.data.Dataset.from_tensor_slices(paths).map(lambda s: tf.py_function(molecule, [s], tf.int32))
after_batch = tf.data.Dataset.from_tensor_slices(images).batch(32).map(lambda x: tf.numpy_function(np.sort, [x], tf.int32))
not_in_a_pipeline = tf.py_function(lambda x: np.load(x), [1.0], tf.float32)
