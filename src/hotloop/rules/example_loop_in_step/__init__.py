"""A training step runs the model on the examples of its batch one by one, in a Python loop.

**Why**

A model takes a batch as easily as one example, and on most hardware in little more time. A loop over the batch pays
every layer's fixed cost once per example, forward and backward. Inside a `tf.function` or a Keras `train_step` the loop
is unrolled as well: as many copies of the model to trace as there are examples.

**Instead**

Call the model once on the whole batch, and reduce over the first axis: `loss = loss_fn(y, model(x))`.

**Not when**

The examples differ in shape and cannot be padded, or each needs what the one before it gave (a state, a game). With a
batch of two or three there is nothing to gain. Layers that look at the whole batch, such as batch normalisation, give
other results on a batch than on one example; mostly the batch is what they are meant for. The fix calls the model once,
before the loop, and writes a mean that the loop adds up as one mean where nothing can change its shape on the way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Cost, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.loops import each
from hotloop.rules.single_examples import called_on_example

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
ROWS = 4  # single examples taken from a batch in one trace


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in module.calls:
            found = called_on_example(call, project)
            if found:
                message = (
                    f"`{ast.unparse(call.node.func)}` is called on one example {each(found, call.place)}, inside a "
                    "training step: all its layers run once per example. Call it once on the whole batch."
                )
                yield RULE.finding(call.place, message, **found.where)


def diagnose(recording: Recording) -> Iterator[Finding]:
    for event in recording.of_kind("unrolled"):
        seen = event.examples[-1]
        if not seen["model"] or seen["rows"] < ROWS:
            continue
        tracing = measured.tracing(recording, event)
        calls = [e for e in recording.of_kind("call") if (e.subject, e.stack) == (event.subject, event.stack)]
        running = sum(e.seconds for e in calls) - measured.tracing(recording, event, first_run=True)
        times = max(2.0, float(seen["times"]))
        seconds = (tracing + max(0.0, running)) * float(seen["inside"]) * (1 - 1 / times)
        yield measured.told(
            RULE, recording, measured.at_line(seen["model"]), seconds,
            f"The model was called on one example after the other, some {words.number(times)} times in one step "
            f"{{cost}}: tracing it took {words.duration(tracing)}. Call it once, on the whole batch.",
            measured.loop_of(recording, event),
            [Evidence("tracing", tracing, "s"), Evidence("calls in a step", times)],
        )  # fmt: skip


def price(finding: Finding, recording: Recording) -> Cost | None:
    """Run eagerly, it leaves no event."""
    return measured.sent_one_by_one(recording, finding.loop, ROWS) if finding.loop else None


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.example_loop_in_step.batched import on_whole_batch

    return on_whole_batch(finding, project)
