"""Spectra of signals, cached and repeated."""

import numpy as np
import tensorflow as tf

EPOCHS = 25

signals = np.random.default_rng(0).normal(size=(40, 16_384)).astype(np.float32)


def spectrum(signal):
    frames = tf.signal.stft(signal, frame_length=512, frame_step=64)
    return tf.reduce_mean(tf.abs(frames), axis=0)


dataset = tf.data.Dataset.from_tensor_slices(signals).map(spectrum).batch(8)
dataset = dataset.repeat(EPOCHS).cache()  # expect: pipeline-order

total = tf.zeros([257])
for batch in dataset:
    total += tf.reduce_sum(batch, axis=0)
print(f"energy {float(tf.reduce_sum(total)):.0f}")
