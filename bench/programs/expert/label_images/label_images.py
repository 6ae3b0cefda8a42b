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


def image_reader_ops(file_name, endings, input_height=128, input_width=128, input_mean=0, input_std=255):
    file_reader = tf.read_file(file_name, "file_reader")
    if endings == ".png":
        image_reader = tf.io.decode_png(file_reader, channels=3, name="png_reader")
    elif endings == ".bmp":
        image_reader = tf.image.decode_bmp(file_reader, name="bmp_reader")
    else:
        image_reader = tf.image.decode_jpeg(file_reader, channels=3, name="jpeg_reader")
    float_caster = tf.cast(image_reader, tf.float32)
    dims_expander = tf.expand_dims(float_caster, 0)
    resized = tf.image.resize_bilinear(dims_expander, [input_height, input_width])
    return tf.divide(tf.subtract(resized, [input_mean]), [input_std])


def load_labels(label_file):
    with open(label_file) as f:
        return [line.rstrip() for line in f]


class Labeler:
    def __init__(self, model_file, labels):
        self.labels = labels
        self.graph = load_graph(model_file)
        self.readers = {}
        with self.graph.as_default():
            self.path = tf.placeholder(tf.string, [])
            for ending in (".png", ".bmp", ".jpg"):
                self.readers[ending] = image_reader_ops(self.path, ending)
        self.sess = tf.Session(graph=self.graph)
        self.input = self.graph.get_operation_by_name("import/Placeholder").outputs[0]
        self.output = self.graph.get_operation_by_name("import/final_result").outputs[0]

    def label(self, file_name):
        ending = os.path.splitext(file_name)[1]
        image = self.sess.run(self.readers.get(ending, self.readers[".jpg"]), {self.path: file_name})
        results = np.squeeze(self.sess.run(self.output, {self.input: image}))
        best = results.argmax()
        return self.labels[best], results[best]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", default=os.path.join(FOLDER, "images"), help="folder of pictures")
    parser.add_argument("--graph", default=os.path.join(FOLDER, "graph.pb"), help="frozen graph")
    parser.add_argument("--labels", default=os.path.join(FOLDER, "labels.txt"), help="one label a line")
    args = parser.parse_args()

    labels = load_labels(args.labels)
    labeler = Labeler(args.graph, labels)
    for name in sorted(os.listdir(args.images)):
        label, score = labeler.label(os.path.join(args.images, name))
        print(f"{name}: {label} {score:.4f}")


if __name__ == "__main__":
    main()
