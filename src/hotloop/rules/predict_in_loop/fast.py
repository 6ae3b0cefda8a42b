"""Predicts a class for each image, one call of predict() per image."""

import numpy as np
import tensorflow as tf

STEPS = 40

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential(
    [
        tf.keras.Input((16, 16, 3)),
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
images = np.random.default_rng(0).random((STEPS, 16, 16, 3), dtype=np.float32)

classes = []
outputs = model.predict(images, verbose=0)
for output in outputs:
    scores = output[None]
    classes.append(int(np.argmax(scores[0])))
print("classes", classes)
