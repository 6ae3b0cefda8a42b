from __future__ import annotations

import tensorflow as tf


class Smoother:
    """Three passes of a Hann window."""

    def __init__(self, width: int) -> None:
        window = tf.signal.hann_window(width + 2, periodic=False)[1:-1]
        self.kernel = tf.reshape(window / tf.reduce_sum(window), [-1, 1, 1])

    @tf.function  # guilty: function
    def apply(self, values: tf.Tensor) -> tf.Tensor:  # guilty: function
        signal = tf.reshape(tf.cast(values, tf.float32), [1, -1, 1])
        for _ in range(3):
            signal = tf.nn.conv1d(signal, self.kernel, stride=1, padding="SAME")
        return tf.reshape(signal, [-1])
