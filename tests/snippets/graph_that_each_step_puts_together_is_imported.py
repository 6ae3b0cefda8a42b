import tensorflow.compat.v1 as tf

def reloaded(graph):
    graph_def = graph.as_graph_def(add_shapes=True)
    with tf.Graph().as_default() as inferred:
        tf.import_graph_def(graph_def, name="")
    return inferred

def settled(graph):
    changed = True
    while changed:
        changed = any(infer(op) for op in graph.get_operations())
        graph = reloaded(graph)
    return graph
