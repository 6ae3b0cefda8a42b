"""Trains a small network; the step calls the model on each example of the batch in turn."""

import tensorflow as tf

STEPS = 40
BATCH = 16

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential(
    [
        tf.keras.Input((8,)),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.SGD(0.05)
mse = tf.keras.losses.MeanSquaredError()
inputs = tf.random.stateless_normal([STEPS * BATCH, 8], seed=(1, 2))
targets = tf.reduce_sum(inputs[:, :4], axis=1, keepdims=True)
dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(BATCH)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = 0.0
        for i in range(BATCH):
            prediction = model(x[i : i + 1], training=True)  # expect: example-loop-in-step
            loss += mse(y[i : i + 1], prediction) / BATCH
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for x, y in dataset:
    loss = train_step(x, y)
print(f"loss {float(loss):.3f}")
