"""What a tf.data chain is made of: its stages and its source, as data, and the names by which one knows them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from hotloop.model import Place
from hotloop.source.module import Call, Scope

STAGES = {
    "apply", "batch", "bucket_by_sequence_length", "cache", "concatenate", "enumerate", "filter", "flat_map",
    "group_by_window", "ignore_errors", "interleave", "map", "map_with_legacy_function", "padded_batch", "prefetch",
    "ragged_batch", "rebatch", "rejection_resample", "repeat", "scan", "shard", "shuffle", "skip", "snapshot",
    "sparse_batch", "take", "take_while", "unbatch", "unique", "window", "with_options",
}  # fmt: skip
# What only a data set of tf.data is asked: enough to know one whose beginning is out of sight.
TELLTALE_STAGES = {"interleave", "padded_batch", "prefetch", "ragged_batch", "shard", "unbatch", "with_options"}
TELLTALE_KEYWORDS = {"num_parallel_calls", "drop_remainder", "reshuffle_each_iteration", "cycle_length"}

SOURCE_NAMES = ("tf.data.", "tfds.load", "tfds.builder", "keras.utils.timeseries_dataset")
NAMED_SOURCES = {"tfds.load", "keras.utils.timeseries_dataset_from_array"}
NAMED_LASTS = {"make_csv_dataset", "make_batched_features_dataset"}
FROM_DIRECTORY = "dataset_from_directory"  # keras.utils.image_dataset_from_directory and its siblings
SOURCES = re.compile(
    r"^(from_\w+|range|zip|list_files|random|load|choose_from_datasets|sample_from_datasets|\w*Dataset|make_\w*dataset"
    r"|\w*dataset_from_\w+)$"
)
IN_MEMORY = ("from_tensor_slices", "from_tensors", "range")
FUNCTION_STAGES = {"map", "flat_map", "interleave", "filter", "map_with_legacy_function"}
FUSED = {  # ds.apply(tf.data.experimental.X(...)): the stages that X stands for
    "map_and_batch": ("map", "batch"),
    "shuffle_and_repeat": ("shuffle", "repeat"),
    "parallel_interleave": ("interleave",),
    "unbatch": ("unbatch",),
    "ignore_errors": ("ignore_errors",),
    "prefetch_to_device": ("prefetch",),
    "snapshot": ("snapshot",),
}


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of a chain. `call` is the call that adds it, in the function where it stands."""

    name: str
    call: Call
    function: Scope | None = None  # of map, filter and the like, where it is the project's own
    optional: bool = False  # under an `if` that the rest of the chain is not under
    fused: bool = False  # inside `apply`: its arguments are those of the function that makes it

    @property
    def place(self) -> Place:
        """From the stage's own name on: a chain begins many lines above its last stage."""
        whole, func = self.call.place, self.call.node.func
        if self.fused or not isinstance(func, ast.Attribute):
            return whole
        line, end = func.end_lineno or whole.line, func.end_col_offset or 0
        return Place(whole.path, line, max(0, end - len(func.attr)), whole.end_line, whole.end_col)

    def argument(self, index: int, name: str) -> ast.expr | None:
        return self.call.argument(index, name)


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A chain from its source to the stage where it was asked for."""

    source: str  # canonical name of what made it: `tf.data.Dataset.list_files`; "" when that is out of sight
    origin: Call | None
    stages: tuple[Stage, ...] = ()

    @property
    def kind(self) -> str:
        """The source's last name: `from_tensor_slices`, `TFRecordDataset`, `load`."""
        return self.source.rpartition(".")[2]

    @property
    def end(self) -> Call | None:
        return self.stages[-1].call if self.stages else self.origin

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.stages)

    @property
    def is_dataset(self) -> bool:
        """Whether it is tf.data for sure: pandas, Spark and others have a `map` too."""
        if self.source:
            return True
        return any(
            s.name in TELLTALE_STAGES or any(k.arg in TELLTALE_KEYWORDS for k in s.call.node.keywords)
            for s in self.stages
        )

    @property
    def in_memory(self) -> bool:
        return self.kind in IN_MEMORY

    def before(self, stage: Stage) -> tuple[Stage, ...]:
        return self.stages[: self.stages.index(stage)]

    def after(self, stage: Stage) -> tuple[Stage, ...]:
        return self.stages[self.stages.index(stage) + 1 :]


def is_source(name: str) -> bool:
    """Whether calling `name` makes a data set."""
    if name.endswith(FROM_DIRECTORY) or name in NAMED_SOURCES:
        return True
    name = name.replace("tf.data.Dataset().", "tf.data.Dataset.")  # an old habit: tf.data.Dataset().from_generator(...)
    if not name.startswith("tf.data.") or "(" in name:
        return False
    last = name.rpartition(".")[2]
    return name.startswith("tf.data.Dataset.") or last.endswith("Dataset") or last in NAMED_LASTS


def may_be_source(last: str) -> bool:
    """By its last name, before anything is resolved: that takes much longer."""
    return SOURCES.search(last) is not None
