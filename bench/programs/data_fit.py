"""Keras `fit` fed by a pipeline that works harder than the model: decode, resize, augment, shuffle, batch."""

import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
noise = np.random.default_rng(0).integers(0, 255, (48, 48, 3), dtype=np.uint8)
encoded = [tf.io.encode_jpeg(noise).numpy() for _ in range(256)]


def prepare(data, label):
    image = tf.image.resize(tf.io.decode_jpeg(data), (32, 32)) / 255.0
    return tf.image.random_flip_left_right(image), label


labels = np.arange(256) % 10
pipeline = tf.data.Dataset.from_tensor_slices((encoded, labels)).shuffle(256)
pipeline = pipeline.map(prepare, tf.data.AUTOTUNE).batch(16).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Flatten(), keras.layers.Dense(10)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def part() -> float:
    """Seconds of three epochs."""
    started = time.perf_counter()
    model.fit(pipeline, epochs=3, verbose=0)
    return time.perf_counter() - started
