"""Pictures smoothed one by one, each in a session of its own."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

STEPS = 12

image = tf.placeholder(tf.float32, [64, 64])
kernel = tf.get_variable("kernel", [256, 256, 32], initializer=tf.ones_initializer())
smooth = image
for _ in range(200):
    smooth = tf.tanh(smooth * 0.9 + 0.01)
answer = tf.reduce_sum(smooth) + tf.reduce_mean(kernel)
start = tf.global_variables_initializer()

images = np.random.default_rng(1).normal(size=(STEPS, 64, 64)).astype("float32")
total = 0.0
for one in images:
    with tf.Session() as session:  # expect: session-in-loop
        session.run(start)
        total += session.run(answer, {image: one})
print(f"total {total:.3f}")
