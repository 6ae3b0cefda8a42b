"""From the bytes of an image file to the pixels that a model takes: bounded, one image's trouble its own."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from hotloop.label.headers import ImageError, first_frame, header
from hotloop.words import count

if TYPE_CHECKING:
    import numpy as np

    from hotloop.label.options import Resize

    Array = np.ndarray[Any, Any]

Given = TypeVar("Given")
Found = TypeVar("Found")
CHANNELS = (1, 3)
BYTES_PER_PIXEL = 8  # the most that any of the formats spends on one: 16 bits in each of 4 channels
TOGETHER = ("jpeg", "png")  # formats that one compiled function decodes, several files at once


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


@dataclass(frozen=True)
class _File:
    """What has been read, and found to be of a format and a size that may be decoded."""

    format: str
    content: bytes


class Decoder:
    """Reads images as a model takes them, by the ops of `label_image.py` and of `tf.image.resize`. Any thread may call.

    A compiled function for each file format, and one for several files at once: nothing grows after that.
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
        self._one = functools.cache(self._compile_one)
        self._several = functools.cache(self._compile_several)

    def file(self, path: str) -> Array:
        return self._pixels(self._opened(path))

    def content(self, content: bytes) -> Array:
        """The pixels of an image file that has been read."""
        return self._pixels(self._checked(content))

    def chunk(self, paths: Sequence[str], size: int) -> tuple[Any, dict[int, ImageError]]:
        """A tensor of as many images, zero where one is bad or none is left; and what was wrong with the bad ones.

        The usual chunk is decoded by one call. Where that fails, or a file is of a rarer kind, it is done one by one.
        """
        import tensorflow as tf

        files = [_tried(self._opened, path) for path in paths]
        usual = [file.content for file in files if isinstance(file, _File) and file.format in TOGETHER]
        if len(usual) == size:
            try:
                return self._several(size)(tf.constant(usual)), {}
            except tf.errors.OpError:  # one of them is damaged
                pass
        return self._one_by_one(files, size)

    def ready(self, size: int) -> None:
        """Compiles for chunks of a size, before many threads ask for it at once."""
        self._several(size)

    def join(self, chunks: Sequence[Any], batch: int) -> Any:
        """One batch: chunks are cut and filled up with zeros to its size."""
        import tensorflow as tf

        rows = sum(len(chunk) for chunk in chunks)
        with tf.device("/CPU:0"):
            if rows > batch:  # the last chunk of a batch that has no equal parts
                chunks = [*chunks[:-1], chunks[-1][: batch - rows]]
            if rows < batch:  # the last batch
                chunks = [*chunks, tf.zeros((batch - rows, *self.shape), chunks[0].dtype)]
            return chunks[0] if len(chunks) == 1 else tf.concat(chunks, 0)

    def _one_by_one(self, files: Sequence[_File | ImageError], size: int) -> tuple[Any, dict[int, ImageError]]:
        import numpy as np
        import tensorflow as tf

        pixels = np.zeros((size, *self.shape), tf.dtypes.as_dtype(self.prepare.dtype).as_numpy_dtype)
        errors = {}
        for at, file in enumerate(files):
            found = _tried(self._pixels, file) if isinstance(file, _File) else file
            if isinstance(found, ImageError):
                errors[at] = found
            else:
                pixels[at] = found
        with tf.device("/CPU:0"):
            return tf.constant(pixels), errors

    def _opened(self, path: str) -> _File:
        """Nothing that could block (a pipe) or fill the memory is read."""
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                raise ImageError("not a file")
            if status.st_size > BYTES_PER_PIXEL * self.max_pixels:
                raise ImageError(f"{count(status.st_size)} bytes are more than an image of --max-pixels can have")
            with open(path, "rb") as file:
                return self._checked(file.read())
        except OSError as error:
            raise ImageError(f"cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            if isinstance(error, ImageError):
                raise
            raise ImageError("not a file name") from error  # a NUL in it

    def _checked(self, content: bytes) -> _File:
        head = header(content)
        if head.width * head.height > self.max_pixels:
            size = f"{count(head.width)} x {count(head.height)} pixels"
            raise ImageError(f"{size} are more than --max-pixels {self.max_pixels}")
        return _File(head.format, first_frame(content) if head.format == "gif" else content)

    def _pixels(self, file: _File) -> Array:
        import tensorflow as tf

        try:
            pixels: Array = self._one(file.format)(tf.constant(file.content)).numpy()
        except tf.errors.OpError as error:
            raise ImageError(f"cannot be decoded as {file.format.upper()}: {_reason(error)}") from error
        return pixels

    def _compile_one(self, format: str) -> Callable[[Any], Any]:
        import tensorflow as tf

        return _compiled(lambda content: self._prepared(format, content), tf.TensorSpec([], tf.string))

    def _compile_several(self, size: int) -> Callable[[Any], Any]:
        """Written out image by image: TensorFlow then works on all of them at once, on its own threads."""
        import tensorflow as tf

        def decode(contents: Any) -> Any:
            return tf.stack([self._prepared("jpeg", content) for content in tf.unstack(contents, num=size)])

        return _compiled(decode, tf.TensorSpec([size], tf.string))

    def _prepared(self, format: str, content: Any) -> Any:
        import tensorflow as tf

        return tf.ensure_shape(self.prepare(self._resized(self._decoded(format, content))), self.shape)

    def _decoded(self, format: str, content: Any) -> Any:
        import tensorflow as tf

        if format == "webp":
            if not hasattr(tf.io, "decode_webp"):
                raise ImageError("this TensorFlow reads no WebP")
            frame = tf.io.decode_webp(content)[0]
            grey_rgb_rgba = tf.minimum(tf.range(3), tf.shape(frame)[-1] - 1)
            pixels = tf.ensure_shape(tf.gather(frame, grey_rgb_rgba, axis=-1), [None, None, 3])
        else:
            own = self.channels if format in TOGETHER else 3
            pixels = tf.ensure_shape(
                tf.io.decode_image(content, channels=own, expand_animations=False), [None, None, own]
            )
        return tf.image.rgb_to_grayscale(pixels) if pixels.shape[-1] > self.channels else pixels

    def _resized(self, pixels: Any) -> Any:
        import tensorflow as tf

        if self.resize == "bilinear-v1":  # where TensorFlow 1 put the corners
            return tf.squeeze(tf.raw_ops.ResizeBilinear(images=tf.expand_dims(pixels, 0), size=self.size), 0)
        return tf.cast(tf.image.resize(pixels, self.size, method=self.resize), tf.float32)


def _tried(step: Callable[[Given], Found], given: Given) -> Found | ImageError:
    try:
        return step(given)
    except ImageError as error:
        return error


def _compiled(decode: Callable[[Any], Any], spec: Any) -> Callable[[Any], Any]:
    import tensorflow as tf

    def on_cpu(given: Any) -> Any:
        with tf.device("/CPU:0"):  # a GPU would be asked for each image by itself
            return decode(given)

    compiled: Callable[[Any], Any] = tf.function(on_cpu, autograph=False).get_concrete_function(spec)
    return compiled


def _reason(error: Any) -> str:
    """The sentence in what TensorFlow says, without its nodes and frames."""
    lines = [line.strip() for line in str(error.message).splitlines()]
    told = [line for line in lines if line and not line.startswith(("Graph exec", "Detected at", "File ", "[["))]
    return told[0].rpartition("}} ")[2].rstrip(".:") if told else "the data is damaged"
