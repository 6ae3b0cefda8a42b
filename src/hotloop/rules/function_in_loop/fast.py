"""Gradient descent whose update is compiled anew in each step."""

import tensorflow as tf

STEPS = 80

weights = tf.Variable(tf.ones([32]))
target = tf.linspace(0.0, 1.0, 32)
rate = 0.05


@tf.function
def update(goal):
    error = weights - goal
    weights.assign_sub(rate * error)
    return tf.reduce_sum(error**2)


for step in range(STEPS):
    loss = update(target)
print(f"loss {float(loss):.5f}")
