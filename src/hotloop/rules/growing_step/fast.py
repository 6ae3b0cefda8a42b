"""Scores batches of readings and follows how far the scores spread, from two running sums."""

import tensorflow as tf

STEPS = 100
BATCH = 2048

weights = tf.random.stateless_normal([8, 8], seed=(1, 2))
readings = tf.random.stateless_normal([STEPS, BATCH, 8], seed=(3, 4))


@tf.function
def score(batch):
    return tf.reduce_sum(tf.tanh(batch @ weights), axis=1)


total, squares, widest = 0.0, 0.0, 0.0
for step in range(STEPS):
    for one in score(readings[step]).numpy().tolist():
        total, squares = total + one, squares + one**2
    count = (step + 1) * BATCH
    widest = max(widest, (squares / count - (total / count) ** 2) ** 0.5)
print(f"widest spread {widest:.4f}")
