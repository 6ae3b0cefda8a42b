import random

import numpy as np
import tensorflow as tf


def show(model, images):
    for image in images[:5]:
        print(model.predict(np.expand_dims(image, 0)))
    for image in random.sample(images, 6):
        print(model.predict(np.expand_dims(image, 0)))
    for image in images[40:100]:
        print(model.predict(np.expand_dims(image, 0)))  # predict-in-loop


def show_these(model, images):
    for image in images:
        print(model.predict(np.expand_dims(image, 0)))


def active_learning(model, pools, rounds=3):
    for number in range(rounds):
        model.fit(pools[number], epochs=20)
        model = tf.keras.models.load_model("best.keras")


def watch(model, camera, steps=300):
    for _ in range(steps):
        print(model.predict(np.expand_dims(camera.read(), 0)))  # predict-in-loop


def watch_on(camera, steps):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    show_these(model, camera.all[:4])
    show_these(model, images=[camera.read(), camera.read()])
    show(model, [camera.read() for _ in range(steps)])
    watch(model, camera)


active_learning(tf.keras.Sequential([tf.keras.layers.Dense(1)]), [])
