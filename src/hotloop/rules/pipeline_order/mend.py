"""The stages in the order that works: `cache` where it can serve, no `batch` that is undone."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix, Safety
from hotloop.rules import inputs
from hotloop.rules.chains import is_one_expression, move, permute, reorder, require_fixed_order, stage_at
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice
from hotloop.source.stages import Pipeline, Stage

if TYPE_CHECKING:
    from hotloop.source import Project

BATCHES = {"batch", "padded_batch", "ragged_batch"}
OWN_ORDER = ("from_generator", "load")  # sources that may give another order each time


def put_in_order(finding: Finding, project: Project) -> Fix:
    pipeline, stage = stage_at(finding, "cache", project)
    splice = Splice(stage.call.where.scope.module)
    if stage.name == "unbatch":
        return _drop_both(splice, pipeline, stage)
    if stage.name == "shuffle":
        batch = next(s for s in reversed(pipeline.before(stage)) if s.name in BATCHES)
        move(splice, pipeline, stage, before=batch)
        return splice.fix("shuffle elements, not batches: other batches, so for you to decide", "advice")
    return _cache(splice, pipeline, stage, project)


def _cache(splice: Splice, pipeline: Pipeline, cache: Stage, project: Project) -> Fix:
    before, after = pipeline.before(cache), pipeline.after(cache)
    changing = [s for s in before if s.name == "repeat" or _reshuffles(s) or _is_random(s, project)]
    repeats = [s for s in before if s.name == "repeat"]
    if repeats and (len(changing) == len(repeats) or any(_is_endless(s) for s in repeats)):
        require_fixed_order(pipeline)
        between = before[before.index(changing[0]) :]
        worked = _same_in_each_pass(between, project)
        permute(splice, (*between, cache), [*worked, cache, *[s for s in between if s not in worked]])
        return splice.fix("cache before the data are repeated", _safety(pipeline, cache, project))
    cut_short = bool(after) and after[0].name == "take"
    if changing and cut_short:
        raise Refused(
            f"`{changing[0].name}` stands before it, which a cache of what is taken would freeze", cache.call.node
        )
    if changing:
        move(splice, pipeline, cache, before=changing[0])
        title = "cache before the random choice: each epoch is then another, so for you to decide"
        return splice.fix(title, "advice")
    if not cut_short:
        raise Refused("the source is no longer what was checked")
    require_fixed_order(pipeline)
    permute(splice, (cache, after[0]), (after[0], cache))
    return splice.fix("cache only what is taken", _safety(pipeline, cache, project))


def _same_in_each_pass(stages: Sequence[Stage], project: Project) -> list[Stage]:
    """The stages right after a `repeat` that do the same to an element in each pass: cached, too."""
    if stages[0].name != "repeat":
        return []
    found = itertools.takewhile(lambda s: s.name in ("map", "filter") and _is_function(s, project), stages[1:])
    return list(found)


def _is_function(stage: Stage, project: Project) -> bool:
    """Whether what a stage makes of an element is seen to depend on the element alone."""
    work = inputs.of(stage.function, project)
    return work is not None and not work.python and not inputs.may_be_random(work) and not inputs.may_keep_state(work)


def _is_endless(repeat: Stage) -> bool:
    """A cache behind it never serves; behind one that ends it serves the next pass, with the order of the first."""
    given = repeat.argument(0, "count")
    return given is None or ast.unparse(given) in ("None", "-1")


def _reshuffles(stage: Stage) -> bool:
    given = stage.argument(2, "reshuffle_each_iteration") if stage.name == "shuffle" else None
    return stage.name == "shuffle" and not (isinstance(given, ast.Constant) and given.value is False)


def _is_random(stage: Stage, project: Project) -> bool:
    work = inputs.of(stage.function, project) if stage.name == "map" else None
    return work is not None and inputs.is_random(work) is not None


def _safety(pipeline: Pipeline, cache: Stage, project: Project) -> Safety:
    """Safe where everything before the cache is seen to give the same each time: then its place changes nothing."""
    if not pipeline.source or pipeline.kind.endswith(OWN_ORDER) or cache.argument(0, "filename") is not None:
        return "verify"
    for stage in pipeline.before(cache):
        if stage.name == "map" and not _is_function(stage, project):
            return "verify"
        if stage.name not in ("map", "batch", "repeat", "take", "skip", "prefetch"):
            return "verify"
    return "safe"


def _drop_both(splice: Splice, pipeline: Pipeline, unbatch: Stage) -> Fix:
    batch = pipeline.before(unbatch)[-1]
    if batch.name != "batch" or _drops(batch):
        raise Refused(f"`{batch.name}` does more than `unbatch` undoes: it pads, or drops the rest", batch.call.node)
    if not is_one_expression((batch, unbatch)):
        raise Refused("`batch` and `unbatch` do not stand in one expression", unbatch.call.node)
    reorder(splice, (batch, unbatch), ())
    # TensorFlow fuses a `shuffle` and a `repeat` that now meet, and the fused one draws another order.
    safety: Safety = "verify" if "shuffle" in pipeline.names else "safe"
    return splice.fix("drop `batch` and the `unbatch` that undoes it", safety)


def _drops(batch: Stage) -> bool:
    given = batch.argument(1, "drop_remainder")
    return given is not None and not (isinstance(given, ast.Constant) and given.value is False)
