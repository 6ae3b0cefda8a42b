import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

LABELS = ['cat', 'dog', 'horse', 'ship', 'truck']
SESSIONS = {}


def open_session(graph_path):
    """One session for each graph, open until the program ends."""
    if graph_path not in SESSIONS:
        graph = tf.Graph()
        graph_def = tf.GraphDef()
        with tf.gfile.FastGFile(graph_path, 'rb') as f:
            graph_def.ParseFromString(f.read())
        with graph.as_default():
            tf.import_graph_def(graph_def, name='')
        SESSIONS[graph_path] = tf.Session(graph=graph)
    return SESSIONS[graph_path]


def classify(image_path, graph_path):
    """Best label and its probability for one picture."""
    picture = np.load(image_path).astype(np.float32) / 255.0
    predictions = open_session(graph_path).run('final_result:0', {'picture:0': picture[np.newaxis]})
    best = predictions[0].argsort()[-1]
    return LABELS[best], float(predictions[0][best])
