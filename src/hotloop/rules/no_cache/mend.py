"""`.cache()` behind the work that each epoch repeats, with `shuffle` after it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.chains import add_after, permute, require_fixed_order, stage_at
from hotloop.rules.moving import call_at
from hotloop.source.module import Call
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice
from hotloop.source.stages import Pipeline, Stage

if TYPE_CHECKING:
    from hotloop.source import Project

TITLE = "keep the results of the first epoch"
# What a data set knows of its files, and what follows it does not.
OWN = {"class_names", "file_paths"}


def cached(finding: Finding, project: Project) -> Fix:
    splice = Splice(project.modules[finding.place.path])
    source = _source(finding, project)
    if source is not None:
        require_fixed_order(Pipeline(source.last, source))
        _require_plain(source)
        splice.insert(splice.span(source.node)[1], ".cache()")
        return splice.fix(TITLE, "verify")
    pipeline, stage = stage_at(finding, "map", project)
    before = pipeline.before(stage)
    if any(s.name == "repeat" for s in before):
        raise Refused("`repeat` stands before it: put it last", stage.call.node)
    require_fixed_order(pipeline)
    shuffles = [s for s in before if s.name == "shuffle"]
    if shuffles:
        _shuffle_after(splice, pipeline, shuffles, stage)
    else:
        add_after(splice, stage, ".cache()")
    return splice.fix(TITLE, "verify")


def _source(finding: Finding, project: Project) -> Call | None:
    """The call that makes the data set, where the source itself is what is repeated."""
    try:
        call = call_at(project.modules[finding.place.path], finding.place)
    except Refused:
        return None
    return call if call.last.endswith("dataset_from_directory") else None


def _require_plain(source: Call) -> None:
    """`ds.class_names` is gone behind a cache."""
    statement = source.where.statement
    names = {ast.unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    for node in ast.walk(source.where.scope.module.tree):
        if isinstance(node, ast.Attribute) and node.attr in OWN and ast.unparse(node.value) in names:
            raise Refused(f"`{ast.unparse(node)}` is read, which a cached data set does not have", node)


def _shuffle_after(splice: Splice, pipeline: Pipeline, shuffles: list[Stage], stage: Stage) -> None:
    """A cache behind `shuffle` would freeze its order; one `map` makes one element of each, so it may go before."""
    first, last = pipeline.stages.index(shuffles[0]), pipeline.stages.index(stage)
    stages = pipeline.stages[first : last + 1]
    if len(shuffles) > 1 or any(s.name not in ("map", "shuffle", "prefetch") for s in stages):
        raise Refused("`shuffle` stands before it, and cannot be put after the cache", shuffles[0].call.node)
    permute(splice, stages, [*stages[1:], shuffles[0]], {shuffles[0]: b".cache()"})
