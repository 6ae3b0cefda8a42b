"""The same files are read and decoded again in every epoch.

**Why**

Decoding and resizing are often the larger part of a pipeline's work, and give the same result each time. Without
`cache` they are done again in each epoch: 9 times the cost of reading the results back from memory.

**Instead**

Put `.cache()` after the last deterministic stage and before `shuffle`, random augmentation and `batch`. Where memory is
short, `.cache("/path/to/file")` keeps the results on disk.

**Not when**

The decoded data do not fit (count elements times bytes), there is one epoch, or the function is random: a cache would
freeze it. The fix puts a `shuffle` of names behind the cache, where it gives the same order as before, and leaves a
source alone that is shuffled anew in each epoch; it is tried before it is written, because only a run can tell whether
the data fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, inputs, measured
from hotloop.rules.feeding import feeds, line_of, untold
from hotloop.rules.loops import outside_loops
from hotloop.rules.shapes import mapped_bytes, source_bytes
from hotloop.source.consumers import Consumer, consumers_of
from hotloop.source.pipelines import pipelines
from hotloop.source.stages import Pipeline, Stage
from hotloop.source.work import Work

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
blind = untold

SMALL = 200_000  # bytes of an element: ten thousand of them are 2 GB
HUGE = re.compile(r"imagenet|coco|laion|openimages|open_images|youtube|kinetics|places|librispeech|\bc4\b|wiki", re.I)
FILES = ("from_tensor_slices", "list_files", "from_tensors")
KEPT = {"cache", "snapshot", "save", "take"}  # `take`: a few, to look at


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for pipeline in pipelines(module, project):
            if not KEPT.intersection(pipeline.names) and pipeline.source:
                yield from _judged(pipeline, module.path, project)


def _judged(pipeline: Pipeline, path: str, project: Project) -> Iterator[Finding]:
    found = _repeated_work(pipeline, project)
    if found is None:
        return
    stage, what = found
    reader = _reader(pipeline, project)
    if reader is None:
        return
    call = stage.call if stage is not None else pipeline.origin
    place = stage.place if stage is not None else call.place if call is not None else None
    if call is None or place is None or place.path != path:
        return
    times = f"in each of {reader.epochs:.0f} epochs" if reader.epochs < 1e6 else "in every epoch"
    order = ", before `shuffle`" if stage is not None and _shuffles(pipeline) else ""
    message = f"{what} is done again {times}, with the same result. Put `.cache()` after it{order}, if the data fit."
    yield RULE.finding(place, message, **outside_loops(call.where, _confidence(pipeline, stage, project)))


def _repeated_work(pipeline: Pipeline, project: Project) -> tuple[Stage | None, str] | None:
    """The last stage of the deterministic beginning that decodes or resizes; no stage when the source itself does."""
    found: tuple[Stage | None, str] | None = None
    if pipeline.kind == "image_dataset_from_directory":
        found = None, "Reading, decoding and resizing the images"
    for stage in pipeline.stages:
        if stage.name != "map":
            continue
        work = inputs.of(stage.function, project)
        if work is None or inputs.may_be_random(work):
            break
        if (expensive := _decodes_files(work, pipeline)) is not None:
            found = stage, f"`{expensive}`"
    return found


def _decodes_files(work: Work, pipeline: Pipeline) -> str | None:
    expensive = inputs.is_expensive(work)
    if expensive is None:
        return None
    reads = inputs.any_of(inputs.READS, work.calls | work.python_calls)
    return expensive if reads or not pipeline.in_memory else None


def _reader(pipeline: Pipeline, project: Project) -> Consumer | None:
    """Who reads it several times over."""
    kinds = ("fit", "validation", "for")
    found = [c for c in consumers_of(pipeline, project) if c.kind in kinds and not KEPT & set(c.pipeline.names)]
    return next((c for c in found if c.epochs > 1), None)


def _shuffles(pipeline: Pipeline) -> bool:
    return "shuffle" in pipeline.names


def _confidence(pipeline: Pipeline, stage: Stage | None, project: Project) -> Confidence:
    """Medium where the data may well fit: files whose images are made small."""
    module = pipeline.origin.where.scope.module if pipeline.origin is not None else None
    if module is None or HUGE.search(module.path) or "repeat" in pipeline.names:
        return "low"
    if pipeline.kind == "image_dataset_from_directory":
        batch = source_bytes(pipeline, project)
        return "medium" if batch is not None and batch / 32 <= SMALL else "low"
    size = mapped_bytes(stage.function, project) if stage is not None and stage.function is not None else None
    return "medium" if pipeline.kind in FILES and size is not None and size <= SMALL else "low"


def diagnose(recording: Recording) -> Iterator[Finding]:
    for feed in feeds(recording):
        if feed.cause != "again":
            continue
        spent = feed.blocked * feed.share(feed.up_to_maps)
        yield measured.told(
            RULE, recording, line_of(feed.stage("Map", "ParallelMap"), feed.place), spent * (1 - 1 / feed.passes),
            f"The same work was done in each of {feed.passes} passes, {words.duration(feed.each)} an element, while "
            f"the loop on line {feed.loop.place.line} waited {words.duration(feed.blocked)} {{cost}}. Put `.cache()` "
            "after it, if the results fit in memory.",
            feed.loop,
            [Evidence("passes", feed.passes), Evidence("loop waited", feed.blocked, "s")],
            confidence="medium",
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.no_cache.mend import cached

    return cached(finding, project)
