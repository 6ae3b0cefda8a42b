"""The labelling job: images in, rows out, in order; and what it was that took the time."""

from __future__ import annotations

import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.label.journal import Journal
from hotloop.label.options import Options
from hotloop.label.predictor import Predictor
from hotloop.label.rows import Row, Rows, read_labels, to_json
from hotloop.label.tuning import measured_batch
from hotloop.model import HotloopError

if TYPE_CHECKING:
    from hotloop.label.pipeline import Batch

    Array = Any

WRITES_AHEAD = 4  # batches whose rows wait to be written
Step = Callable[[int, int], None]
Sink = Callable[[Sequence[Row]], None]


@dataclass
class Summary:
    """What was done, and what the one thread that everything passes through waited for."""

    images: int = 0
    failures: int = 0
    seconds: float = 0.0
    decode: float = 0.0
    compute: float = 0.0
    write: float = 0.0
    resumed: int = 0
    batch: int = 0
    prepared: str = ""
    failed: list[Row] = field(default_factory=list)  # the first few

    @property
    def rate(self) -> float:
        return self.images / self.seconds if self.seconds else 0.0

    @property
    def limit(self) -> str:
        waits = {"decoding the images": self.decode, "computing": self.compute, "writing the rows": self.write}
        return max(waits, key=waits.__getitem__)


def prepared(options: Options, images: int) -> tuple[Predictor, Rows]:
    """Loads the model and checks all that can be checked before the first image is read."""
    labels = read_labels(options.labels) if options.labels else None
    predictor = Predictor(**options.predictor_arguments())
    predictor.decoder  # noqa: B018 (says now what is wrong with the model's input)
    if options.batch is None:
        predictor.rebatch(measured_batch(predictor.network, images, predictor.streams))
    output = [size for size in predictor.network.output if size != 1]
    if len(output) > 1 and not options.raw:
        shape = [None, *predictor.network.output]
        raise HotloopError(f"`{predictor.model.output}` has the shape {shape}, no scores of classes: --raw writes it.")
    if labels is not None and not options.raw and len(labels) != predictor.classes:
        raise HotloopError(f"{options.labels} has {len(labels)} labels; the model gives {predictor.classes} scores.")
    return predictor, Rows(labels, min(options.top_k, predictor.classes), options.raw)


def run(
    options: Options,
    paths: Sequence[str],
    sink: Sink,
    step: Step | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Summary:
    """Every image's row, to the output or, without one, to the sink."""
    predictor, rows = prepared(options, len(paths))
    with predictor:
        if options.output_path is None:
            return label(predictor, rows, paths, 0, sink, options.fail_fast, step, clock)
        settings = {**settings_of(options), "batch": predictor.batch}
        journal = Journal(Path(options.output_path), settings, paths, options.resume)
        try:
            predictor.rebatch(journal.settings["batch"])

            def append(some: Sequence[Row]) -> None:
                journal.append([to_json(row) for row in some])

            summary = label(predictor, rows, paths, journal.done, append, options.fail_fast, step, clock)
            journal.publish(rows.raw, predictor.classes if rows.raw else rows.top_k)
        finally:
            journal.close()
        return summary


def label(
    predictor: Predictor,
    rows: Rows,
    paths: Sequence[str],
    done: int,
    sink: Sink,
    fail_fast: bool,
    step: Step | None,
    clock: Callable[[], float],
) -> Summary:
    """Decoding, computing and writing at the same time.

    It begins with the batch in which the first missing row is: rows are computed in the same company as in a run that
    was never interrupted, and come out the same to the last bit.
    """
    summary = Summary(resumed=done, batch=predictor.batch, prepared=predictor.decoder.prepare.told)
    start = done - done % predictor.batch

    def write(batch: Batch, outputs: Array, skip: int) -> None:
        made = rows.of_batch(batch.paths, outputs, batch.errors)[skip:]
        sink(made)
        bad = [row for row in made if row.error is not None]
        summary.failures += len(bad)
        summary.failed += bad[: 5 - len(summary.failed)]
        if bad and fail_fast:
            raise HotloopError(f"{bad[0].path}: {bad[0].error}.")

    def noting_waits(coming: Iterator[Batch]) -> Iterator[Batch]:
        while True:
            waiting = clock()
            batch = next(coming, None)
            summary.decode += clock() - waiting
            if batch is None:
                return
            yield batch

    began = clock()
    decoded = noting_waits(predictor.decoded(paths[start:]))
    with _writer() as submit, closing(predictor.computed(decoded)) as coming:
        while True:
            waiting, decoding = clock(), summary.decode
            batch, outputs = next(coming, (None, None))
            summary.compute += (ready := clock()) - waiting - (summary.decode - decoding)
            if batch is None:
                break
            skip = max(0, done - start)
            submit(write, batch, outputs, skip)
            start += len(batch.paths)
            summary.images += len(batch.paths) - skip
            if step is not None:
                step(start, len(paths))
            summary.write += clock() - ready
        waiting = clock()
    summary.write += clock() - waiting
    summary.seconds = clock() - began
    return summary


@contextmanager
def _writer() -> Iterator[Callable[..., None]]:
    """One thread that writes in order. What goes wrong there is raised here; it never falls far behind."""
    pending: deque[Future[None]] = deque()
    with ThreadPoolExecutor(1, "hotloop-write") as pool:

        def submit(write: Callable[..., None], *arguments: object) -> None:
            pending.append(pool.submit(write, *arguments))
            while len(pending) > WRITES_AHEAD or pending[0].done():
                pending.popleft().result()
                if not pending:
                    return

        try:
            yield submit
            while pending:
                pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def settings_of(options: Options) -> dict[str, Any]:
    """What the numbers depend on, files by their content."""
    told = {
        name: value
        for name, value in options.predictor_arguments().items()
        if name not in ("model", "threads", "trust", "batch")
    }
    labels = _fingerprint(options.labels) if options.labels else None
    size = list(options.size) if options.size else None
    mine = {"model": _fingerprint(options.model), "labels": labels, "top_k": options.top_k, "raw": options.raw}
    return {**told, "engine": options.engine, "size": size, **mine}


def _fingerprint(path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    files = [os.path.join(here, name) for here, _, names in os.walk(path) for name in names] or [path]
    for name in sorted(files):
        with open(name, "rb") as file:
            while some := file.read(1 << 20):
                digest.update(some)
    return digest.hexdigest()
