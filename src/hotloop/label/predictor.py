"""`Predictor`: a model that is loaded once and called for ever."""

from __future__ import annotations

import functools
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hotloop.label.decoding import Decoder
from hotloop.label.gathering import Gatherer
from hotloop.label.headers import ImageError
from hotloop.label.models import load
from hotloop.label.network import Network
from hotloop.label.options import MAX_PIXELS, Preprocess, Resize, Serving
from hotloop.label.pipeline import Batch, at_once, batches, chunk_size
from hotloop.label.preparing import decoder_for, example_shape
from hotloop.label.tuning import usual_batch, usual_streams
from hotloop.model import HotloopError
from hotloop.settings import cores

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np

    Array = np.ndarray[Any, Any]


class Predictor:
    """Loads a frozen graph, a SavedModel or a Keras model once; then

        p = Predictor("model.pb")
        p(array)                        # one example or a batch, as the model takes it
        p("photo.jpg")                  # an image file (or its bytes): decoded, resized and scaled first
        for path, out in p.stream(paths): ...

    `batch` is how many are computed at once: by default 8 on a CPU, 32 on a GPU. Any thread may call; single examples
    from several threads at once are computed together, and `max_wait_ms` is how long a call may wait for others to join
    it. Graph, traces and memory never grow.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        input: str | None = None,
        output: str | None = None,
        signature: str | None = None,
        size: tuple[int, int] | None = None,
        batch: int | None = None,
        mean: float | None = None,
        std: float | None = None,
        preprocess: Preprocess = "auto",
        resize: Resize = "auto",
        max_pixels: int = MAX_PIXELS,
        threads: int | None = None,
        max_wait_ms: float = 0.0,
        trust: bool = False,
    ) -> None:
        if batch is not None and batch < 1:
            raise HotloopError("a batch has at least one example.")
        self._serving = Serving(
            os.fspath(model), input, output, signature, size, mean, std, preprocess, resize, max_pixels, threads, trust
        )
        self.model = load(self._serving)
        self.shape = example_shape(self.model, self._serving)
        self._network: Network | None = Network(self.model, self.shape, batch or usual_batch())
        self.batch = self._network.batch
        if self._network.whole:
            self.model = replace(self.model, call=_gone)
        self.threads = threads or cores()
        self.streams = usual_streams(self.threads)
        self._max_wait = max_wait_ms / 1e3
        self._gather = Gatherer(self._together, self.batch, self._max_wait, self.streams)
        self._decoder: Decoder | None = None

    @property
    def classes(self) -> int:
        """How many numbers come out for one example."""
        import math

        return math.prod(self.network.output)

    @property
    def network(self) -> Network:
        if self._network is None:
            raise HotloopError("this Predictor was closed.")
        return self._network

    @property
    def decoder(self) -> Decoder:
        """Made when the first image comes: models of other things than images have none."""
        if self._decoder is None:
            self._decoder = decoder_for(self.model, self.shape, self._serving)
        return self._decoder

    def __call__(self, given: Any) -> Array:
        """One example gives one output, a batch gives a batch of outputs."""
        import numpy as np

        network = self.network
        if isinstance(given, str | Path):
            return np.asarray(self._gather(self.decoder.file(os.fspath(given))))
        if isinstance(given, bytes):
            return np.asarray(self._gather(self.decoder.content(given)))
        array = np.asarray(given, network.dtype)
        extra = array.ndim - len(self.shape)
        inner = array.shape[extra:] if extra >= 0 else ()
        if extra not in (0, 1) or any(want not in (None, got) for want, got in zip(self.shape, inner, strict=True)):
            shown = ", ".join("any" if size is None else str(size) for size in self.shape)
            raise HotloopError(f"an example of this model has the shape ({shown}); {array.shape} was given.")
        if not extra:
            return np.asarray(self._gather(array))
        if len(array) <= self.batch:
            return network(array)
        parts = (array[at : at + self.batch] for at in range(0, len(array), self.batch))
        return np.concatenate([made for _, made in at_once(network, parts, self.streams)])

    def map(self, arrays: Iterable[Any]) -> Iterator[Array]:
        """The output of each example, in order, computed in batches."""
        import numpy as np

        def stacked() -> Iterator[Array]:
            coming = iter(arrays)
            while some := list(islice(coming, self.batch)):
                yield np.stack([np.asarray(one, self.network.dtype) for one in some])

        for _, made in at_once(self, stacked(), self.streams):
            yield from made

    def stream(
        self, paths: Iterable[str | os.PathLike[str]], errors: Literal["raise", "return"] = "raise"
    ) -> Iterator[tuple[str, Any]]:
        """Each image's path and output, in order. `errors="return"` gives a bad image's `ImageError` as its output."""
        for batch, outputs in self.computed(self.decoded(paths)):
            for at, path in enumerate(batch.paths):
                error = batch.errors.get(at)
                if error is not None and errors == "raise":
                    raise ImageError(f"{path}: {error}") from error
                yield path, outputs[at] if error is None else error

    def computed(self, decoded: Iterable[Batch]) -> Generator[tuple[Batch, Array], None, None]:
        """Batch by batch, in order, some of them at once: one leaves cores idle between its ops."""
        run = self.network.run
        return at_once(lambda batch: run(batch.pixels), decoded, self.streams)

    def decoded(self, paths: Iterable[str | os.PathLike[str]]) -> Iterator[Batch]:
        """Always `batch` images of the list, the last padded, wherever in the list a run began."""
        decoder, batch, size = self.decoder, self.batch, chunk_size(self.batch)
        decoder.ready(size)
        names = (os.fspath(path) for path in paths)
        decode, join = functools.partial(decoder.chunk, size=size), functools.partial(decoder.join, batch=batch)
        return batches(names, decode, join, batch, self.threads)

    def rebatch(self, batch: int) -> None:
        """Another number of examples at once, as long as nobody is calling."""
        self.batch = self.network.batch = 1 if self.network.one_by_one else batch
        self._gather = Gatherer(self._together, self.batch, self._max_wait, self.streams)

    def close(self) -> None:
        """Lets go of the model."""
        self._network = self._decoder = None
        self.model = replace(self.model, call=_gone)

    def __enter__(self) -> Predictor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _together(self, examples: Sequence[Array]) -> Sequence[Array]:
        """Examples of an open shape can differ: those that do are computed one after the other."""
        import numpy as np

        if len({example.shape for example in examples}) > 1:
            return [self.network(example[None])[0] for example in examples]
        return list(self.network(np.stack(examples) if len(examples) > 1 else examples[0][None]))


def _gone(batch: Any) -> Any:
    """In the place of a model's own function, which may hold all its weights."""
    raise HotloopError("this model was let go.")
