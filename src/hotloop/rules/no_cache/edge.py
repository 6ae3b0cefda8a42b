"""Never run: near misses and odd spellings."""

import keras
import tensorflow as tf

EPOCHS = 10
AUTOTUNE = tf.data.AUTOTUNE
paths, labels, images = [], [], []
model = keras.Sequential([keras.layers.Dense(1)])


def load(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), [96, 96]) / 255.0


def load_pair(path, label):
    return load(path), label


def flip(image):
    return tf.image.random_flip_left_right(image)


def by_fit():
    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    ds = ds.map(load_pair, num_parallel_calls=AUTOTUNE)  # expect: no-cache
    ds = ds.shuffle(100).batch(32).prefetch(AUTOTUNE)
    model.fit(ds, epochs=EPOCHS)


def by_files():
    ds = tf.data.Dataset.list_files("*.jpg").map(lambda p: load(p), num_parallel_calls=AUTOTUNE)  # expect: no-cache
    model.fit(ds.map(flip, num_parallel_calls=AUTOTUNE).batch(32), epochs=EPOCHS)


def as_validation(train):
    ds = tf.data.Dataset.from_tensor_slices(paths).map(load).batch(32)  # expect: no-cache
    model.fit(train, validation_data=ds, epochs=EPOCHS)


def from_a_folder():
    ds = tf.keras.utils.image_dataset_from_directory("images", image_size=(100, 100))  # expect: no-cache
    ds = ds.map(lambda x, y: (x / 255.0, y))
    model.fit(ds, epochs=EPOCHS)


def by_loops(step, epochs):
    ds = tf.data.Dataset.from_tensor_slices(paths).map(load).batch(8)  # expect: no-cache
    for epoch in range(epochs):
        for batch in ds:
            step(batch)


class Trainer:
    def __init__(self):
        files = tf.data.Dataset.from_tensor_slices(paths)
        self.ds = files.map(load, num_parallel_calls=4).batch(8)  # expect: no-cache

    def train(self, epochs):
        model.fit(self.ds, epochs=epochs)


def make():
    return (
        tf.data.Dataset.from_tensor_slices(paths)
        .shuffle(1000)
        .map(load, num_parallel_calls=AUTOTUNE)  # expect: no-cache
        .batch(16)
    )


def elsewhere():
    model.fit(make(), epochs=EPOCHS)


# -- silent ----------------------------------------------------------------------------------------------------


def load_flipped(path):
    return flip(load(path))


def large(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), [512, 512])


def parse(record):
    return tf.io.decode_jpeg(tf.io.parse_single_example(record, {})["image"])


def scale(image):
    return tf.cast(image, tf.float32) / 255.0


def cached():
    model.fit(tf.data.Dataset.from_tensor_slices(paths).map(load).cache().batch(32), epochs=EPOCHS)


def cached_later():
    ds = tf.data.Dataset.from_tensor_slices(paths).map(load).batch(32)
    model.fit(ds.cache(), epochs=EPOCHS)


def one_epoch():
    model.fit(tf.data.Dataset.from_tensor_slices(paths).map(load).batch(32))


def random_at_once():
    ds = tf.data.Dataset.from_tensor_slices(paths).map(load_flipped, num_parallel_calls=AUTOTUNE).batch(32)
    model.fit(ds, epochs=EPOCHS)


def too_large():
    model.fit(tf.data.Dataset.from_tensor_slices(paths).map(large).batch(32), epochs=EPOCHS)


def records():
    model.fit(tf.data.TFRecordDataset(paths).map(parse).batch(32), epochs=EPOCHS)


def cheap():
    model.fit(tf.data.Dataset.from_tensor_slices(images).batch(32).map(scale), epochs=EPOCHS)


def in_memory():
    ds = tf.data.Dataset.from_tensor_slices(images).map(lambda x: tf.image.resize(x, [64, 64])).batch(32)
    model.fit(ds, epochs=EPOCHS)


def a_few_to_look_at(epochs):
    for epoch in range(epochs):
        for image in tf.data.Dataset.from_tensor_slices(paths).map(load).take(1):
            print(image)


def read_once():
    for image in tf.data.Dataset.from_tensor_slices(paths).map(load).batch(2):
        print(image)
