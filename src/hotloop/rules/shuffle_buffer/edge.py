"""Never run: near misses and odd spellings."""

import keras
import tensorflow as tf

IMG_SIZE = (256, 256)
SIDE = 299
BUFFER = 10_000
paths, images = [], []


def load(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), IMG_SIZE)


def small(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), [32, 32])


def pair(path, label):
    return load(path), label


def by_names():
    return tf.data.Dataset.from_tensor_slices(paths).map(load).shuffle(BUFFER).batch(32)  # expect: shuffle-buffer


def by_keyword():
    ds = tf.data.Dataset.list_files("*.jpg").map(lambda p: load(p), num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.cache("decoded")
    return ds.shuffle(buffer_size=BUFFER, seed=3)  # expect: shuffle-buffer


def after_batch():
    ds = tf.data.Dataset.from_tensor_slices((paths, paths)).map(pair).batch(64)
    return ds.shuffle(1000)  # expect: shuffle-buffer, pipeline-order


def from_a_folder():
    ds = keras.utils.image_dataset_from_directory("images", image_size=(180, 180), batch_size=32)
    return ds.shuffle(1000).prefetch(1)  # expect: shuffle-buffer


def from_a_folder_with_defaults():
    ds = tf.keras.preprocessing.image_dataset_from_directory("images")
    return ds.shuffle(1000).prefetch(1)  # expect: shuffle-buffer


def helper(ds):
    return ds.shuffle(50 * 1000)  # expect: shuffle-buffer


def through_a_helper():
    square = tf.data.Dataset.from_tensor_slices(paths).map(lambda p: tf.image.resize(p, [SIDE] * 2))
    return helper(square)


# -- silent ----------------------------------------------------------------------------------------------------


def names_first():
    return tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths)).map(load).batch(32)


def all_names_first():
    return tf.data.Dataset.from_tensor_slices(paths).shuffle(1_000_000).map(load).batch(32)


def cached_in_memory():
    ds = keras.utils.image_dataset_from_directory("images", image_size=(180, 180), batch_size=32)
    return ds.cache().shuffle(1000).prefetch(1)


def small_buffer():
    return tf.data.Dataset.from_tensor_slices(paths).map(load).shuffle(128).batch(32)


def small_pictures():
    return tf.data.Dataset.from_tensor_slices(paths).map(small).shuffle(10_000).batch(32)


def batch_by_batch():
    ds = keras.utils.image_dataset_from_directory("images", image_size=(64, 64), batch_size=16)
    return ds.shuffle(8).prefetch(1)


def of_unknown_size(size):
    return tf.data.Dataset.from_tensor_slices(paths).map(load).shuffle(size).batch(32)


def of_unknown_shape(parse):
    return tf.data.TFRecordDataset(paths).map(parse).shuffle(10_000).batch(32)


def numbers():
    return tf.data.Dataset.range(1_000_000).shuffle(1_000_000).batch(32)


def rows():
    return tf.data.Dataset.from_tensor_slices(images).shuffle(60_000).batch(32)


def lists(random):
    random.shuffle(paths)
