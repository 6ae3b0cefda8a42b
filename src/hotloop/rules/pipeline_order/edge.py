"""Never run: near misses and odd spellings."""

import keras
import tensorflow as tf
import tensorflow_datasets as tfds

AUTOTUNE = tf.data.AUTOTUNE
images, labels, files = [], [], []
model = keras.Sequential([keras.layers.Dense(1)])


def decode(path):
    return tf.io.decode_jpeg(tf.io.read_file(path))


def augment(image):
    return tf.image.random_flip_left_right(image)


def repeated_first():
    ds = tf.data.Dataset.from_tensor_slices(files)
    ds = ds.map(decode).repeat()
    return ds.cache().batch(32)  # expect: pipeline-order


def frozen_augmentation():
    ds = tf.data.Dataset.from_tensor_slices(files).map(decode).map(augment, num_parallel_calls=AUTOTUNE)
    ds = ds.cache()  # expect: pipeline-order
    return ds.shuffle(100).batch(32)


def frozen_by_a_layer():
    flip = keras.Sequential([keras.layers.RandomFlip("horizontal"), keras.layers.RandomRotation(0.1)])
    ds = keras.utils.image_dataset_from_directory("images")
    ds = ds.map(lambda x, y: (flip(x), y), num_parallel_calls=AUTOTUNE)
    return ds.cache().prefetch(AUTOTUNE)  # expect: pipeline-order


def frozen_order():
    ds = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1000).batch(32).cache()  # expect: pipeline-order
    model.fit(ds, epochs=10)


def batches_shuffled():
    ds = tf.data.Dataset.from_tensor_slices((images, labels))
    ds = ds.batch(64)
    ds = ds.shuffle(buffer_size=1024)  # expect: pipeline-order
    return ds.prefetch(1)


class Data:
    def __init__(self):
        self.ds = tfds.load("mnist", split="train").batch(128)

    def training(self):
        return self.ds.shuffle(100).prefetch(AUTOTUNE)  # expect: pipeline-order


def cut_short():
    ds = tf.data.Dataset.from_tensor_slices(files).map(decode).cache().take(100)  # expect: pipeline-order
    model.fit(ds.batch(8), epochs=5)


def undone():
    return tf.data.Dataset.from_tensor_slices(images).batch(32).unbatch().shuffle(10)  # expect: pipeline-order


def over_many_lines():
    return (
        tf.data.Dataset.from_tensor_slices(files)
        .map(decode)
        .repeat(5)
        .cache()  # expect: pipeline-order
        .batch(32)
    )


# -- silent ----------------------------------------------------------------------------------------------------


def right_order():
    ds = tf.data.Dataset.from_tensor_slices(files).map(decode).cache().shuffle(1000)
    ds = ds.map(augment, num_parallel_calls=AUTOTUNE).batch(32).repeat().prefetch(AUTOTUNE)
    model.fit(ds, epochs=10)


def shuffled_paths_again_after():
    ds = tf.data.Dataset.from_tensor_slices(files).shuffle(1000).map(decode).cache().shuffle(1000).batch(32)
    model.fit(ds, epochs=10)


def one_order_is_wanted():
    ds = tf.data.Dataset.from_tensor_slices(images).shuffle(1000, reshuffle_each_iteration=False).cache().batch(32)
    model.fit(ds, epochs=10)


def split():
    ds = tf.data.Dataset.from_tensor_slices(images).shuffle(1000, seed=1)
    train, test = ds.skip(100).batch(8).cache(), ds.take(100).batch(8).cache()
    model.fit(train, validation_data=test, epochs=10)


def sliding_windows():
    ds = tf.data.Dataset.from_tensor_slices(images).window(10, shift=1, drop_remainder=True)
    return ds.flat_map(lambda w: w.batch(10)).shuffle(100).batch(32)


def sequences():
    ds = tf.data.Dataset.from_tensor_slices(images).batch(101, drop_remainder=True).map(lambda x: (x[:-1], x[1:]))
    return ds.shuffle(10_000).batch(64)


def clips_are_shuffled(num_frames=16):
    return tf.data.Dataset.from_tensor_slices(images).batch(num_frames, drop_remainder=True).shuffle(128)


def already_shuffled():
    return tf.data.Dataset.from_tensor_slices(images).shuffle(1000).batch(32).shuffle(10)


def batched_again():
    ds = tf.data.Dataset.from_tensor_slices(images).batch(32).map(lambda x: x / 2).unbatch().batch(10)
    return ds.prefetch(1)


def batched_for_others():
    batches = tf.data.Dataset.from_tensor_slices(images).batch(32)
    model.fit(batches)
    return batches.unbatch().take(5)


def one_sample(path):
    return tf.data.Dataset.from_tensor_slices(path).map(augment, num_parallel_calls=2).take(1).cache().repeat()


def to_look_at():
    return tf.data.Dataset.from_tensor_slices(images).batch(8).shuffle(20).take(1)


def repeated_once():
    return tf.data.Dataset.from_tensor_slices(images).repeat(1).cache().batch(2)


def other_caches(client, frame):
    client.repeat().cache()
    frame.shuffle().cache()


def looked_at_once():
    for image in tf.data.Dataset.from_tensor_slices(images).cache().take(3):
        print(image)
