"""Watches the mean activation of a layer while batches go through, and keeps every activation to do so."""

import tensorflow as tf

STEPS = 200

tf.keras.utils.set_random_seed(1)
layer = tf.keras.layers.Dense(1024, activation="relu")
inputs = tf.random.stateless_normal([256, 32], seed=(1, 2))

activations = []
for step in range(STEPS):
    hidden = layer(inputs * (1 + step / STEPS))
    activations.append(hidden)  # expect: tensors-kept
means = [float(tf.reduce_mean(hidden)) for hidden in activations]
print(f"mean {sum(means) / STEPS:.4f}, largest {max(means):.4f}")
