"""`shuffle` holds more in memory than it needs to: decoded images or whole batches instead of names.

**Why**

`shuffle(n)` keeps n elements of whatever the stages before it make. After decoding and resizing to 224 x 224 that is
600 kB each, and a buffer of 10,000 takes 6 GB and must be filled before the first step can begin.

**Instead**

Shuffle the file names, before they are read: `Dataset.from_tensor_slices(paths).shuffle(len(paths)).map(decode)`.
Names are a few bytes each, so that the buffer can hold all of them.

**Not when**

The elements are small, or the buffer is, or a `cache()` in memory right before holds the same elements anyway. Records
that can only be read in order (TFRecord) want a buffer of undecoded records: shuffle before the `map` that parses them.
The fix moves `shuffle` before the `map`s right before it, which gives the same order; it is tried before it is written,
because a random `map` then gives its numbers to other elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.feeding import feeds, line_of
from hotloop.rules.loops import outside_loops
from hotloop.rules.shapes import KEEPS, element_bytes
from hotloop.source.heat import number
from hotloop.source.pipelines import pipelines
from hotloop.source.stages import Pipeline, Stage

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
MEASURED = "memory"

GB = 1e9
HELD = 200e6  # bytes that were seen in the buffer
MUCH, TOO_MUCH = 1 * GB, 8 * GB


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for pipeline in pipelines(module, project):
            for stage in pipeline.stages:
                if stage.name == "shuffle" and stage.call.where.scope.module is module:
                    yield from _judged(pipeline, stage, project)


def _judged(pipeline: Pipeline, stage: Stage, project: Project) -> Iterator[Finding]:
    given = stage.argument(0, "buffer_size")
    size = number(given, stage.call.where.scope, project) if given is not None else None
    each = element_bytes(pipeline, stage, project)
    if size is None or each is None or size * each < MUCH or _is_cached(pipeline, stage):
        return
    confidence: Confidence = "high" if size * each >= TOO_MUCH else "medium"
    message = (
        f"`shuffle({size:.0f})` holds {size:.0f} elements of {_shown(each)}, {_shown(size * each)} in all, "
        "and fills them before the first step. Shuffle the file names or records before they are decoded."
    )
    yield RULE.finding(stage.place, message, **outside_loops(stage.call.where, confidence))


def _is_cached(pipeline: Pipeline, shuffle: Stage) -> bool:
    """Whether a cache in memory holds these very elements already: a buffer of them costs nothing more."""
    for stage in reversed(pipeline.before(shuffle)):
        if stage.name == "cache":
            return stage.argument(0, "filename") is None
        if stage.name not in KEEPS:
            return False
    return False


def _shown(size: float) -> str:
    return f"{size / GB:.1f} GB" if size >= GB else f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def diagnose(recording: Recording) -> Iterator[Finding]:
    for feed in feeds(recording):
        names = [str(one["stage"]) for one in feed.made]
        shuffle = feed.stage("Shuffle")
        if shuffle is None or not {"Map", "ParallelMap"} & set(names[names.index("Shuffle") :]):
            continue
        if "Cache" in names[names.index("Shuffle") :]:
            continue
        held = feed.buffered * float(shuffle.get("element", 0))
        if held >= HELD:
            yield measured.told(
                RULE, recording, line_of(shuffle, feed.place), 0.0,
                f"`shuffle` held {words.size(held)}: {words.count(feed.buffered)} elements of "
                f"{words.size(held / feed.buffered)}. Shuffle what they are made from (names, records), before `map`.",
                feed.loop,
                [Evidence("held", held, "bytes")],
                bytes_per_step=held / feed.loop.steps,
            )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    """`shuffle` before the `map`s that it stands behind: they make one element of each, so their order is the same."""
    from hotloop.rules.chains import move, stage_at
    from hotloop.source.rewrite import Refused
    from hotloop.source.splice import Splice

    pipeline, shuffle = stage_at(finding, "shuffle", project)
    passed: list[Stage] = []
    for stage in reversed(pipeline.before(shuffle)):
        if stage.name not in ("map", "prefetch") or stage.call.where.scope is not shuffle.call.where.scope:
            break
        passed.append(stage)
    while passed and passed[-1].name != "map":
        passed.pop()
    if not passed:
        raise Refused(
            "what it holds is not made by a `map` right before it: shuffle earlier by hand", shuffle.call.node
        )
    splice = Splice(shuffle.call.where.scope.module)
    move(splice, pipeline, shuffle, before=passed[-1])
    return splice.fix("shuffle before the elements are made", "verify")
