"""Never run, and never named: whether shapes change can only be seen while the program runs."""

import tensorflow as tf


@tf.function
def total(values):
    return tf.reduce_sum(values)


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def any_length(values):
    return tf.reduce_sum(values)


for length in range(100):
    total(tf.zeros([length]))
    any_length(tf.zeros([length]))
