"""The stages of an input pipeline stand in an order that costs time, memory or randomness.

**Why**

Each stage works on what the one before hands it. `cache` after `repeat` stores every pass anew and never finds the end
from which it could serve again. `cache` after a random `map` or after `shuffle` freezes the first epoch's choices: all
later epochs see the same. `cache().take(n)` never reads to the end, so the cache is thrown away each time. `shuffle`
after `batch` moves whole batches about, whose members stay together, and holds that many batches in memory.
`batch` directly followed by `unbatch` does and undoes.

**Instead**

Source, deterministic work, `cache`, `shuffle`, random work, `batch`, `repeat`, `prefetch`.

**Not when**

The frozen choice is wanted (a fixed validation set), or batches are what should be shuffled. Moving a `cache` before
`repeat`, or behind `take`, gives the same elements: that fix is safe where all before it is seen to be deterministic.
Where random choices were frozen or batches were shuffled, the fix changes what is learned from, so it is shown only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, inputs, measured
from hotloop.rules.feeding import feeds, line_of
from hotloop.rules.loops import outside_loops
from hotloop.source.consumers import consumers_of
from hotloop.source.heat import number
from hotloop.source.pipelines import pipelines
from hotloop.source.stages import Pipeline, Stage

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

Said = tuple[Stage, str, Confidence]
BATCHES = {"batch", "padded_batch", "ragged_batch"}
SEQUENCES = re.compile(r"(?i)frame|window|seq|clip|horizon|lookback|time_?steps?|context")


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        chains = pipelines(module, project)
        for pipeline in chains:
            for stage, message, confidence in _said(pipeline, chains, project):
                if stage.call.where.scope.module is module:
                    yield RULE.finding(stage.place, message, **outside_loops(stage.call.where, confidence))


def _said(pipeline: Pipeline, chains: tuple[Pipeline, ...], project: Project) -> Iterator[Said]:
    for stage in pipeline.stages:
        if stage.name == "cache":
            repeated = list(_repeated_before(pipeline, stage, project))
            yield from repeated
            if not repeated:  # else it never serves, or that is the larger trouble
                yield from _frozen(pipeline, stage, project)
                yield from _cut_short(pipeline, stage, chains, project)
        elif stage.name == "shuffle":
            yield from _batches_shuffled(pipeline, stage, project)
        elif stage.name == "unbatch":
            before = pipeline.before(stage)
            if before and before[-1].name in BATCHES and before[-1].call.where.statement is stage.call.where.statement:
                yield (
                    stage,
                    "`unbatch` undoes the `batch` right before it: all that work for nothing. Drop both.",
                    "medium",
                )


def _repeated_before(pipeline: Pipeline, cache: Stage, project: Project) -> Iterator[Said]:
    before = pipeline.before(cache)
    for position, repeat in enumerate(before):
        if repeat.name != "repeat" or repeat.optional or any(s.name == "take" for s in before[position:]):
            continue  # `take` ends what was endless, and says how much is to be kept
        count = repeat.argument(0, "count")
        times = number(count, repeat.call.where.scope, project) if count is not None else -1.0
        if times is None or times == 1:
            continue
        if times < 0:
            why = "the cache never reaches the end from which it could serve, and grows as long as the program runs"
        else:
            why = f"the cache holds the same data {times:.0f} times over"
        yield cache, f"`cache` stands after `repeat`: {why}. Put `cache` before `repeat`.", "high"
        return


def _frozen(pipeline: Pipeline, cache: Stage, project: Project) -> Iterator[Said]:
    before, after = pipeline.before(cache), pipeline.after(cache)
    if before and before[-1].name == "take":
        return  # a sample that is to stay the same
    for stage in before:
        work = inputs.of(stage.function, project) if stage.name == "map" else None
        cause = inputs.is_random(work) if work is not None else None
        if cause is not None and not cause.startswith("random.seed"):
            message = (
                f"`cache` stands after a `map` with `{cause}`: the first epoch's random choices are stored and served "
                "in all later ones. Put `cache` before the random `map`."
            )
            yield cache, message, "high" if _several_epochs(pipeline, project) else "medium"
            return
    shuffles = [s for s in before if s.name == "shuffle" and not s.optional]
    if shuffles and not _is_fixed(shuffles[-1]) and not any(s.name in ("shuffle", "take", "skip") for s in after):
        if any(s.name in ("take", "skip") for s in before[before.index(shuffles[-1]) :]):
            return  # a split: it has to stay as it is
        message = (
            "`cache` stands after `shuffle`: every epoch gets the order of the first. Put `cache` before `shuffle`."
        )
        yield cache, message, "medium" if _several_epochs(pipeline, project) else "low"


def _is_fixed(shuffle: Stage) -> bool:
    """`reshuffle_each_iteration=False`: one order is what was wanted."""
    given = shuffle.argument(2, "reshuffle_each_iteration")
    return given is not None and getattr(given, "value", True) is False


def _several_epochs(pipeline: Pipeline, project: Project) -> bool:
    if any(s.name == "repeat" for s in pipeline.stages):
        return True
    return any(c.epochs > 1 and c.kind in ("fit", "for") for c in consumers_of(pipeline, project))


def _cut_short(pipeline: Pipeline, cache: Stage, chains: tuple[Pipeline, ...], project: Project) -> Iterator[Said]:
    """`cache().take(n)` again and again, with nobody who ever reads to the end."""
    after = pipeline.after(cache)
    if not after or after[0].name != "take" or cache.call.argument(0, "filename") is not None:
        return
    others = [p for p in chains if p is not pipeline and any(s.call.node is cache.call.node for s in p.stages)]
    if others or not _several_epochs(pipeline, project):
        return
    message = (
        "`take` cuts the data short before `cache` has seen its end, so that the cache is thrown away each epoch. "
        "Put `take` before `cache`."
    )
    yield cache, message, "high"


def _batches_shuffled(pipeline: Pipeline, shuffle: Stage, project: Project) -> Iterator[Said]:
    names = [s.name for s in pipeline.before(shuffle)]
    batched = [name for name in names if name in BATCHES | {"unbatch", "window", "flat_map"}]
    if not batched or batched[-1] not in BATCHES or "shuffle" in names or not pipeline.source:
        return
    after = pipeline.after(shuffle)
    if (after and after[0].name == "take") or _batch_size(pipeline, shuffle, project) == 1:
        return  # a few to look at, or no batches to speak of
    if any(s.name in BATCHES for s in after):
        return  # the first `batch` makes sequences, and these are what is shuffled
    if _makes_sequences(pipeline, shuffle):
        return
    given = shuffle.argument(0, "buffer_size")
    size = number(given, shuffle.call.where.scope, project) if given is not None else None
    held = f"{size:.0f} batches" if size is not None else "whole batches"
    message = (
        f"`shuffle` stands after `batch`: it holds {held} and mixes their order, but the members of a batch stay "
        "together in every epoch. Put `shuffle` before `batch`."
    )
    yield shuffle, message, "low" if _is_shuffled_at_source(pipeline) else "medium"


def _makes_sequences(pipeline: Pipeline, shuffle: Stage) -> bool:
    """`batch(num_frames)`: an element is a clip then, or a window."""
    given = _last_batch(pipeline, shuffle).argument(0, "batch_size")
    return given is not None and SEQUENCES.search(ast.unparse(given)) is not None


def _last_batch(pipeline: Pipeline, shuffle: Stage) -> Stage:
    return next(s for s in reversed(pipeline.before(shuffle)) if s.name in BATCHES)


def _batch_size(pipeline: Pipeline, shuffle: Stage, project: Project) -> float | None:
    batch = _last_batch(pipeline, shuffle)
    given = batch.argument(0, "batch_size")
    return number(given, batch.call.where.scope, project) if given is not None else None


def _is_shuffled_at_source(pipeline: Pipeline) -> bool:
    if pipeline.origin is None:
        return True
    asked = [k.arg for k in pipeline.origin.node.keywords]
    return "shuffle_files" in asked or pipeline.kind in ("from_generator", "list_files", "zip")


def diagnose(recording: Recording) -> Iterator[Finding]:
    for feed in feeds(recording):
        if feed.cause != "order":
            continue
        repeat = feed.stage("Repeat")
        times = float(repeat.get("count", 1)) if repeat else 1.0
        saved = 1 - 1 / times if times > 0 else 1.0
        yield measured.told(
            RULE, recording, line_of(feed.stage("Cache"), feed.place), feed.blocked * saved,
            f"`cache` stands after `repeat`: it never served, and the loop on line {feed.loop.place.line} waited "
            f"{words.duration(feed.blocked)} for work that was done already {{cost}}. Cache first, then repeat.",
            feed.loop,
            [Evidence("loop waited", feed.blocked, "s")],
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.pipeline_order.mend import put_in_order

    return put_in_order(finding, project)
