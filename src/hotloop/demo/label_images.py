"""Labels every picture of a folder with a frozen graph: label_image.py, put in a loop the way it usually is."""

import argparse
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

FOLDER = os.path.join(tempfile.gettempdir(), "hotloop-demo")


def load_graph(model_file):
    graph = tf.Graph()
    graph_def = tf.GraphDef()
    with open(model_file, "rb") as f:
        graph_def.ParseFromString(f.read())
    with graph.as_default():
        tf.import_graph_def(graph_def)
    return graph


def read_tensor_from_image_file(file_name, input_height=128, input_width=128, input_mean=0, input_std=255):
    file_reader = tf.read_file(file_name, "file_reader")
    if file_name.endswith(".png"):
        image_reader = tf.io.decode_png(file_reader, channels=3, name="png_reader")
    elif file_name.endswith(".bmp"):
        image_reader = tf.image.decode_bmp(file_reader, name="bmp_reader")
    else:
        image_reader = tf.image.decode_jpeg(file_reader, channels=3, name="jpeg_reader")
    float_caster = tf.cast(image_reader, tf.float32)
    dims_expander = tf.expand_dims(float_caster, 0)
    resized = tf.image.resize_bilinear(dims_expander, [input_height, input_width])
    normalized = tf.divide(tf.subtract(resized, [input_mean]), [input_std])
    sess = tf.Session()
    return sess.run(normalized)


def load_labels(label_file):
    with open(label_file) as f:
        return [line.rstrip() for line in f]


def label_image(file_name, model_file, labels):
    graph = load_graph(model_file)
    image = read_tensor_from_image_file(file_name)
    input_operation = graph.get_operation_by_name("import/Placeholder")
    output_operation = graph.get_operation_by_name("import/final_result")
    with tf.Session(graph=graph) as sess:
        results = sess.run(output_operation.outputs[0], {input_operation.outputs[0]: image})
    results = np.squeeze(results)
    best = results.argmax()
    return labels[best], results[best]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", default=os.path.join(FOLDER, "images"), help="folder of pictures")
    parser.add_argument("--graph", default=os.path.join(FOLDER, "graph.pb"), help="frozen graph")
    parser.add_argument("--labels", default=os.path.join(FOLDER, "labels.txt"), help="one label a line")
    args = parser.parse_args()

    labels = load_labels(args.labels)
    for name in sorted(os.listdir(args.images)):
        label, score = label_image(os.path.join(args.images, name), args.graph, labels)
        print(f"{name}: {label} {score:.4f}")


if __name__ == "__main__":
    main()
