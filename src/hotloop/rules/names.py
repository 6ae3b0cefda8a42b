"""What TensorFlow and Keras call the things that rules look for. Data only; names are canonical (see source.names)."""

SESSIONS = {"tf.Session", "tf.InteractiveSession"}
SESSION_OBJECTS = {f"{name}()" for name in SESSIONS} | {
    "tf.train.MonitoredSession()",
    "tf.get_default_session()",
}

# What loads, imports or restores a model, and where its source is among the arguments.
LOADERS = {
    "keras.models.load_model": "path",
    "keras.models.model_from_json": "config",
    "tf.saved_model.load": "path",
    "tf.saved_model.loader.load": "path",
    "tf.import_graph_def": "graph_def",
    "tf.train.import_meta_graph": "path",
    "tf.train.Saver().restore": "path",
    "tf.train.Checkpoint().restore": "path",
    "tf.train.Checkpoint().read": "path",
    "tf.train.CheckpointManager().restore_or_initialize": "",
    "tf.train.load_checkpoint": "path",
    "tf.train.load_variable": "path",
    "tf.lite.Interpreter": "path",
    "hub.load": "path",
    "hub.Module": "path",
    "hub.KerasLayer": "path",
}
APPLICATIONS = "keras.applications."  # keras.applications.ResNet50(...) builds a model and reads its weights

MODELS = {"keras.Model()", "keras.Sequential()", "keras.models.load_model()", "keras.models.clone_model()",
          "keras.models.model_from_json()", "keras.models.model_from_config()"}  # fmt: skip

# Under `tf.`, what is no op: calling it adds nothing to a graph.
NOT_OPS = (
    "tf.app", "tf.compat", "tf.config", "tf.data", "tf.debugging.set", "tf.device", "tf.disable", "tf.enable",
    "tf.estimator", "tf.executing", "tf.flags", "tf.function", "tf.get_collection", "tf.get_default", "tf.gfile",
    "tf.global_variables", "tf.import_graph_def", "tf.io.gfile", "tf.logging", "tf.name_scope", "tf.no_op",
    "tf.profiler", "tf.random.set_seed", "tf.reset_default_graph", "tf.saved_model", "tf.set_random_seed",
    "tf.summary", "tf.sysconfig", "tf.test", "tf.train", "tf.trainable_variables", "tf.variable_scope",
    "tf.control_dependencies", "tf.constant_initializer", "tf.keras", "tf.get_variable", "tf.graph_util", "tf.lite",
)  # fmt: skip


def is_op(name: str) -> bool:
    """Whether calling `name` makes an op: `tf.` and a lower-case last part, less the names above and all `get_...`."""
    if name == "tf.global_variables_initializer":
        return True
    last = name.rpartition(".")[2]
    made = last.islower() and not last.startswith("get_")
    return name.startswith("tf.") and made and "(" not in name and not name.startswith(NOT_OPS)


def is_model(name: str) -> bool:
    in_callback = name.startswith("keras.callbacks.") and name.endswith("().model")
    return name in MODELS or in_callback or (name.startswith(APPLICATIONS) and name.endswith("()"))
