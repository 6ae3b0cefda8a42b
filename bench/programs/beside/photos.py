"""A frozen network and a folder of pictures, in place of those of the program's author."""

import os
import shutil

import numpy as np
import tensorflow.compat.v1 as tf

LABELS = [f"label{number}" for number in range(6)]
PHOTOS = 80


def make(folder="default_val"):
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("tf_files", f"{folder}/tf_files", *(f"{folder}/Sorted_{label}" for label in LABELS)):
        os.makedirs(name, exist_ok=True)
    made = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.float32, [None, 299, 299, 3], name="Mul")
        small = tf.reshape(tf.nn.avg_pool2d(pixels, 23, 23, "VALID"), [-1, 13 * 13 * 3])
        weights = tf.constant(made.normal(0, 0.1, (13 * 13 * 3, len(LABELS))), tf.float32)
        tf.nn.softmax(small @ weights, name="final_result")
        graph = session.graph.as_graph_def().SerializeToString()
        picture = tf.placeholder(tf.uint8, [None, None, 3])
        jpeg = tf.io.encode_jpeg(picture)
        for number in range(PHOTOS):
            data = session.run(jpeg, {picture: made.randint(0, 256, (48, 64, 3))})
            with open(f"{folder}/photo{number:03}.jpg", "wb") as file:
                file.write(data)
    with open("tf_files/retrained_graph.pb", "wb") as file:
        file.write(graph)
    with open(f"{folder}/tf_files/retrained_labels.txt", "w") as file:
        file.write("\n".join(LABELS))
