"""What an image has to become before a model takes it: size, channels and scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotloop.label.decoding import CHANNELS, Decoder, Preparation
from hotloop.label.keras_files import application
from hotloop.label.models import Model
from hotloop.label.options import Resize, Serving
from hotloop.model import HotloopError

MEAN, STD = 0.0, 255.0  # of label_image.py


def example_shape(model: Model, serving: Serving) -> tuple[int | None, ...]:
    """The model's own, with the size that was asked for where it leaves that open."""
    if model.dtype == "string":
        raise HotloopError(
            f"the input `{model.input}` takes encoded files: name the tensor of the decoded image with --input_layer."
        )
    if serving.size is None or len(model.shape) != 3:
        return model.shape
    for own, wanted, side in zip(model.shape, serving.size, ("height", "width"), strict=False):
        if own not in (None, wanted):
            raise HotloopError(f"the model takes images of {side} {own}; --input_{side} {wanted} was given.")
    return (*serving.size, model.shape[2])


def decoder_for(model: Model, shape: tuple[int | None, ...], serving: Serving) -> Decoder:
    if len(shape) != 3:
        raise HotloopError(f"the input `{model.input}` has the shape {[None, *shape]}: that is not a batch of images.")
    height, width, channels = shape
    if height is None or width is None:
        raise HotloopError("the model does not say how large its images are: give --input_height and --input_width.")
    channels = channels or 3
    if channels not in CHANNELS:
        raise HotloopError(
            f"the model takes images of {channels} channels; files are read with 1 (grey) or 3 (colour)."
        )
    return Decoder(
        (height, width), channels, resize_for(model, serving), preparation(model, serving), serving.max_pixels
    )


def resize_for(model: Model, serving: Serving) -> Resize:
    if serving.resize != "auto":
        return serving.resize
    return "bilinear-v1" if model.kind == "frozen graph" else "bilinear"


def preparation(model: Model, serving: Serving) -> Preparation:
    """As label_image.py did it, unless the model is known to want it otherwise."""
    module = application(model.keras_name)
    chosen = serving.preprocess
    if chosen == "keras" and module is None:
        raise HotloopError(
            "`--preprocess keras` is for models of keras.applications; this model's name is none of theirs."
        )
    if chosen == "auto" and (serving.mean, serving.std) == (None, None):
        if model.scales_itself or not _floating(model):
            chosen = "none"
        elif module is not None:
            chosen = "keras"
    if chosen == "none":
        return Preparation("pixels as they are, 0 to 255", model.dtype, lambda pixels: pixels)
    if chosen == "keras":
        return Preparation(f"keras.applications.{module}.preprocess_input", model.dtype, _of_application(str(module)))
    mean = MEAN if serving.mean is None else serving.mean
    std = STD if serving.std is None else serving.std
    if std == 0:
        raise HotloopError("--input_std is what pixels are divided by: it cannot be 0.")
    return Preparation(f"(pixel - {mean:g}) / {std:g}", model.dtype, lambda pixels: (pixels - mean) / std)


def _of_application(module: str) -> Callable[[Any], Any]:
    import importlib

    step: Callable[[Any], Any] = importlib.import_module(f"keras.applications.{module}").preprocess_input
    return step


def _floating(model: Model) -> bool:
    return "float" in model.dtype
