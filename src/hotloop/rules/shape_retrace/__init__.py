"""A `tf.function` is traced again for every new shape of its arguments.

**Why**

A compiled function holds for the shapes it was traced with. Sentences, images or last batches of other sizes are traced
anew: tens of milliseconds and a hundred kilobytes for each, kept as long as the function lives. With many sizes the
tracing outweighs the work; with `jit_compile=True` each is compiled by XLA as well.

**Instead**

Say that a dimension varies: `@tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32)])`, or
`@tf.function(reduce_retracing=True)`. Or give it few shapes: `padded_batch`, `batch(..., drop_remainder=True)`, lengths
rounded up to a multiple of 32.

**Not when**

There are two or three shapes: each is traced once. Where the function needs the size as a Python number (a loop that is
unrolled, a layer that asks for it), a dimension of `None` fails and padding is the way. The fix takes the shapes from a
run, so that it needs one (`hotloop fix --run`), and is tried before it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hotloop import words
from hotloop.model import Finding, Fix, Recording
from hotloop.rules import Rule, measured

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)


def diagnose(recording: Recording) -> Iterator[Finding]:
    def told(at: measured.Recurring, last: Mapping[str, Any]) -> str:
        names = {one.subject for one in at.events}
        calls = sum(e.count for e in recording.of_kind("call") if e.subject in names and e.place == at.place)
        shapes = at.count + 1
        return (
            f"once per new shape: {shapes:,} shapes in {words.plural(max(calls, shapes), 'call')} {{cost}}; "
            f"argument `{last.get('argument')}` was {last.get('before')}, then {last.get('now')}. "
            "Give it an `input_signature` with `None` for what varies, or `reduce_retracing=True`."
        )

    return measured.retraced(RULE, recording, recording.of_kind("trace.shape"), told, _observed)


def _observed(at: measured.Recurring) -> dict[str, Any]:
    """The function, and for each of its arguments the dtype and every shape that was kept of those seen."""
    examples = [example for event in at.events for example in event.examples]
    seen = [example["taken"] for example in examples if example.get("taken")]
    found: dict[str, Any] = {"function": at.events[0].subject, "defined": examples[-1].get("defined", "")}
    if seen and len(seen) == len(examples):
        found["arguments"] = [
            {"name": name, "dtype": dtype, "shapes": [one[index][2] for one in seen]}
            for index, (name, dtype, _) in enumerate(seen[-1])
        ]
    return found


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.shape_retrace.relax import relax

    return relax(finding, project)
