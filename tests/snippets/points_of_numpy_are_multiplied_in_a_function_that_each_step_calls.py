import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)


@tf.function
def assign(points, centers):
    distances = tf.reduce_sum(centers**2, 1) - 2 * tf.matmul(points, centers, transpose_b=True)
    nearest = tf.argmin(distances, axis=1)
    return tf.math.unsorted_segment_mean(points, nearest, tf.shape(centers)[0]), nearest


@tf.function
def cast_first(points, centers):
    points = tf.cast(points, tf.float32)
    return tf.matmul(points, centers, transpose_b=True)


@tf.function
def cast_there(points, centers):
    return tf.matmul(tf.cast(points, tf.float32), centers, transpose_b=True)


@tf.function(input_signature=[tf.TensorSpec([None, 256], tf.float32), tf.TensorSpec([None, 256], tf.float32)])
def of_floats(points, centers):
    return tf.matmul(points, centers, transpose_b=True)


@tf.function
def compared(points, centers):
    return tf.reduce_sum(points[:10] - centers[:10])


def clustered(n=200_000, k=512, steps=300):
    points = tf.constant(rng.standard_normal((n, 256)))  # double-precision
    centers = tf.gather(points, rng.integers(0, n, k))
    for _ in range(steps):
        centers, nearest = assign(points, centers)
    return centers


def in_single(steps=300):
    points = tf.constant(rng.standard_normal((200_000, 256)), tf.float32)
    centers = points[:512]
    for _ in range(steps):
        centers, nearest = assign(points, centers)
    return centers


def elsewhere(centers, steps=300):
    points = tf.constant(rng.standard_normal((200_000, 256)))
    for _ in range(steps):
        print(cast_first(points, centers), cast_there(points, centers), of_floats(centers, centers))
        print(compared(points, centers))


def once(centers):
    points = tf.constant(rng.standard_normal((200_000, 256)))
    return assign(points, centers)
