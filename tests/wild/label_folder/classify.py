import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

LABELS = ['cat', 'dog', 'horse', 'ship', 'truck']


def classify(image_path, graph_path):
    """Best label and its probability for one picture."""
    picture = np.load(image_path).astype(np.float32) / 255.0

    # Unpersists graph from file
    graph = tf.Graph()  # guilty: session, model-load
    graph_def = tf.GraphDef()
    with tf.gfile.FastGFile(graph_path, 'rb') as f:
        graph_def.ParseFromString(f.read())  # guilty: model-load
    with graph.as_default():
        tf.import_graph_def(graph_def, name='')  # guilty: model-load

    with tf.Session(graph=graph) as sess:  # guilty: session
        # Feed the picture and get the first prediction
        softmax = sess.graph.get_tensor_by_name('final_result:0')
        predictions = sess.run(softmax, {'picture:0': picture[np.newaxis]})

    best = predictions[0].argsort()[-1]
    return LABELS[best], float(predictions[0][best])
