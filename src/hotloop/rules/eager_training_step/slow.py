"""Trains a small network with a tape, step by step, nothing compiled."""

import tensorflow as tf

STEPS = 60

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential(
    [
        tf.keras.Input((16,)),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.Adam(0.01)
inputs = tf.random.stateless_normal([STEPS * 8, 16], seed=(1, 2))
targets = tf.reduce_sum(inputs[:, :4], axis=1, keepdims=True)
dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(8)


def train_step(x, y):
    with tf.GradientTape() as tape:  # expect: eager-training-step
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for x, y in dataset:
    loss = train_step(x, y)
print(f"loss {float(loss):.3f}")
