import tensorflow.compat.v1 as tf

graph_def = graph.as_graph_def()
for path in paths:
    with tf.Graph().as_default() as again:
        tf.import_graph_def(graph_def, name="")  # model-load-in-loop
        show(again, path)
