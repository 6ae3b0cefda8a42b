"""SavedModels: a folder with graphs and their weights."""

from __future__ import annotations

import os
from typing import Any

from hotloop.label.models import Model, refuse_unsafe, the_one
from hotloop.label.options import Serving
from hotloop.model import HotloopError

DEFAULT = ("serving_default", "serve")


def load_saved_model(path: str, serving: Serving) -> Model:
    import tensorflow as tf

    _refuse_unsafe(path, serving.trust)
    try:
        loaded = tf.saved_model.load(path)
    except (OSError, ValueError, RuntimeError, tf.errors.OpError) as error:
        raise HotloopError(f"cannot load the SavedModel {path}: {str(error).splitlines()[0]}") from error
    names = list(loaded.signatures)
    preferred = next((name for name in DEFAULT if name in names), None)
    signature = loaded.signatures[the_one("signature", "--signature", names, serving.signature or preferred, path)]
    inputs, outputs = signature.structured_input_signature[1], signature.structured_outputs
    input = the_one("input", "--input_layer", inputs, serving.input, path)
    output = the_one("output", "--output_layer", outputs, serving.output, path)
    if len(inputs) > 1:
        raise HotloopError(f"{path} needs more than one input: {', '.join(inputs)}.")
    spec = inputs[input]
    if spec.shape.rank is None:
        raise HotloopError(f"{path} does not say what shape its input `{input}` has.")

    def call(batch: Any, kept: Any = loaded) -> Any:  # a signature's variables live as long as what was loaded
        return signature(**{input: batch})[output]

    batch, *shape = spec.shape.as_list()
    return Model("SavedModel", call, tuple(shape), spec.dtype.name, input, output, one_by_one=batch == 1)


def _refuse_unsafe(path: str, trust: bool) -> None:
    """Before it is loaded: loading runs what the model says is needed to start it."""
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    proto = SavedModel()
    try:
        with open(os.path.join(path, "saved_model.pb"), "rb") as file:
            proto.ParseFromString(file.read())
    except OSError as error:
        raise HotloopError(f"{path} is a folder without a saved_model.pb: no SavedModel.") from error
    except DecodeError as error:
        raise HotloopError(f"{path}/saved_model.pb is damaged.") from error
    graphs = [meta.graph_def for meta in proto.meta_graphs]
    ops = {node.op for graph in graphs for node in graph.node}
    ops |= {node.op for graph in graphs for function in graph.library.function for node in function.node_def}
    savers = {"SaveV2", "Save", "SaveSlices", "MergeV2Checkpoints"}  # every SavedModel can save itself
    refuse_unsafe(ops - savers, path, trust)
