"""Keras models: `.keras` and `.h5` files, loaded without running code that the file brings."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from typing import Any

from hotloop.label.models import TRUST, Model
from hotloop.label.options import Serving
from hotloop.model import HotloopError

# How the names of keras.applications' models begin, and the module whose preprocess_input they were trained with.
APPLICATIONS = {
    "convnext": "convnext",
    "densenet": "densenet",
    "efficientnetv2": "efficientnet_v2",
    "efficientnet": "efficientnet",
    "inception_resnet_v2": "inception_resnet_v2",
    "inception_v3": "inception_v3",
    "mobilenetv2": "mobilenet_v2",
    "mobilenetv3": "mobilenet_v3",
    "mobilenet_": "mobilenet",
    "nasnet": "nasnet",
    "resnet50v2": "resnet_v2",
    "resnet101v2": "resnet_v2",
    "resnet152v2": "resnet_v2",
    "resnet50": "resnet50",
    "resnet101": "resnet",
    "resnet152": "resnet",
    "vgg16": "vgg16",
    "vgg19": "vgg19",
    "xception": "xception",
}
SCALING = ("Rescaling", "Normalization")
EARLY = 4  # layers
LARGEST = 1 << 26  # bytes of a model's description: a small file can unpack to gigabytes


def load_keras(path: str, serving: Serving) -> Model:
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    import keras

    if keras.backend.backend() != "tensorflow":
        raise HotloopError(f"Keras runs on {keras.backend.backend()} here: set KERAS_BACKEND=tensorflow.")
    _refuse_code(path, serving.trust)
    try:
        model = keras.models.load_model(path, compile=False, **_safe_mode(keras, serving.trust))
    except Exception as error:  # whatever a damaged or foreign file provokes in Keras
        raise HotloopError(f"cannot load the Keras model {path}: {_first_line(error)}") from error
    inputs, outputs = list(model.inputs), list(model.outputs)
    if len(inputs) != 1 or len(outputs) != 1:
        raise HotloopError(f"{path} has {len(inputs)} inputs and {len(outputs)} outputs: only one of each is served.")
    batch, *shape = inputs[0].shape
    return Model(
        "Keras model",
        lambda images: model(images, training=False),
        tuple(shape),
        str(getattr(inputs[0].dtype, "name", inputs[0].dtype)),
        inputs[0].name,
        outputs[0].name,
        one_by_one=batch == 1,
        keras_name=model.name,
        scales_itself=any(type(layer).__name__ in SCALING for layer in model.layers[:EARLY]),
    )


def application(name: str | None) -> str | None:
    """The module of keras.applications that a model of this name comes from."""
    known = (module for start, module in APPLICATIONS.items() if (name or "").lower().startswith(start))
    return next(known, None)


def _safe_mode(keras: Any, trust: bool) -> dict[str, bool]:
    """Keras before 2.13 has no such word; what it would refuse is refused here already."""
    import inspect

    parameters = inspect.signature(keras.models.load_model).parameters
    return {"safe_mode": not trust} if "safe_mode" in parameters or "kwargs" in parameters else {}


def _refuse_code(path: str, trust: bool) -> None:
    """Looks for itself: some versions of Keras load the Lambda layers of an .h5 file in spite of safe_mode."""
    if trust:
        return
    for part in _parts(_config(path)):
        name, module = str(part.get("class_name")), part.get("module")
        if name in ("Lambda", "__lambda__"):
            raise HotloopError(f"{path} has a Lambda layer: Python code that would run here. {TRUST}")
        if isinstance(module, str) and module.partition(".")[0] not in ("keras", "tf_keras", "builtins", "tensorflow"):
            raise HotloopError(f"{path} has a {name} from `{module}`, which is not Keras. {TRUST}")


def _config(path: str) -> Any:
    """What the file says the model is made of."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                if archive.getinfo("config.json").file_size > LARGEST:
                    raise HotloopError(f"{path} describes a model of more than {LARGEST >> 20} MB of text.")
                return json.loads(archive.read("config.json"))
        import h5py

        with h5py.File(path, "r") as file:
            return json.loads(file.attrs["model_config"])
    except KeyError as error:
        raise HotloopError(f"{path} holds weights without a model: save the whole model.") from error
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise HotloopError(f"{path} is not a Keras model: {_first_line(error)}") from error


def _parts(config: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary inside, at any depth."""
    waiting = [config]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
