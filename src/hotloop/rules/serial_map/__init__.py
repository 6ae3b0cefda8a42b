"""A `map` that TensorFlow may not run in parallel of its own accord is not told to.

**Why**

TensorFlow runs a `map` on several elements at once by default, but only where its function has no state. Random numbers
(`tf.random`, `tf.image.random_*`, Keras `Random*` layers), lookup tables, and Python called back through
`numpy_function` or `py_function` count as state: one element is done after the other, on one core, and all the
decoding in the same function with them.

**Instead**

Say it: `ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)`. The order of the elements stays the same; which element
gets which random number does not. Or draw random numbers with `tf.random.stateless_*`, which needs no telling.

**Not when**

The function is tiny, so that handing it to threads costs more than it does; or it is Python that computes, which cannot
run on two threads at once: Python that waits for files can. The fix is tried before it is written, because which
element gets which random number changes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, inputs, measured
from hotloop.rules.feeding import feeds, line_of, untold
from hotloop.rules.loops import outside_loops
from hotloop.source.pipelines import pipelines
from hotloop.source.project import Project
from hotloop.source.stages import Pipeline, Stage
from hotloop.source.work import Work

RULE = Rule(__name__)
blind = untold
PARALLEL = True

# State whose own work is worth spreading.
HEAVY = re.compile(
    r"TextVectorization|Random(Rotation|Zoom|Translation|Shear|Perspective|ElasticTransform|Hue|Saturation)"
)

ASSIGNS = re.compile(r"(?:^|[.?])(?:assign|scatter_nd)_?\w*$")


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for pipeline in pipelines(module, project):
            for stage in pipeline.stages:
                if stage.name == "map" and stage.call.where.scope.module is module:
                    yield from _judged(pipeline, stage, project)


def _judged(pipeline: Pipeline, stage: Stage, project: Project) -> Iterator[Finding]:
    work = inputs.of(stage.function, project)
    if work is None or _is_parallel(stage):
        return
    answer = _reason(work)
    if answer is None:
        return
    reason, confidence = answer
    if any(s.name == "cache" for s in pipeline.after(stage)):
        confidence = "low"  # paid in the first epoch alone
    message = (
        f"`map` runs {reason} on one element after the other: TensorFlow does not parallelise a function with state. "
        "Give it `num_parallel_calls=tf.data.AUTOTUNE`."
    )
    yield RULE.finding(stage.place, message, **outside_loops(stage.call.where, confidence))


def _is_parallel(stage: Stage) -> bool:
    given = stage.argument(1, "num_parallel_calls") or stage.argument(1, "num_parallel_batches")
    if given is None:
        return any(k.arg is None for k in stage.call.node.keywords)  # **options: out of sight
    return not (isinstance(given, ast.Constant) and given.value in (None, 1))


def _reason(work: Work) -> tuple[str, Confidence] | None:
    """What holds it back, with what suffers from it, and how sure that is."""
    expensive, reads = inputs.is_expensive(work), inputs.any_of(inputs.READS, work.calls | work.python_calls)
    if work.python:
        waits = inputs.any_of(inputs.READS, work.python_calls)
        if waits is None and (expensive is None or expensive in work.python_calls):
            return None
        return f"Python that waits (`{waits or expensive}`)", "medium"
    state = inputs.any_of(inputs.STATEFUL, work.calls)
    if state is not None and HEAVY.search(state) and not (expensive or reads):
        return f"`{state}`", "medium"
    if state is None or not (expensive or reads):
        return None
    return f"`{expensive or reads}` together with `{state}`", "high"


def diagnose(recording: Recording) -> Iterator[Finding]:
    for feed in feeds(recording):
        if feed.cause != "serial":
            continue
        spent = feed.blocked * feed.share(feed.slowest.seconds)
        yield measured.told(
            RULE, recording, line_of(feed.stage("Map"), feed.place), spent * (1 - 1 / feed.cpus),
            f"The loop on line {feed.loop.place.line} waited {words.duration(feed.blocked)} for this `map`, which "
            f"takes one element at a time, {words.duration(feed.each)} each {{cost}}. Give it `num_parallel_calls`.",
            feed.loop,
            [Evidence("loop waited", feed.blocked, "s"), Evidence("each element", feed.each, "s")],
            confidence="medium",
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.chains import autotune, stage_at
    from hotloop.source.rewrite import Refused
    from hotloop.source.splice import Splice

    _, stage = stage_at(finding, "map", project)
    call, splice = stage.call, Splice(stage.call.where.scope.module)
    work = inputs.of(stage.function, project)
    if work is not None and (changed := next((name for name in sorted(work.calls) if ASSIGNS.search(name)), None)):
        reason = f"the function changes a variable (`{changed.lstrip('?')}`), element after element in their order"
        raise Refused(reason, call.node)
    value, given = autotune(call.where.scope, project), stage.argument(1, "num_parallel_calls")
    if given is not None:
        splice.replace(splice.span(given), value)
    else:
        splice.add_argument(call.node, f"num_parallel_calls={value}")
    return splice.fix("map on several elements at once", "verify")
