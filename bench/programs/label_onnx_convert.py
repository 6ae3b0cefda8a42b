"""Converts a frozen graph for ONNX Runtime, and sees that both say the same of one batch."""

import sys

import numpy as np
import onnxruntime
import tensorflow as tf
import tf2onnx

MODEL, SIZE = sys.argv[1], int(sys.argv[2])

graph_def = tf.compat.v1.GraphDef()
with open(MODEL, "rb") as f:
    graph_def.ParseFromString(f.read())
converted, _ = tf2onnx.convert.from_graph_def(graph_def, input_names=["input:0"], output_names=["Identity:0"])

batch = np.random.default_rng(0).random((4, SIZE, SIZE, 3), np.float32)
with tf.Graph().as_default() as graph:
    tf.import_graph_def(graph_def, name="")
    with tf.compat.v1.Session() as session:
        theirs = session.run("Identity:0", {"input:0": batch})
(mine,) = onnxruntime.InferenceSession(converted.SerializeToString()).run(None, {converted.graph.input[0].name: batch})
np.testing.assert_allclose(mine, theirs, atol=1e-4)
with open(MODEL.replace(".pb", ".onnx"), "wb") as f:
    f.write(converted.SerializeToString())
