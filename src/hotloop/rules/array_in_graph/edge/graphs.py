"""Never run: near misses and odd spellings in graph mode."""

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.keras.datasets import cifar10

tf.disable_v2_behavior()

(x_train, y_train), (x_test, y_test) = cifar10.load_data()
noise = np.random.uniform(-1, 1, size=[10_000, 256])


def as_a_constant():
    return tf.constant(x_train, dtype=tf.float32)  # expect: array-in-graph


def as_a_variable():
    return tf.Variable(noise, trainable=False)  # expect: array-in-graph


def as_a_dataset():
    return tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(32)  # expect: array-in-graph


def as_features():
    return tf.data.Dataset.from_tensor_slices({"x": noise})  # expect: array-in-graph


def from_a_file():
    return tf.convert_to_tensor(np.load("vectors.npy"))  # expect: array-in-graph


# Fed, or small.


def fed(sess):
    data = tf.placeholder(tf.float32, x_train.shape)
    dataset = tf.data.Dataset.from_tensor_slices(data)
    sess.run(dataset, {data: x_train})


def labels():
    return tf.constant(y_train)


def small():
    return tf.constant(np.eye(3)), tf.constant([1.0, 2.0]), tf.Variable(np.zeros((10, 10)))


def of_a_tensor(x):
    return tf.data.Dataset.from_tensor_slices(tf.random_uniform([1000, 1000]))
