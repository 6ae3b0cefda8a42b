"""A learning rate that decays, brought into the model by compiling it again."""

import numpy as np
import tensorflow as tf

STEPS = 12
RATE = 0.1

tf.keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
x = rng.normal(size=(32, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)

model = tf.keras.Sequential([tf.keras.Input([8]), tf.keras.layers.Dense(1)])

model.compile(optimizer=tf.keras.optimizers.SGD(), loss="mse")
for step in range(STEPS):
    rate = RATE / (1 + step)
    model.optimizer.learning_rate = rate
    model.reset_metrics()
    loss = model.train_on_batch(x, y)
print(f"loss {float(loss):.4f}")
