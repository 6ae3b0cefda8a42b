"""Trains a small network by gradient descent."""

import tensorflow as tf

STEPS = 60

weights = tf.Variable(tf.random.stateless_normal([256, 256], seed=(1, 2)) / 16)
inputs = tf.random.stateless_normal([512, 256], seed=(3, 4))
targets = tf.reduce_mean(inputs, axis=1, keepdims=True)


def forward(x):
    return tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, weights)), weights))


for step in range(STEPS):
    with tf.GradientTape() as tape:  # expect: eager-training-step
        loss = tf.reduce_mean(tf.square(forward(inputs) - targets))
    gradient = tape.gradient(loss, weights)
    weights.assign_sub(0.5 * gradient)
print(f"loss {float(loss):.4f}")
