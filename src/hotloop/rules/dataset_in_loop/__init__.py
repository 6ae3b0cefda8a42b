"""A data set or its iterator is made anew for every step.

**Why**

`next(iter(dataset))` builds the whole pipeline, fills its buffers, takes one element and throws the rest away: 47 times
the cost of taking the next element from an iterator that is kept, and it begins at the first element each time.
Building the data set itself in the loop (`from_tensor_slices`, `batch`, ...) copies its arrays too: 465 times. And
`dataset = dataset.map(...)` in each epoch wraps what the epoch before has wrapped: its elements go through both.

**Instead**

Make the data set once, before the loop, and loop over it: `for batch in dataset:`. For a given number of steps, keep
one iterator: `batches = iter(dataset.repeat())` before the loop, `next(batches)` in it. What an epoch makes of a data
set gets a name of its own: `shuffled = dataset.shuffle(1000)`.

**Not when**

The loop is over epochs, folds or files, and each data set is then read to its end. The fix takes one element after the
other where the program took the first again and again: it is tried before it is written, and stays unwritten where that
gives other results.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from hotloop import words
from hotloop.model import Evidence, Finding, Fix, Recording, Refusal
from hotloop.rules import Rule, measured
from hotloop.rules.dataset_in_loop.again import wrapped_in_loops
from hotloop.rules.loops import FAR, InLoop, each, in_loop
from hotloop.rules.wrapping import wrapped
from hotloop.source.consumers import consumers, read
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.flow import varies
from hotloop.source.heat import number, trips
from hotloop.source.module import Call, Loop, place_of
from hotloop.source.project import loops_of
from hotloop.source.rewrite import Refused
from hotloop.source.stages import Pipeline, Stage, is_source, may_be_source

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
MANY_ELEMENTS = 2  # of one iterator: with more it is being read
NEXT = 1e-4  # seconds to take an element from an iterator that is kept

AFRESH = "Wrap it once, before the loop, or give what each step makes of it a name of its own."
MAKES_ITERATOR = {"make_one_shot_iterator", "make_initializable_iterator"}
SELDOM = re.compile(r"epoch|fold|split|shard|part|file|path|task|dataset|config|trial|run\b", re.IGNORECASE)
READS_ALL = {"fit", "evaluate", "predict", "list", "reduce", "save", "as_numpy_iterator", "adapt", "submit"}
# One data set of few elements: that is built to be used once.
NOT_BUILT = {"tf.data.Dataset.load", "tf.data.experimental.load"}


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call, loop in wrapped_in_loops(module, project):
            message = (
                "The data set is wrapped once more in each step of the loop that reads it: an element goes through the "
                f"stages of all steps before. {AFRESH}"
            )
            yield RULE.finding(call.place, message, basis="static", confidence="medium", loop=loop.place)
        for call in (call for last, calls in module.called.items() if _may_matter(last) for call in calls):
            if call.where.loop is None and not call.where.scope.is_function:
                continue
            if (data := _iterated(call, project)) is not None:
                yield from _iterator(call, data, project)
            elif may_be_source(call.last):
                name = project.name_at_sight(call.node.func, call.where.scope)
                if is_source(name) and name not in NOT_BUILT:
                    yield from _built(call, project)
        for loop in module.loops:
            if _may_take_few(loop):
                yield from _skipped(loop, project) or _taken(loop, project)


@functools.cache
def _may_matter(last: str) -> bool:
    return last == "next" or last in MAKES_ITERATOR or may_be_source(last)


def _iterated(call: Call, project: Project) -> ast.expr | None:
    """What `next(iter(x))` or `x.make_one_shot_iterator()` makes an iterator of."""
    func, args = call.node.func, call.node.args
    if isinstance(func, ast.Name) and func.id == "next" and args and isinstance(args[0], ast.Call):
        inner = args[0]
        if isinstance(inner.func, ast.Name) and inner.func.id == "iter" and inner.args:
            return inner.args[0]
        if isinstance(inner.func, ast.Attribute) and inner.func.attr == "as_numpy_iterator":
            return inner.func.value
    if isinstance(func, ast.Attribute) and func.attr in MAKES_ITERATOR:
        return args[0] if args else func.value
    return None


def _iterator(call: Call, data: ast.expr, project: Project) -> Iterator[Finding]:
    pipeline = read(data, call.where.scope, project)
    found = in_loop(project, call.where) if pipeline is not None else None
    if pipeline is None or found is None or _is_new(data, call, found, project):
        return
    if pipeline.origin is not None and stands_in(pipeline.origin.where, found.loop):
        return  # built here too: that is said of the data set itself
    graph = isinstance(call.node.func, ast.Attribute)
    if _is_seldom(found.loop):
        if graph:
            return  # one per epoch, and read to its end
        found = found.lowered().lowered()
    if graph and _is_read_further_in(call):
        return
    what = "An iterator is made" if graph else "`next(iter(...))` makes a new iterator"
    message = (
        f"{what} {each(found, call.place)}: the pipeline starts afresh each time, for one element, the first. "
        "Make the iterator once, before the loop."
    )
    yield RULE.finding(call.place, message, **found.where)


def _may_take_few(loop: Loop) -> bool:
    """Before anything is looked up: a loop that ends with its first step, or a module that says `take` somewhere."""
    if not isinstance(loop.node, ast.For) or (loop.where.loop is None and not loop.where.scope.is_function):
        return False
    return "take" in loop.where.scope.module.called or isinstance(loop.node.body[-1], ast.Break | ast.Return)


def _takes_few(loop: Loop, pipeline: Pipeline, project: Project) -> bool:
    """`for x in ds.take(1):`, or a loop that is left in its first step."""
    taken = (stage.argument(0, "count") for stage in pipeline.stages if stage.name == "take")
    counts = [number(count, loop.where.scope, project) for count in taken if count is not None]
    return any(count in range(1, MANY_ELEMENTS + 1) for count in (*counts, trips(loop, project)))


def _skipped(loop: Loop, project: Project) -> list[Finding]:
    """`for x in ds.skip(step * 10).take(10):`, in a loop over steps: each reads all again that those before it read."""
    data, where = cast("ast.For", loop.node).iter, loop.where
    pipeline = read(data, where.scope, project) if "skip" in where.scope.module.called else None
    found = in_loop(project, where) if pipeline is not None else None
    if pipeline is None or found is None:
        return []
    for stage in pipeline.stages:
        count = stage.argument(0, "count") if stage.name == "skip" and stage.call.where.scope is where.scope else None
        if count is not None and varies(count, where.scope, found.loop, found.chain, project):
            message = (
                f"`skip({ast.unparse(count)})` reads the data set again from its first element "
                f"{each(found, stage.place)}, and throws away what the steps before have had. Keep one iterator and "
                "take the next elements from it, or batch them."
            )
            return [RULE.finding(stage.place, message, **found.where)]
    return []


def _taken(loop: Loop, project: Project) -> Iterator[Finding]:
    """A loop over the first element or two, in a loop."""
    data, where = cast("ast.For", loop.node).iter, loop.where
    pipeline = read(data, where.scope, project)
    found = in_loop(project, where) if pipeline is not None and _takes_few(loop, pipeline, project) else None
    if found is None or pipeline is None or varies(data, where.scope, found.loop, found.chain, project):
        return
    if len(found.chain) > FAR:
        return  # a loop that far away repeats a whole job, of which this is nothing
    if pipeline.origin is not None and stands_in(pipeline.origin.where, found.loop):
        return  # built here too: that is said of the data set itself
    found = found.lowered().lowered() if _is_seldom(found.loop) else found
    place = place_of(where.scope.module, data)
    message = (
        f"The loop over `{ast.unparse(data)}` makes a new iterator {each(found, place)}: the pipeline starts afresh "
        "each time, for its first element. Make the iterator once, and take the next element from it."
    )
    yield RULE.finding(place, message, **found.where)


def _is_read_further_in(call: Call) -> bool:
    """Whether a loop inside the loop takes its elements from the iterator."""
    statement, loop = call.where.statement, call.where.loop
    names = (
        {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} if isinstance(statement, ast.Assign) else set()
    )
    for other in call.where.scope.module.calls:
        inner = other.where.loop
        if inner is None or inner is loop or loop is None or loop not in loops_of(other.where):
            continue
        if other.last in ("get_next", "next", "run") and names & {
            n.id for n in ast.walk(other.node) if isinstance(n, ast.Name)
        }:
            return True
    return False


def _is_new(data: ast.expr, call: Call, found: InLoop, project: Project) -> bool:
    """Whether each step has a data set of its own: a part of this step, handed over or built."""
    return varies(data, call.where.scope, found.loop, found.chain, project)


def _built(call: Call, project: Project) -> Iterator[Finding]:
    found = in_loop(project, call.where)
    if found is None or found.confidence == "low" or _is_read_whole(call, found, project):
        return
    if _is_seldom(found.loop) or len(found.chain) > FAR:
        return
    message = (
        f"A data set is built {each(found, call.place)}, and with it a pipeline, its threads and its buffers. "
        "Build it once, before the loop, or leave tf.data out for single elements."
    )
    found = found if _is_asked_once(call, found, project) else found.lowered()
    yield RULE.finding(call.place, message, **found.where)


def _is_seldom(loop: Loop) -> bool:
    words = [*loop.targets, ast.unparse(loop.iterable) if loop.iterable is not None else ""]
    return any(SELDOM.search(word) for word in words)


def _readers(call: Call, project: Project) -> Iterator[tuple[Pipeline, Loop | Call]]:
    for consumer in consumers(call.where.scope.module, project):
        origin = consumer.pipeline.origin
        if origin is not None and origin.node is call.node:
            yield consumer.pipeline, consumer.at


def _is_read_whole(call: Call, found: InLoop, project: Project) -> bool:
    """Read by a loop of its own, by Keras, or handed on to somewhere out of sight: one data set for a whole job."""
    readers = list(_readers(call, project))
    if any(isinstance(at, Loop) and not _takes_few(at, pipeline, project) for pipeline, at in readers):
        return True
    if any(isinstance(at, Call) and at.last in READS_ALL for _, at in readers):
        return True
    if readers:
        return False
    statement = call.where.statement
    if isinstance(statement, ast.Return | ast.Expr) or statement is None or found.chain:
        return True
    return not _is_asked_once(call, found, project)


def _is_asked_once(call: Call, found: InLoop, project: Project) -> bool:
    """Whether the loop that builds it asks for one element: by `next(iter(...))`, `get_next()` or `take(1)`."""
    for pipeline, at in _readers(call, project):
        few = isinstance(at, Loop) and _takes_few(at, pipeline, project)
        if few or (isinstance(at, Call) and (at.last == "iter" or at.last in MAKES_ITERATOR)):
            return found.loop in loops_of(at.where) or stands_in(at.where, found.loop) or bool(found.chain)
    return False


def diagnose(recording: Recording) -> Iterator[Finding]:
    yield from _wrapped_again(recording)
    made = [event for event in recording.of_kind("iterator") if not event.subject]
    for at in measured.recurring(recording, made):
        done = at.total("ended") + at.total("dropped")
        each = at.total("elements") / done if done else MANY_ELEMENTS + 1
        if each > MANY_ELEMENTS:  # one epoch, fold or file after the other
            continue
        inside = measured.within(recording, at.loop)
        sets = [a for a in measured.recurring(recording, recording.of_kind("dataset")) if a.loop == at.loop]
        taken = sum(event.seconds for event in recording.of_kind("input") if event.subject == str(at.place))
        spent = max(measured.through(inside, [at.place, *(a.place for a in sets)]), at.seconds + taken)
        what = "A data set and its iterator were" if sets else "An iterator was"
        yield measured.finding(
            RULE, recording, at, spent * (at.count - 1) / at.count - at.count * NEXT,
            f"{what} made {at.often} {{cost}}, for {each:.3g} {'element' if each == 1 else 'elements'} each. Make it "
            "once, before the loop, and take the next element from it.",
            evidence=[Evidence("iterators", at.count), Evidence("elements each", each)],
        )  # fmt: skip


def _wrapped_again(recording: Recording) -> Iterator[Finding]:
    for event in recording.of_kind("iterator"):
        if found := wrapped(recording, event):
            yield measured.told(
                RULE, recording, found.place, found.seconds,
                f"The data set grew from {words.plural(found.first, 'stage')} to {found.last:,} in "
                f"{words.plural(found.loop.steps, 'step')} {{cost}}: each element goes through all of them. {AFRESH}",
                found.loop,
                [Evidence("stages at first", found.first), Evidence("stages at the end", found.last)],
            )  # fmt: skip


def _stands_at(node: ast.AST, finding: Finding, project: Project) -> bool:
    return place_of(project.modules[finding.place.path], node) == finding.place


def fix(finding: Finding, project: Project) -> Fix | Refusal:
    from hotloop.rules.dataset_in_loop.mend import keep_one

    module = project.modules[finding.place.path]
    if any(isinstance(loop.node, ast.For) and _stands_at(loop.node.iter, finding, project) for loop in module.loops):
        return Refusal("what the inner loop does would have to move out of it: write it by hand", finding.place)
    if any(Stage("skip", call).place == finding.place for call in module.calls_of("skip")):
        return Refusal("which elements a step gets would be told by an iterator: write it by hand", finding.place)
    if again := next((c for c, _ in wrapped_in_loops(module, project) if c.place == finding.place), None):
        reason = "it is another data set in each step: whether to wrap it once or each time anew is yours to say"
        raise Refused(reason, again.node)
    return keep_one(finding, project)
