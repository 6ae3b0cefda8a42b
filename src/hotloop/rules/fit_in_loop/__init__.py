"""Keras `fit()` or `evaluate()` is called in a loop on one example or one batch at a time.

**Why**

`fit()` and `evaluate()` are made for data sets. Each call builds a data pipeline, an iterator, a set of callbacks and a
history, runs one batch through them and takes it all down again: tens of milliseconds whatever the model, where the
training step may need one.

**Instead**

`model.train_on_batch(x, y)` or `model.test_on_batch(x, y)` does the same step and nothing else. Better still, collect
the examples and call `fit` once on all of them: one batch of 32 is far cheaper than 32 batches of one.

**Not when**

Each call gets a whole data set: one epoch per call, a fold, everything that a replay buffer holds. There the fixed cost
disappears in the work. The fix is tried before it is written: `fit` makes several steps of what is larger than its
`batch_size`, and how large a batch is can seldom be read from the source. A call with `callbacks`, which one step does
not have, is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.batches import is_batch, is_data_set, is_row_of_batch
from hotloop.rules.loops import InLoop, each, in_loop
from hotloop.rules.many_rows import holds_many
from hotloop.rules.rows import holds_model, is_wide, one_row
from hotloop.source.flow import varies
from hotloop.source.heat import number
from hotloop.source.module import Call

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

SINGLE = {"fit": "train_on_batch", "evaluate": "test_on_batch"}
MANY_EPOCHS = 3  # a call: with more, the work begins to outweigh the fixed cost
# What comes with a data set, never with a single batch.
FOR_DATA_SETS = {"steps_per_epoch", "validation_data", "validation_split", "validation_steps", "steps"}
DATA_SET = re.compile(r"dataset|generator|\bds\b|loader|_gen\b|sequence", re.IGNORECASE)


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in module.calls_of(*SINGLE):
            func = call.node.func
            if not (isinstance(func, ast.Attribute) and func.attr in SINGLE):
                continue
            data = call.argument(0, "x")
            sure = holds_model(func.value, call.where.scope, project) if data is not None else None
            found = in_loop(project, call.where) if sure is not None else None
            if found is None or data is None:
                continue
            judged = _judged(found if sure else found.lowered(), data, call, project)
            if judged:
                found, what = judged
                message = (
                    f"`{ast.unparse(func)}` is called on {what} {each(found, call.place)}: a data pipeline, callbacks "
                    f"and a history are set up for each call. Call `{SINGLE[func.attr]}`, or collect the examples and "
                    f"call `{func.attr}` once."
                )
                yield RULE.finding(call.place, message, **found.where)


def _judged(found: InLoop, data: ast.expr, call: Call, project: Project) -> tuple[InLoop, str] | None:
    """As sure as the argument makes us: one row, one batch, or who knows how much of this step's own."""
    scope = call.where.scope
    if any(keyword.arg in FOR_DATA_SETS for keyword in call.node.keywords) or DATA_SET.search(ast.unparse(data)):
        return None
    epochs = call.argument(3, "epochs") if call.node.func.attr == "fit" else None  # type: ignore[attr-defined]
    if epochs is not None and (number(epochs, scope, project) or 1) > MANY_EPOCHS:
        return None
    if isinstance(data, ast.List) and len(data.elts) > 1:
        data = data.elts[0]  # a model of several inputs
    if one_row(data, scope, found, project) or is_row_of_batch(data, call, project):
        return found, "one example"
    if is_wide(data, scope, project) or is_batch(data, scope, found, found.chain, project):
        return found, "one batch"
    if holds_many(data, scope, project) or is_data_set(data, scope, project):
        return None
    if varies(data, scope, found.loop, found.chain, project, calls_vary=True):
        return found.lowered().lowered(), "what may be a single batch"
    return None


def diagnose(recording: Recording) -> Iterator[Finding]:
    for kind, single in SINGLE.items():
        per_batch = measured.compiled_batch(recording, kind)
        for at in measured.recurring(recording, recording.of_kind(kind)):
            batches, rows = at.total("batches") / at.count, at.total("rows") / at.count
            if not 0 < batches <= MANY_EPOCHS or at.total("eager"):
                continue
            each, compute = at.seconds / at.count, per_batch * batches
            on = f" on {words.plural(round(rows), 'row')} a call" if rows else ""
            yield measured.finding(
                RULE, recording, at, at.seconds - measured.traced_once(recording, at) - compute * at.count,
                f"`{kind}` was called {at.often}{on} {{cost}}: {words.duration(each)} each, of which the model itself "
                f"needs {words.duration(compute)}. Call `{single}`, or collect the examples and call `{kind}` once.",
                evidence=[Evidence("calls", at.count), Evidence("rows per call", rows), Evidence("each", each, "s")],
            )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.fit_in_loop.on_batch import single_step

    return single_step(finding, project, SINGLE)
