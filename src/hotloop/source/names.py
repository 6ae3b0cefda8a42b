"""TensorFlow's many names for one thing: every spelling becomes `tf.X` or `keras.X`. Data and one pure function."""

from __future__ import annotations

import functools
import re

# First match wins: the longest spellings stand first.
PREFIXES = (
    ("tensorflow.compat.v1.keras", "keras"),
    ("tensorflow.compat.v2.keras", "keras"),
    ("tensorflow.python.keras", "keras"),
    ("tensorflow.keras", "keras"),
    ("tensorflow.compat.v1", "tf"),
    ("tensorflow.compat.v2", "tf"),
    ("tensorflow_core", "tf"),
    ("tensorflow", "tf"),
    ("tf_keras", "keras"),
    ("keras.api", "keras"),
    ("keras.src", "keras"),
    ("tf.compat.v1.keras", "keras"),
    ("tf.compat.v2.keras", "keras"),
    ("tf.compat.v1", "tf"),
    ("tf.compat.v2", "tf"),
    ("tf.keras", "keras"),
    ("tensorflow_hub", "hub"),
    ("tensorflow_datasets", "tfds"),
    ("numpy", "np"),
)

# TensorFlow 1 names, and second homes of the same function, to the name that rules use.
RENAMED = {
    "tf.io.read_file": "tf.read_file",
    "tf.saved_model.load_v2": "tf.saved_model.load",
    "tf.graph_util.import_graph_def": "tf.import_graph_def",
    "keras.models.Model": "keras.Model",
    "keras.models.Sequential": "keras.Sequential",
    "keras.engine.training.Model": "keras.Model",
    "keras.saving.load_model": "keras.models.load_model",
    "tf.contrib.eager.GradientTape": "tf.GradientTape",
    "tf.contrib.eager.defun": "tf.function",
    "tf.train.Optimizer": "keras.optimizers.Optimizer",
    "tf.python.client.session.Session": "tf.Session",
    "tf.python.client.session.InteractiveSession": "tf.InteractiveSession",
    "tf.python.framework.importer.import_graph_def": "tf.import_graph_def",
    "tf.python.framework.ops.Graph": "tf.Graph",
    "tf.python.training.saver.Saver": "tf.train.Saver",
    "tf.python.eager.def_function.function": "tf.function",
    "tf.python.eager.backprop.GradientTape": "tf.GradientTape",
}

# What `from keras.models import *` brings; of other modules anything may come.
STARRED = {
    "keras.models": re.compile(r"Model|Sequential|(load|save|clone)_model|model_from_\w+"),
    "keras.layers": re.compile(r"[A-Z]\w*|add|average|concatenate|dot|maximum|minimum|multiply|subtract"),
    "keras.optimizers": re.compile(r"SGD|RMSprop|Ada\w+|Nadam|Ftrl|Lion|Lamb|Muon|\w*Optimizer|schedules"),
    "keras.callbacks": re.compile(
        r"\w*Callback|EarlyStopping|ModelCheckpoint|ReduceLR\w+|TensorBoard|CSVLogger|\w+Scheduler|TerminateOnNaN|History"
    ),
    "keras.losses": re.compile(
        r"\w*(Crossentropy|crossentropy|Error|_error|Loss|[Hh]inge|[Hh]uber|Divergence|Poisson)"
    ),
    "keras.regularizers": re.compile(r"[lL][12]|l1_l2|L1L2|\w*Regularizer"),
    "keras.preprocessing.image": re.compile(r"ImageDataGenerator|\w*(_img|img_to_array|array_to_img)"),
    "keras.preprocessing.sequence": re.compile(r"pad_sequences|TimeseriesGenerator"),
    "keras.utils": re.compile(r"to_categorical|Sequence|PyDataset|plot_model|get_file|normalize|\w+_dataset_from_\w+"),
}


def starred(base: str, name: str) -> bool | None:
    """Whether a star brings the name from a module with that canonical name; None: it may."""
    known = STARRED.get(base)
    return known.fullmatch(name) is not None if known else None


@functools.cache
def canonical(dotted: str) -> str:
    """`tensorflow.compat.v1.Session` -> `tf.Session`; `tf_keras.Model` -> `keras.Model`; others as they are."""
    changed = True
    while changed:
        changed = False
        for prefix, short in PREFIXES:
            if dotted == prefix or dotted.startswith(prefix + "."):
                dotted, changed = short + dotted[len(prefix) :], True
                break
    return RENAMED.get(dotted, dotted)
