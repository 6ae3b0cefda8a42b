"""From the bytes of an image file to the pixels that a model takes: bounded, one image's trouble its own."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop.label.headers import ImageError, first_frame, header
from hotloop.words import count

if TYPE_CHECKING:
    import numpy as np

    from hotloop.label.options import Resize

CHANNELS = (1, 3)
BYTES_PER_PIXEL = 8  # the most that any of the formats spends on one: 16 bits in each of 4 channels


@dataclass(frozen=True)
class Preparation:
    """The last step from float pixels to what the model takes; `told` says it in words."""

    told: str
    dtype: str
    step: Callable[[Any], Any]

    def __call__(self, pixels: Any) -> Any:
        import tensorflow as tf

        prepared, dtype = self.step(pixels), tf.dtypes.as_dtype(self.dtype)
        return tf.cast(prepared if dtype.is_floating else tf.round(prepared), dtype)


class Decoder:
    """Reads images as a model takes them, by the ops of `label_image.py` and of `tf.image.resize`. Any thread may call.

    One compiled function for each file format, made when the first such file comes: nothing grows after that.
    """

    def __init__(
        self, size: tuple[int, int], channels: int, resize: Resize, prepare: Preparation, max_pixels: int
    ) -> None:
        self.shape = (*size, channels)
        self.size = size
        self.channels = channels
        self.resize = resize
        self.prepare = prepare
        self.max_pixels = max_pixels
        self._compiled = functools.cache(self._compile)

    def file(self, path: str) -> np.ndarray[Any, Any]:
        return self.content(self._read(path))

    def content(self, content: bytes) -> np.ndarray[Any, Any]:
        """The pixels of an image file that has been read."""
        import tensorflow as tf

        head = header(content)
        if head.width * head.height > self.max_pixels:
            size = f"{count(head.width)} x {count(head.height)} pixels"
            raise ImageError(f"{size} are more than --max-pixels {self.max_pixels}")
        if head.format == "gif":
            content = first_frame(content)
        try:
            pixels: np.ndarray[Any, Any] = self._compiled(head.format)(tf.constant(content)).numpy()
        except tf.errors.OpError as error:
            raise ImageError(f"cannot be decoded as {head.format.upper()}: {_reason(error)}") from error
        return pixels

    def _read(self, path: str) -> bytes:
        """Nothing that could block (a pipe) or fill the memory is read."""
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                raise ImageError("not a file")
            if status.st_size > BYTES_PER_PIXEL * self.max_pixels:
                raise ImageError(f"{count(status.st_size)} bytes are more than an image of --max-pixels can have")
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise ImageError(f"cannot be read: {error.strerror or error}") from error
        except ValueError as error:  # a NUL in the name
            raise ImageError(str(error)) if isinstance(error, ImageError) else ImageError("not a file name") from error

    def _compile(self, format: str) -> Callable[[Any], Any]:
        import tensorflow as tf

        def decode(content: Any) -> Any:
            with tf.device("/CPU:0"):  # a GPU would be asked for each image by itself
                pixels = self._decoded(format, content)
                return tf.ensure_shape(self.prepare(self._resized(pixels)), self.shape)

        compiled: Callable[[Any], Any] = tf.function(decode, autograph=False).get_concrete_function(
            tf.TensorSpec([], tf.string)
        )
        return compiled

    def _decoded(self, format: str, content: Any) -> Any:
        import tensorflow as tf

        if format == "webp":
            if not hasattr(tf.io, "decode_webp"):
                raise ImageError("this TensorFlow reads no WebP")
            frame = tf.io.decode_webp(content)[0]
            grey_rgb_rgba = tf.minimum(tf.range(3), tf.shape(frame)[-1] - 1)
            pixels = tf.ensure_shape(tf.gather(frame, grey_rgb_rgba, axis=-1), [None, None, 3])
        else:
            own = self.channels if format in ("jpeg", "png") else 3
            pixels = tf.ensure_shape(
                tf.io.decode_image(content, channels=own, expand_animations=False), [None, None, own]
            )
        return tf.image.rgb_to_grayscale(pixels) if pixels.shape[-1] > self.channels else pixels

    def _resized(self, pixels: Any) -> Any:
        import tensorflow as tf

        if self.resize == "bilinear-v1":  # where TensorFlow 1 put the corners
            return tf.squeeze(tf.raw_ops.ResizeBilinear(images=tf.expand_dims(pixels, 0), size=self.size), 0)
        return tf.cast(tf.image.resize(pixels, self.size, method=self.resize), tf.float32)


def _reason(error: Any) -> str:
    """The sentence in what TensorFlow says, without its nodes and frames."""
    lines = [line.strip() for line in str(error.message).splitlines()]
    told = [line for line in lines if line and not line.startswith(("Graph exec", "Detected at", "File ", "[["))]
    return told[0].rpartition("}} ")[2].rstrip(".:") if told else "the data is damaged"
