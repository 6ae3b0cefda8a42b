"""Fits a line with a learning rate that falls a little after each step."""

import tensorflow as tf

STEPS = 120

x = tf.linspace(-1.0, 1.0, 64)
y = 3.0 * x + 0.5
slope, bias = tf.Variable(0.0), tf.Variable(0.0)


@tf.function
def train_step(x, y, lr):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((slope * x + bias - y) ** 2)
    gradients = tape.gradient(loss, [slope, bias])
    slope.assign_sub(lr * gradients[0])
    bias.assign_sub(lr * gradients[1])
    return loss


lr = 0.5
for step in range(STEPS):
    loss = train_step(x, y, lr)  # expect: python-number-argument
    lr *= 0.99
print(f"slope {slope.numpy():.3f} bias {bias.numpy():.3f}")
