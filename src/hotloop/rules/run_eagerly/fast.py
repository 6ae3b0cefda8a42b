"""A small regression network; the switch that helped to debug it was left on."""

import numpy as np
import tensorflow as tf

EPOCHS = 3
STEPS = 25

tf.keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
x = rng.normal(size=(STEPS * 16, 8)).astype("float32")
y = (x.sum(axis=1, keepdims=True) > 0).astype("float32")

model = tf.keras.Sequential(
    [
        tf.keras.Input([8]),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, y, batch_size=16, epochs=EPOCHS, shuffle=False, verbose=0)
print(f"loss {history.history['loss'][-1]:.3f}")
