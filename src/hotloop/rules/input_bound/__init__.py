"""A loop spends much of its time waiting for its data, and none of the usual reasons explains it.

**Why**

A step cannot begin before its data are there. When the pipeline takes longer for a batch than the step does, the step
waits, and no faster model or machine for it will help. The stage that took most is named, if
TensorFlow tells (from 2.17 on); what it does there only its author can say.

**Instead**

Make that stage do less: work on whole batches instead of elements, decode smaller, store what never changes, leave out
what is not used. Or do it once, before the loop, where all of it fits in memory.

**Not when**

The work is what the program is for (reading a stream, augmenting at random), every core is busy with it, and it has
been made as cheap as it can be.
"""

from __future__ import annotations

from collections.abc import Iterator

from hotloop import words
from hotloop.model import Evidence, Finding, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.feeding import Feed, Node, feeds, line_of

RULE = Rule(__name__)
WAITS = 0.3  # of the loop: less is no bottleneck
NOTICEABLE = 0.5  # seconds in all
EACH = 1e-3  # seconds for an element: to take one that is ready costs a third of that
IDLE = 0.5  # of the time in Python: below, it waits for something else itself


def diagnose(recording: Recording) -> Iterator[Finding]:
    for feed in feeds(recording):
        if feed.cause != "unknown" or feed.blocked < max(WAITS * feed.loop.seconds, NOTICEABLE, EACH * feed.read):
            continue
        node = feed.slowest
        upto = "may have waited up to" if feed.bound else "waited"
        yield measured.told(
            RULE, recording, line_of(feed.written(node), feed.place), feed.blocked,
            f"The loop on line {feed.loop.place.line} {upto} {words.duration(feed.blocked)} for its data {{cost}}. "
            + _advice(feed, node),
            feed.loop,
            [Evidence("loop waited", feed.blocked, "s"), *_slowest(feed)],
            confidence="low" if feed.bound else "medium",
        )  # fmt: skip


def _slowest(feed: Feed) -> list[Evidence]:
    return [Evidence("slowest stage", feed.slowest.seconds, "s")] if feed.nodes else []


def _advice(feed: Feed, node: Node) -> str:
    if not feed.nodes:
        return "This version of TensorFlow does not tell which stage took it: make them do less, or their work once."
    share = words.percent(feed.share(node.seconds))
    if node.name == "Generator" and feed.python_busy < IDLE:
        return (
            f"Of the pipeline's own time {share} went into the generator, which mostly waits itself: let several run "
            "at once, each for a part of the data, with `interleave(..., num_parallel_calls=tf.data.AUTOTUNE)`."
        )
    took = f"{share} went into `{node.name}`" + (f", {round(node.parallel)} at a time" if node.parallel > 1 else "")
    return f"Of the pipeline's own time {took}: make that stage do less, or its work once."
