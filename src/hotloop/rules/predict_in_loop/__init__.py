"""Keras `predict()` is called in a loop on one example at a time.

**Why**

`predict()` is made for data sets. Each call builds a data pipeline, an iterator and a set of callbacks, runs one batch
through it and takes it all down again: tens of milliseconds whatever the model, where the computation may need one.

**Instead**

Collect the examples and call `predict` once on the whole array. Where they come one by one (a camera, a game), call
`model.predict_on_batch(x)`, or `model(x, training=False)` through a `tf.function`. For a model in a file, `Predictor`
(`from hotloop import Predictor`) takes single examples from any thread and computes them together.

**Not when**

Each call gets a whole data set (a validation set per epoch, a fold, a file, a table). There the fixed cost disappears
in the work. A `batch_size` keeps apart what does not fit in memory together: the fix leaves a call that has one alone,
unless its rows are seen to be no more than that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.batches import is_batch, is_called_data_set, is_row_of_batch
from hotloop.rules.hooks import batch_hook
from hotloop.rules.loops import InLoop, each, in_loops, outside_loops
from hotloop.rules.many_rows import holds_many, may_be_more
from hotloop.rules.rows import holds_model, is_wide, one_row
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.flow import varies
from hotloop.source.heat import number
from hotloop.source.module import Call

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
FEW_BATCHES = 5  # a call: with more, the work begins to outweigh the fixed cost
MANY_ROWS = 256  # a call: with more, it is a chunk of a large job, and may be one for want of memory


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in module.calls_of("predict"):
            func = call.node.func
            if not (isinstance(func, ast.Attribute) and func.attr == "predict"):
                continue
            sure, data = holds_model(func.value, call.where.scope, project), call.argument(0, "x")
            ways = in_loops(project, call.where) if sure is not None and data is not None else []
            judged = [one for way in ways if (one := _single_or_judged(way, call, project)) is not None]
            if judged:
                found, single = min(judged, key=lambda one: ("high", "medium", "low").index(one[0].confidence))
                found = found if sure else found.lowered()
                message = (
                    f"`{ast.unparse(func)}` is called {each(found, call.place)}: its fixed cost is paid "
                    f"{'per example' if single else 'each time'}. "
                    "Predict all at once, or call `predict_on_batch`."
                )
                yield RULE.finding(call.place, message, **found.where)
            elif sure is not None and data is not None and not ways:
                yield from _for_every_batch(call, data, project)


def _for_every_batch(call: Call, data: ast.expr, project: Project) -> Iterator[Finding]:
    """In a callback of a `fit`, which no loop of the program shows."""
    hook = batch_hook(call, project)
    if hook is None or is_wide(data, call.where.scope, project) or holds_many(data, call.where.scope, project):
        return
    message = (
        f"`{ast.unparse(call.node.func)}` is called for every batch, as Keras calls `{hook.name}`: its fixed cost is "
        "paid each time. Call `predict_on_batch`, or look at every hundredth batch."
    )
    yield RULE.finding(call.place, message, **outside_loops(call.where, "medium"))


def _single_or_judged(found: InLoop, call: Call, project: Project) -> tuple[InLoop, bool] | None:
    """One of the ways in which the call runs in loops, as sure as its data make us, and whether these are one row."""
    data = call.argument(0, "x")
    if data is None or _is_trained_for_it(call, found):
        return None
    if one_row(data, call.where.scope, found, project) or is_row_of_batch(data, call, project):
        return found, True
    judged = _judged(found, data, call, project)
    return (judged, False) if judged is not None else None


def _is_trained_for_it(call: Call, found: InLoop) -> bool:
    """Whether the step makes the model and fits it, as a walk through time does: there is nothing to do at once."""
    model = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    if not isinstance(model, ast.Name) or not any(
        stands_in(binding.where, found.loop) for binding in call.where.scope.bound(model.id)
    ):
        return False
    fits = call.where.scope.module.calls_of("fit")
    return any(isinstance(fit.node.func, ast.Attribute) and ast.unparse(fit.node.func.value) == model.id
               and stands_in(fit.where, found.loop) for fit in fits)  # fmt: skip


def _judged(found: InLoop, data: ast.expr, call: Call, project: Project) -> InLoop | None:
    """As sure as an argument makes us that is not one row: something else of this step, or the same data each time."""
    scope = call.where.scope
    if is_wide(data, scope, project) or is_called_data_set(data, scope, project):
        return None
    if not varies(data, scope, found.loop, found.chain, project, calls_vary=True):
        return None
    if is_batch(data, scope, found, found.chain, project):
        return found.lowered()
    if holds_many(data, scope, project):
        return None
    size = call.argument(1, "batch_size")  # whoever says one has more rows than that; of one row, often 1
    in_batches = size is not None and number(size, scope, project) != 1 and may_be_more(call, size, project)
    return found.lowered().lowered() if in_batches else found.lowered()


def diagnose(recording: Recording) -> Iterator[Finding]:
    per_batch = measured.compiled_batch(recording, "predict")
    for at in measured.recurring(recording, recording.of_kind("predict")):
        rows, batches = at.total("rows") / at.count, at.total("batches") / at.count
        if not 0 < rows <= MANY_ROWS or batches > FEW_BATCHES:
            continue
        each, compute = at.seconds / at.count, per_batch * batches
        seconds = max(0.0, at.seconds - measured.traced_once(recording, at) - compute * at.count)
        needs = f", of which the model itself needs {words.duration(compute)}" if compute else ""
        yield measured.finding(
            RULE, recording, at, seconds,
            f"`predict` was called {at.often} on {words.plural(round(rows), 'row')} a call {{cost}}: "
            f"{words.duration(each)} each{needs}. "
            "Predict all at once, or call `predict_on_batch`.",
            evidence=[Evidence("calls", at.count), Evidence("rows per call", rows), Evidence("each", each, "s")],
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.predict_in_loop.on_batch import predict_on_batch

    return predict_on_batch(finding, project)
