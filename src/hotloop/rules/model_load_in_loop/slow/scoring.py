"""Loads a saved model and scores one row with it."""

import os
import tempfile

import tensorflow as tf

MODEL = os.path.join(tempfile.mkdtemp(), "model.keras")


def save_model():
    tf.keras.utils.set_random_seed(1)
    layers = [tf.keras.layers.Dense(32, activation="relu") for _ in range(8)]
    model = tf.keras.Sequential([tf.keras.Input((16,)), *layers, tf.keras.layers.Dense(1)])
    model.save(MODEL)


def score(row):
    model = tf.keras.models.load_model(MODEL)  # expect: model-load-in-loop
    return float(model(row[None])[0, 0])
