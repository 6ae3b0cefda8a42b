"""Scores rows with a fixed graph, opening a session for each row."""

import numpy as np
import tensorflow.compat.v1 as tf

STEPS = 150

tf.disable_eager_execution()
rng = np.random.default_rng(0)
rows = rng.normal(size=(STEPS, 64)).astype(np.float32)

x = tf.placeholder(tf.float32, [1, 64])
hidden = x
for _ in range(6):
    hidden = tf.nn.relu(tf.matmul(hidden, tf.constant(rng.normal(size=(64, 64)).astype(np.float32) / 8)))
scores = tf.nn.softmax(hidden)

best = []
# One session is enough for all rows.
with tf.Session() as sess:
    for row in rows:
        result = sess.run(scores, {x: row[None]})
        best.append(result.argmax())
print("classes", np.bincount(best, minlength=64).max(), "last", best[-1])
