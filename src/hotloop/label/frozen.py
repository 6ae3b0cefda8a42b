"""Frozen graphs of TensorFlow 1: a GraphDef in a `.pb` file, with the weights inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hotloop.label.models import Model, refuse_unsafe, the_one
from hotloop.label.options import Serving
from hotloop.model import HotloopError

VARIABLES = {"Variable", "VariableV2", "VarHandleOp"}
NO_RESULT = {"Const", "NoOp", "Assert", "Placeholder", "PlaceholderWithDefault", "SaveV2", "RestoreV2"}


def load_frozen(path: str, serving: Serving) -> Model:
    import tensorflow as tf

    whole = _parsed(path)
    ends = {node.name for node in whole.node} - {_node(name) for node in whole.node for name in node.input}
    named = {node.name for node in whole.node}
    if serving.output is None:
        _refuse_variables(whole, path)
    results = [node.name for node in whole.node if node.name in ends and node.op not in NO_RESULT]
    output = _tensor(serving.output, named, results, "output", "--output_layer", path)
    placeholders = [node.name for node in _needed(whole, output).node if node.op == "Placeholder"]
    input = _tensor(serving.input, named, placeholders, "input", "--input_layer", path)
    shape, dtype = _signature(whole, input)
    graph = _needed(whole, output, stop=_node(input))
    others = [node.name for node in graph.node if node.op == "Placeholder" and node.name != _node(input)]
    if others:
        raise HotloopError(f"{path} needs more than one input: {', '.join(others)} as well as {_node(input)}.")
    ops = {node.op for node in graph.node} | {node.op for f in graph.library.function for node in f.node_def}
    _refuse_variables(graph, path)
    refuse_unsafe(ops, path, serving.trust)

    def call(batch: Any) -> Any:
        return tf.import_graph_def(graph, input_map={input: batch}, return_elements=[output], name="")[0]

    if shape is None:
        shape = [None, None, None, 3]  # label_image.py's models, which say nothing
    one = bool(shape) and shape[0] == 1
    return Model("frozen graph", call, tuple(shape[1:]), dtype, input, output, one_by_one=one)


def _parsed(path: str) -> Any:
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    graph = tf.compat.v1.GraphDef()
    try:
        graph.ParseFromString(Path(path).read_bytes())
    except OSError as error:
        raise HotloopError(f"cannot read the model {path}: {error.strerror}.") from error
    except DecodeError as error:
        raise HotloopError(f"{path} is not a frozen graph, a SavedModel or a Keras model.") from error
    if not any(node.op for node in graph.node):
        raise HotloopError(f"{path} is not a frozen graph, a SavedModel or a Keras model.")
    return graph


def _refuse_variables(graph: Any, path: str) -> None:
    if any(node.op in VARIABLES for node in graph.node):
        raise HotloopError(f"{path} is not frozen: its weights are variables, kept in a checkpoint beside it.")


def _tensor(wanted: str | None, named: set[str], found: list[str], what: str, flag: str, path: str) -> str:
    """`name`, `name:0` and label_image.py's `import/name` all mean the same tensor."""
    if wanted is None:
        return the_one(what, flag, found, None, path) + ":0"
    name, _, index = wanted.partition(":")
    if name not in named and name.removeprefix("import/") in named:
        name = name.removeprefix("import/")
    if name not in named:
        the_one(what, flag, found, name, path)
    return f"{name}:{index or 0}"


def _node(tensor: str) -> str:
    return tensor.removeprefix("^").partition(":")[0]


def _needed(graph: Any, output: str, stop: str | None = None) -> Any:
    """The part that the output is computed from; what feeds the node `stop` is left out, as that is fed."""
    import tensorflow as tf

    nodes = {node.name: node for node in graph.node}
    needed, waiting = set(), [_node(output)]
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in needed:
            needed.add(name)
            waiting += [] if name == stop else [_node(tensor) for tensor in nodes[name].input]
    part = tf.compat.v1.GraphDef(versions=graph.versions, library=graph.library)
    for node in graph.node:
        if node.name in needed:
            part.node.add().CopyFrom(node)
            if node.name == stop:
                part.node[-1].Clear()
                part.node[-1].MergeFrom(_placeholder(node.name))
    return part


def _placeholder(name: str) -> Any:
    """What stands where the images come in, whatever op it was."""
    import tensorflow as tf

    node = tf.compat.v1.NodeDef(name=name, op="Placeholder")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    return node


def _signature(graph: Any, input: str) -> tuple[list[int | None] | None, str]:
    """The shape and the type of a tensor, as TensorFlow infers them."""
    import tensorflow as tf

    with tf.Graph().as_default() as scratch:
        try:
            tf.import_graph_def(graph, name="")
            tensor = scratch.get_tensor_by_name(input)
        except (ValueError, KeyError) as error:
            raise HotloopError(f"the graph cannot be imported: {str(error).splitlines()[0]}") from error
        shape = tensor.shape.as_list() if tensor.shape.rank is not None else None
        return shape, str(tensor.dtype.name)
