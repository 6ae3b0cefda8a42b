"""Scores batches of frames with a convolutional network."""

import numpy as np
import tensorflow as tf

STEPS = 16

model = tf.keras.Sequential(
    [
        tf.keras.Input((64, 64, 3)),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(5),
    ]
)
rng = np.random.default_rng(0)
model.set_weights([rng.normal(0, 0.1, weight.shape) for weight in model.get_weights()])
batches = rng.random((STEPS, 16, 64, 64, 3))

scores = []
for batch in batches:
    scores.append(model.predict_on_batch(batch))
print("mean scores", np.round(np.mean(scores, axis=(0, 1)), 3))
