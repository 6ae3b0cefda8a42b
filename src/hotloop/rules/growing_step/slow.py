"""Scores batches of readings and follows how far the scores spread, from all of them in every step."""

import statistics

import tensorflow as tf

STEPS = 100
BATCH = 2048

weights = tf.random.stateless_normal([8, 8], seed=(1, 2))
readings = tf.random.stateless_normal([STEPS, BATCH, 8], seed=(3, 4))


@tf.function
def score(batch):
    return tf.reduce_sum(tf.tanh(batch @ weights), axis=1)


scores, widest = [], 0.0
for step in range(STEPS):
    scores += score(readings[step]).numpy().tolist()
    widest = max(widest, statistics.pstdev(scores))  # expect: growing-step
print(f"widest spread {widest:.4f}")
