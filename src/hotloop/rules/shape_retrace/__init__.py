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
unrolled, a layer that asks for it), a dimension of `None` fails and padding is the way.
"""

from __future__ import annotations

from collections.abc import Iterator

from hotloop import words
from hotloop.model import Evidence, Finding, Recording
from hotloop.rules import Rule, measured

RULE = Rule(__name__)


def diagnose(recording: Recording) -> Iterator[Finding]:
    for at in measured.recurring(recording, recording.of_kind("trace.shape")):
        event = at.events[0]
        last = event.examples[-1] if event.examples else {}
        if not (last.get("user_defined") or last.get("created")):
            continue
        names = {one.subject for one in at.events}
        calls = sum(e.count for e in recording.of_kind("call") if e.subject in names and e.place == at.place)
        kept = at.total("bytes")
        seconds = max(at.seconds, measured.sampled(recording, [at.place], "trace") * at.count / (at.count + 1))
        yield measured.finding(
            RULE, recording, at, seconds,
            f"`{event.subject}` was traced once per new shape: {at.count + 1:,} shapes in "
            f"{words.plural(max(calls, at.count + 1), 'call')} {{cost}}; argument `{last.get('argument')}` was "
            f"{last.get('before')}, then {last.get('now')}. Give it an `input_signature` with `None` for what varies, "
            "or `reduce_retracing=True`.",
            evidence=[
                Evidence("traces", at.count), Evidence("each", at.seconds / at.count, "s"),
                Evidence("memory kept", kept, "bytes"),
            ],
            bytes_per_step=kept / at.loop.steps,
        )  # fmt: skip
