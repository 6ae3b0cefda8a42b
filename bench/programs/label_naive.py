"""label_image.py in a loop: graph, preprocessing and sessions made anew for each image."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf
from label_turns import row, take_turns

tf.disable_eager_execution()
MODEL, SIZE = sys.argv[1], int(sys.argv[2])


def load_graph(model_file):
    graph = tf.Graph()
    graph_def = tf.GraphDef()
    with open(model_file, "rb") as f:
        graph_def.ParseFromString(f.read())
    with graph.as_default():
        tf.import_graph_def(graph_def)
    return graph


def read_tensor_from_image_file(file_name, input_height, input_width, input_mean=0, input_std=255):
    file_reader = tf.read_file(file_name, "file_reader")
    image_reader = tf.image.decode_jpeg(file_reader, channels=3, name="jpeg_reader")
    float_caster = tf.cast(image_reader, tf.float32)
    dims_expander = tf.expand_dims(float_caster, 0)
    resized = tf.image.resize_bilinear(dims_expander, [input_height, input_width])
    normalized = tf.divide(tf.subtract(resized, [input_mean]), [input_std])
    sess = tf.Session()
    return sess.run(normalized)


def label(paths, output):
    with open(output, "w") as f:
        for path in paths:
            graph = load_graph(MODEL)
            image = read_tensor_from_image_file(path, SIZE, SIZE)
            with tf.Session(graph=graph) as sess:
                results = sess.run("import/Identity:0", {"import/input:0": image})
            f.write(row(path, np.squeeze(results)) + "\n")


take_turns(label)
