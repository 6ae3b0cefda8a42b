"""A weight vector pulled towards a target, with the penalty written into the call."""

import tensorflow as tf

STEPS = 60


@tf.function
def update(weights, target, penalty):
    error = weights - target
    return weights - 0.1 * error - 0.01 * penalty(weights)


weights = tf.ones([64])
target = tf.linspace(0.0, 1.0, 64)


def penalty(w):
    return tf.sign(w) * w**2


for step in range(STEPS):
    weights = update(weights, target, penalty)
print(f"mean {float(tf.reduce_mean(weights)):.5f}")
