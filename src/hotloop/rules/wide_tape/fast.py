"""Trains a small network with one persistent tape around all the steps."""

import tensorflow as tf

STEPS = 60

weights = tf.Variable(tf.random.stateless_normal([256, 256], seed=(1, 2)) / 16)
inputs = tf.random.stateless_normal([512, 256], seed=(3, 4))
targets = tf.reduce_mean(inputs, axis=1, keepdims=True)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.matmul(inputs, weights))
        loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(hidden, weights)) - targets))
    weights.assign_sub(0.5 * tape.gradient(loss, weights))
    return loss


for step in range(STEPS):
    loss = train_step()
print(f"loss {float(loss):.4f}")
