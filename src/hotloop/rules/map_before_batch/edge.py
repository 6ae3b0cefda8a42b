"""Never run: near misses and odd spellings."""

import tensorflow as tf
import tensorflow_datasets as tfds
from tensorflow import data as tf_data

BATCH = 64
x_train, y_train, paths = [], [], []


def normalise(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


def over_statements():
    ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))
    ds = ds.shuffle(1024)
    ds = ds.map(normalise, num_parallel_calls=tf.data.AUTOTUNE)  # expect: map-before-batch
    ds = ds.batch(BATCH)
    return ds.prefetch(tf.data.AUTOTUNE)


def shuffled_between():
    return tf.data.Dataset.range(100_000).map(lambda i: i * 2 + 1).shuffle(100).repeat().batch(32)  # expect: map-before-batch


def with_another_name():
    images = tf_data.Dataset.from_tensor_slices(x_train)
    scaled = images.map(lambda image: (image - 127.5) / 127.5)  # expect: map-before-batch
    return scaled.batch(128, drop_remainder=True)


def from_a_catalogue():
    ds = tfds.load("mnist", split="train", as_supervised=True)
    return ds.map(normalise).cache().shuffle(1000).batch(128)


def from_a_catalogue_uncached():
    ds = tfds.load("mnist", split="train", as_supervised=True)
    return ds.map(normalise).batch(128)  # expect: map-before-batch


def as_dictionary(example):
    return {"x": tf.math.log1p(tf.cast(example["x"], tf.float32)), "y": tf.one_hot(example["y"], 3)}


class Data:
    def __init__(self, table):
        self.train = tf.data.Dataset.from_tensor_slices(table)

    def batches(self):
        return self.train.map(as_dictionary).batch(256)  # expect: map-before-batch


def helper(ds, size):
    return ds.batch(size)


def in_two_functions():
    ds = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: tf.sqrt(x))  # expect: map-before-batch
    return helper(ds, 100)


def looked_up(words):
    lookup = tf.keras.layers.StringLookup(vocabulary=["a", "b"])
    return tf.data.Dataset.from_tensor_slices(words).map(lambda word: lookup(word)).batch(32)  # expect: map-before-batch


def with_a_last_axis():
    ds = tf.data.Dataset.from_tensor_slices(x_train)
    return ds.map(lambda x: tf.cast(x[..., tf.newaxis], tf.float32)).batch(32)  # expect: map-before-batch


# -- silent ----------------------------------------------------------------------------------------------------


def load(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), [224, 224]) / 255.0


decoded = tf.data.Dataset.from_tensor_slices(paths).map(load).batch(32)
batched_first = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(32).map(normalise)
tiny_batches = tf.data.Dataset.from_tensor_slices((x_train, y_train)).map(normalise).batch(4)
only_renamed = tf.data.Dataset.from_tensor_slices((x_train, y_train)).map(lambda x, y: (x, y)).batch(32)
fields = tfds.load("cifar10").map(lambda example: (example["image"], example["label"])).batch(32)
first_column = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: x[0] * 2.0).batch(32)
ragged = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: x * 2).padded_batch(32)
filtered = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: x * 2).filter(lambda x: x > 3).batch(32)
per_image = tf.data.Dataset.from_tensor_slices(x_train).map(tf.image.per_image_standardization).batch(32)
summed = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: x / tf.reduce_sum(x)).batch(32)
stacked = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: tf.stack([x, x * 2])).batch(32)
by_axis = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: tf.one_hot(x, 3, axis=0)).batch(32)


def flip(image):
    if tf.random.uniform([]) > 0.5:
        image = 1.0 - image
    return image


with_a_first_axis = tf.data.Dataset.from_tensor_slices(x_train).map(lambda x: tf.expand_dims(x, 0)).batch(32)
augmented = tf.data.Dataset.from_tensor_slices(x_train).map(flip).batch(32)


def cut(image):
    return image[:28, :28] / 255.0


cropped = tf.data.Dataset.from_tensor_slices(x_train).map(cut).batch(32)
