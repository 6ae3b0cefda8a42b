"""What a network sees in each picture: its middle layer, through a model cut out for every picture."""

import numpy as np
from tensorflow import keras

STEPS = 80

keras.utils.set_random_seed(5)
network = keras.Sequential(
    [
        keras.Input([16, 16, 1]),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(name="features"),
        keras.layers.Dense(10),
    ]
)
images = np.random.default_rng(5).normal(size=(STEPS, 16, 16, 1)).astype("float32")

inner = keras.Model(network.inputs, network.get_layer("features").output)


def features(image):
    return inner.predict_on_batch(image[None])[0]


total = 0.0
for image in images:
    total += features(image).sum()
print(f"features {total:.4f}")
