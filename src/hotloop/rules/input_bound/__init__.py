"""A loop spends much of its time waiting for its data, and none of the usual reasons explains it.

**Why**

A step cannot begin before its data are there. When the pipeline takes longer for a batch than the step does, the step
waits, and no faster model or machine for it will help. The stage that took most is named, if
TensorFlow tells (from 2.17 on); what it does there only its author can say. It is the same where a loop takes its data
from a queue that others fill, or asks a store or a service for each batch and has nothing to do until it answers.

**Instead**

Make that stage do less: work on whole batches instead of elements, decode smaller, store what never changes, leave out
what is not used. Or do it once, before the loop, where all of it fits in memory.

**Not when**

The work is what the program is for (reading a stream, augmenting at random), every core is busy with it, and it has
been made as cheap as it can be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from hotloop import words
from hotloop.model import Evidence, Finding, LoopRun, Place, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.feeding import STARVED, Feed, Node, feeds, idle, line_of

RULE = Rule(__name__)
WAITS = 0.3  # of the loop: less is no bottleneck
NOTICEABLE = 0.5  # seconds in all
EACH = 1e-3  # seconds for an element: to take one that is ready costs a third of that
WORKS = 0.1  # of the loop: with less, there is nothing that waiting could go on beside
IDLE = 0.5  # of the time in Python: below, it waits for something else itself

SLOWER = "What fills it is slower than the loop: let more threads or processes do it, or make it do less."
FILLS = (
    "In each pass `shuffle` takes in all elements before it gives the first, and waits for this stage to make them: "
    "shuffle before it, or make it do less."
)
BESIDE = "Ask for the next while the step computes: in a thread, or as a `tf.data` pipeline."


def diagnose(recording: Recording) -> Iterator[Finding]:
    for feed in feeds(recording):
        if feed.cause != "unknown" or feed.blocked < max(WAITS * feed.loop.seconds, NOTICEABLE, EACH * feed.read):
            continue
        node, unseen = feed.slowest, feed.before_shuffle
        upto = "may have waited up to" if feed.bound else "waited"
        yield measured.told(
            RULE, recording, line_of(unseen or feed.written(node), feed.place), feed.blocked,
            f"The loop on line {feed.loop.place.line} {upto} {words.duration(feed.blocked)} for its data {{cost}}. "
            + (FILLS if unseen else _advice(feed, node)),
            feed.loop,
            [Evidence("loop waited", feed.blocked, "s"), *([] if unseen else _slowest(feed))],
            confidence="low" if feed.bound else "medium",
        )  # fmt: skip
    yield from _handed_over(recording)


def _handed_over(recording: Recording) -> Iterator[Finding]:
    """Waits for the program's own queues, pools and futures, and for what its Python asks of others."""
    of_pipelines = {(e.place.path, e.place.line) for e in recording.of_kind("input", "iterator", "pipeline")}
    seconds: dict[tuple[LoopRun, Place, str], float] = defaultdict(float)
    computed: dict[LoopRun, float] = defaultdict(float)
    for sample in measured.outside_keras(recording, recording.samples):
        loop = _fed(recording, sample.stack)
        if loop is None:
            continue
        if sample.phase == "compute":
            computed[loop] += sample.seconds
        at = sample.stack[0]
        if sample.phase in ("input", "python") and (at.path, at.line) not in of_pipelines:
            seconds[loop, at, sample.phase] += sample.seconds
    for (loop, at, phase), waited in seconds.items():
        if waited < max(WAITS * loop.seconds, NOTICEABLE):
            continue
        if phase == "python" and (idle(recording, loop) < STARVED * waited or computed[loop] < WORKS * loop.seconds):
            continue  # it computes itself, or there is nothing to do meanwhile
        handed = phase == "input"
        what = "that another thread hands over" if handed else "that is no work of this process"
        cure = SLOWER if handed else BESIDE
        yield measured.told(
            RULE, recording, at, waited if handed else min(waited, computed[loop]),
            f"The loop on line {loop.place.line} waited {words.duration(waited)} on this line for something {what} "
            f"{{cost}}. {cure}",
            loop,
            [Evidence("loop waited", waited, "s")],
            confidence="medium",
        )  # fmt: skip


def _fed(recording: Recording, stack: tuple[Place, ...]) -> LoopRun | None:
    """The loop that has to wait for what runs there: one in a generator hands on to the loop that asks it."""
    around = recording.loops_around(stack)
    if around and around[0].yields:
        asking = {(frame.path, frame.line) for frame in stack[1:]}
        asks = (run for run in recording.loops if run.kind == "for" and not run.stack and not run.yields)
        if found := next((run for run in asks if (run.place.path, run.place.line) in asking), None):
            return found
    return next((run for run in around if not run.yields), None)


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
