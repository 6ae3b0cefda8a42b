"""A model, whatever file it lies in, becomes one function from a batch to the outputs of a batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hotloop.label.options import Serving
from hotloop.model import HotloopError

# Ops that do more to the machine than compute. A model that needs them has to be trusted.
UNSAFE = {"PyFunc", "PyFuncStateless", "EagerPyFunc", "WriteFile", "SaveV2", "Save", "SaveSlices", "MergeV2Checkpoints"}
TRUST = "If you trust where it comes from: --trust-model (in Python, trust=True)."
KERAS = (".keras", ".h5", ".hdf5")


@dataclass(frozen=True)
class Model:
    """`call` builds ops in the graph that is traced; `shape` is one example's, None where the model leaves it open."""

    kind: str
    call: Callable[[Any], Any]
    shape: tuple[int | None, ...]
    dtype: str
    input: str
    output: str
    one_by_one: bool = False  # the file says that a batch is one example, which may or may not be so
    keras_name: str | None = None
    scales_itself: bool = False


def load(serving: Serving) -> Model:
    """By what the file is: a frozen graph, a SavedModel's folder or a Keras file."""
    path = serving.model
    if os.path.basename(path) == "saved_model.pb":
        path = os.path.dirname(path) or "."
    if not os.path.exists(path):
        raise HotloopError(f"there is no model at {path}.")
    if os.path.isdir(path):
        from hotloop.label.saved import load_saved_model

        return load_saved_model(path, serving)
    if path.lower().endswith(KERAS):
        from hotloop.label.keras_files import load_keras

        return load_keras(path, serving)
    from hotloop.label.frozen import load_frozen

    return load_frozen(path, serving)


def the_one(what: str, flag: str, found: Iterable[str], wanted: str | None, where: str) -> str:
    """The name that was asked for, or the only one there is."""
    names = list(found)
    if wanted is not None:
        if wanted not in names:
            raise HotloopError(f"{where} has no {what} `{wanted}`. {_list(names, flag)}")
        return wanted
    if len(names) != 1:
        number = "no" if not names else str(len(names))
        raise HotloopError(f"{where} has {number} {what}s that could be meant. {_list(names, flag)}")
    return names[0]


def _list(names: list[str], flag: str) -> str:
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"Name one with {flag}: {shown}." if names else f"Name one with {flag}."


def refuse_unsafe(ops: Iterable[str], path: str, trust: bool) -> None:
    """Model files are programs. What only computes may run; the rest needs its user's word."""
    unsafe = sorted(set(ops) & UNSAFE)
    if unsafe and not trust:
        does = "runs Python code" if any("PyFunc" in op for op in unsafe) else "writes files"
        raise HotloopError(f"{path} {does} ({', '.join(unsafe)}). {TRUST}")
