"""The command `hotloop label`: what was typed becomes options, rows and sentences go where they belong."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

from hotloop.label.journal import check_output, finished
from hotloop.label.listing import STDIN, images
from hotloop.label.options import MAX_PIXELS, Options
from hotloop.label.printing import label_image_lines, sentences, titled_lines
from hotloop.label.rows import Row, read_labels
from hotloop.model import HotloopError
from hotloop.report.phrases import clean
from hotloop.report.progress import progress


def answer(arguments: argparse.Namespace, stdin: BinaryIO, stdout: TextIO, stderr: TextIO) -> int:
    """0: every image has its row; 1: some could not be read."""
    model, specs = _typed(arguments)
    options = _options(arguments, model)
    paths = images(specs, arguments.recursive, stdin.read() if STDIN in specs else None)
    output = Path(options.output_path) if options.output_path else None
    if output is not None:
        check_output(output, options.resume, options.overwrite)
        if finished(output, options.resume):
            stderr.write(f"hotloop: {clean(str(output))} is finished: nothing to do.\n")
            return 0
    if options.labels:
        read_labels(options.labels)  # whether it is there is known before TensorFlow is
    _quiet()
    if options.engine == "ray":
        from hotloop.label.ray import run
    else:
        from hotloop.label.job import run

    try:
        with progress(stderr, doing="labelling", what="images") as step:
            summary = run(options, paths, _printer(arguments, stdout), step)
    except KeyboardInterrupt as error:
        goes_on = ": --resume goes on from here." if output is not None else "."
        raise HotloopError(f"interrupted{goes_on}", exit_code=130) from error
    if output is not None or len(paths) > 1:
        stderr.writelines(f"hotloop: {clean(sentence)}\n" for sentence in sentences(summary, options.output_path))
    return int(summary.failures > 0)


def _typed(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """The model and the images, in the new spelling or the old."""
    given = [arguments.model, *arguments.images] if arguments.model else []
    if arguments.graph is None:
        if not given:
            raise HotloopError("which model? hotloop label MODEL IMAGES...")
        arguments.graph, *given = given
    specs = [*given, *([arguments.image] if arguments.image else [])]
    if not specs:
        raise HotloopError("which images? hotloop label MODEL IMAGES...")
    return arguments.graph, specs


def _options(arguments: argparse.Namespace, model: str) -> Options:
    sides = (arguments.input_height, arguments.input_width)
    if sides.count(None) == 1:
        raise HotloopError("--input_height and --input_width go together.")
    for name in ("top_k", "threads", "workers", "max_pixels", "input_height", "input_width"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            raise HotloopError(f"--{name.replace('top_k', 'top-k').replace('max_p', 'max-p')} is at least 1.")
    if arguments.engine == "local" and (arguments.address or arguments.workers or arguments.gpus_per_worker):
        raise HotloopError("--address, --workers and --gpus-per-worker go with --engine ray.")
    return Options(
        model=model,
        input=arguments.input_layer,
        output=arguments.output_layer,
        signature=arguments.signature,
        size=None if None in sides else sides,
        mean=arguments.input_mean,
        std=arguments.input_std,
        preprocess=arguments.preprocess,
        resize=arguments.resize,
        max_pixels=arguments.max_pixels or MAX_PIXELS,
        threads=arguments.threads,
        trust=arguments.trust_model,
        labels=arguments.labels,
        top_k=arguments.top_k,
        raw=arguments.raw,
        batch=_batch(arguments.batch),
        output_path=arguments.output,
        resume=arguments.resume,
        overwrite=arguments.overwrite,
        fail_fast=arguments.fail_fast,
        engine=arguments.engine,
        address=arguments.address,
        workers=arguments.workers,
        gpus_per_worker=arguments.gpus_per_worker,
    )


def _batch(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise HotloopError(f"`--batch {text}` is neither a number of images nor auto.")
    return int(text)


def _printer(arguments: argparse.Namespace, stdout: TextIO) -> Callable[[Sequence[Row]], None]:
    """One image asked for in the old way is answered in the old way."""
    lines = label_image_lines if arguments.image and not arguments.model else titled_lines
    encoding = stdout.encoding or "utf-8"  # not every terminal and pipe can take every character

    def show(rows: Sequence[Row]) -> None:
        for row in rows:
            stdout.write(lines(row).encode(encoding, "replace").decode(encoding))

    return show


def _quiet() -> None:
    """TensorFlow's greetings are not what anybody asked for; what it warns of is, if they ask."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
