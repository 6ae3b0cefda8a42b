import glob

import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf import text_format


class FrozenModel:
    def __init__(self, path):
        self.graph = tf.Graph()
        with self.graph.as_default():
            definition = tf.GraphDef()
            with tf.io.gfile.GFile(path, "rb") as file:
                definition.ParseFromString(file.read())
            tf.import_graph_def(definition, name="")
        self.session = tf.Session(graph=self.graph)


def described(path):
    definition = tf.GraphDef()
    text_format.Merge(open(path).read(), definition)
    tf.import_graph_def(definition, name="")


def label(image):
    definition = tf.GraphDef()
    with tf.io.gfile.GFile("frozen.pb", "rb") as file:
        definition.ParseFromString(file.read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")  # model-load-in-loop
    with tf.Session(graph=graph) as session:  # session-in-loop
        return session.run("scores:0", {"x:0": image})


images = np.load("x.npy")
for path in sorted(glob.glob("frozen/*.pb")):
    model = FrozenModel(path)
    print(path, model.session.run("scores:0", {"x:0": images}).mean())
    model.session.close()
for path in sorted(glob.glob("frozen/*.pbtxt")):
    described(path)
for image in images:
    print(label(image))
