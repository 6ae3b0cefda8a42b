"""Keras `predict` over an input like `image_dataset_from_directory`'s: tf.data, decoded and scaled in parallel.

That one samples pixels half a pixel away from where label_image.py does; here the scores are to be the same."""

import sys

import keras
import tensorflow as tf
from label_turns import row, take_turns

MODEL, SIZE, BATCH = sys.argv[1].replace(".pb", ".keras"), int(sys.argv[2]), int(sys.argv[3])
model = keras.models.load_model(MODEL)


def load(path):
    image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
    return tf.compat.v1.image.resize_bilinear(tf.expand_dims(image, 0), (SIZE, SIZE))[0] / 255.0


def label(paths, output):
    data = tf.data.Dataset.from_tensor_slices(paths).map(load, tf.data.AUTOTUNE).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    found = model.predict(data, verbose=0)
    with open(output, "w") as f:
        for path, scores in zip(paths, found):
            f.write(row(path, scores) + "\n")


take_turns(label)
