"""One graph and one session for everything, preprocessing in the graph; a third argument batches by hand."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf
from label_turns import row, take_turns

MODEL, SIZE, BATCH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

graph_def = tf.GraphDef()
with open(MODEL, "rb") as f:
    graph_def.ParseFromString(f.read())
with tf.Graph().as_default() as graph:
    name = tf.placeholder(tf.string, [])
    pixels = tf.image.decode_jpeg(tf.read_file(name), channels=3)
    resized = tf.image.resize_bilinear(tf.expand_dims(pixels, 0), [SIZE, SIZE])
    image = tf.squeeze(resized / 255.0, 0)
    tf.import_graph_def(graph_def, name="")
session = tf.Session(graph=graph)


def label(paths, output):
    with open(output, "w") as f:
        for start in range(0, len(paths), BATCH):
            chunk = paths[start : start + BATCH]
            images = np.stack([session.run(image, {name: path}) for path in chunk])
            for path, scores in zip(chunk, session.run("Identity:0", {"input:0": images})):
                f.write(row(path, scores) + "\n")


take_turns(label)
