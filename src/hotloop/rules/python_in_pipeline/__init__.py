"""The input pipeline calls back into Python for every element.

**Why**

`from_generator`, `py_function` and `numpy_function` leave TensorFlow for the Python interpreter and come back, once per
element: 5 times the cost of the same element from an array, on one core, and in the way of the training loop, which
needs the interpreter too.

**Instead**

Use TensorFlow's own functions: `tf.data.Dataset.from_tensor_slices` for arrays in memory, `tf.io.read_file`,
`tf.io.decode_image`, `tf.image.resize` and `tf.io.decode_raw` for files, its mathematics for the rest. Where it must
be Python, let the generator yield whole batches (14 times better than single examples), or call the function after
`batch`.

**Not when**

Each element is much work (a simulation, a large file) or comes from a library that TensorFlow has no counterpart for.
Then run it with `num_parallel_calls` where it waits, or in other processes where it computes. The fix is for generators
that hand out arrays row by row and nothing else, of arrays that stay as they are; it is tried before it is written. For
a Python function it is yours to find the counterpart in TensorFlow, because few are exact.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, inputs, measured
from hotloop.rules.feeding import feeds
from hotloop.rules.loops import outside_loops
from hotloop.source.module import Call, Scope
from hotloop.source.pipelines import pipelines
from hotloop.source.stages import Pipeline, Stage
from hotloop.source.work import Work, calls_in, work_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

BATCHES = {"batch", "padded_batch", "ragged_batch", "bucket_by_sequence_length"}
# What TensorFlow can do itself, so that the Python is a choice.
REPLACEABLE = re.compile(
    r"^np\.(?!random\.)|^(cv2|PIL|imageio)\b|imread|^tf\.|^keras\.(utils|preprocessing)|^skimage\.(io|transform)|^math\."
    r"|^(np\.)?random\.(rand|randn|random|random_sample|uniform|normal|gauss|randint)$"
    r"|^(len|range|zip|enumerate|open|float|int|str|bytes|min|max|abs|sum|list|sorted|tuple|isinstance|round|print)$"
    r"|^os\.(path\.|listdir$|walk$|scandir$)|^i?glob\.|^random\.shuffle$|^time\.|^open\(\)|[?.](astype|reshape|decode|numpy|transpose|mean|std|copy|resize|convert|format|join|max"
    r"|min|sum|split|strip|read|append|tolist|flatten|item|shape|close|get_shape|set_shape|endswith|startswith|lower)$"
)
SHUFFLES = re.compile(r"^(np\.random|random|\?)\.?(shuffle|permutation|sample|default_rng|seed|choice)")
IN_MEMORY = re.compile(
    r"^(len|range|zip|enumerate|iter|next|int|float|list|sorted|tuple|str)$"
    r"|^np\.(array|asarray|arange|float32|int32|int64|expand_dims)$"
    r"|^(\?|\w+\.)(astype|shape|items|tolist|sample|iloc|itertuples|iterrows)$"
)


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for pipeline in pipelines(module, project):
            if pipeline.kind == "from_generator" and pipeline.origin and pipeline.origin.where.scope.module is module:
                yield from _generated(pipeline, pipeline.origin, project)
            for stage in pipeline.stages:
                if stage.name in ("map", "flat_map", "interleave", "filter"):
                    yield from _called_back(pipeline, stage, project)


def _generated(pipeline: Pipeline, origin: Call, project: Project) -> Iterator[Finding]:
    if not any(name in BATCHES for name in pipeline.names):
        return  # it may yield batches already
    generator = _generator(origin, project)
    answer = _source_of(generator, project)
    if answer is None:
        return
    what, instead, confidence = answer
    if confidence == "high" and _may_be_ragged(origin, project):
        confidence = "low"
    message = f"`from_generator` takes every example from Python{what}: slow, and on one core. {instead}"
    yield RULE.finding(origin.place, message, **outside_loops(origin.where, confidence))


def _may_be_ragged(origin: Call, project: Project) -> bool:
    """Whether examples are said to have a dimension of any length: arrays of different lengths cannot be sliced."""
    said = [*origin.node.args[1:], *[k.value for k in origin.node.keywords if k.arg != "generator"]]
    known = [project.literal(one.id, origin.where.scope) for one in said if isinstance(one, ast.Name)]
    shapes = [*said, *[found[0] for found in known if found is not None]]
    sequences = [n for one in shapes for n in ast.walk(one) if isinstance(n, ast.Tuple | ast.List)]
    return any(isinstance(e, ast.Constant) and e.value is None for one in sequences for e in one.elts)


def _generator(origin: Call, project: Project) -> Scope | None:
    """The function that yields: itself, or what a lambda calls."""
    argument = origin.argument(0, "generator")
    value = project.resolve(argument, origin.where.scope) if argument is not None else None
    scope = value.scope if value is not None and value.kind in ("function", "object") else None
    if value is not None and value.kind == "object" and scope is not None:
        members = (project.member(scope, name) for name in ("__call__", "__iter__"))
        methods = [member.scope for member in members if member is not None and member.scope is not None]
        scope = next((method for method in methods if method.yields), methods[0] if methods else None)
    if scope is None or scope.yields:
        return scope
    for call in calls_in(scope):
        inner = project.resolve(call.node.func, call.where.scope)
        if inner is not None and inner.kind == "function" and inner.scope is not None and inner.scope.yields:
            return inner.scope
    return scope


def _source_of(generator: Scope | None, project: Project) -> tuple[str, str, Confidence] | None:
    unsure = ("", "Let the generator yield whole batches, or make the examples with TensorFlow.")
    if generator is None:
        return *unsure, "low"
    if not generator.yields or _yields_slices(generator) or _delegates(generator):
        return None
    work = work_of(generator, project)
    names = {name for name in work.calls if not SHUFFLES.search(name)}
    if all(IN_MEMORY.search(name) for name in names) and _yields_items(generator):
        return " although it is all in memory", "Give the arrays to `tf.data.Dataset.from_tensor_slices`.", "high"
    reads = inputs.any_of(inputs.READS, names)
    if reads and all(REPLACEABLE.search(name) for name in names):
        return f" (`{reads}`)", "Read and decode the files with `tf.io` in a `map`, which runs on all cores.", "medium"
    return *unsure, "low"


def _yielded(generator: Scope) -> list[ast.expr]:
    found = [n.value for n in ast.walk(generator.node) if isinstance(n, ast.Yield) and n.value is not None]
    parts: list[ast.expr] = []
    for value in found:
        parts += value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    return parts


def _yields_slices(generator: Scope) -> bool:
    """`yield x[i : i + size]`: whole batches."""
    nodes = [node for value in _yielded(generator) for node in ast.walk(value)]
    return any(isinstance(n, ast.Slice) and n.lower is not None and n.upper is not None for n in nodes)


def _yields_items(generator: Scope) -> bool:
    """`yield x, y` of a loop over arrays, or `yield x[i], y[i]`."""
    loops = [loop for loop in generator.module.loops if loop.where.scope is generator and loop.kind == "for"]
    targets = {name for loop in loops for name in loop.targets}
    values = _yielded(generator)
    return (
        bool(values)
        and bool(loops)
        and all(any(isinstance(n, ast.Name) and n.id in targets for n in ast.walk(value)) for value in values)
    )


def _delegates(generator: Scope) -> bool:
    return any(isinstance(node, ast.YieldFrom) for node in ast.walk(generator.node))


def _called_back(pipeline: Pipeline, stage: Stage, project: Project) -> Iterator[Finding]:
    work = inputs.of(stage.function, project)
    if work is None or not work.python:
        return
    if any(s.name in BATCHES for s in pipeline.before(stage)):
        return  # once a batch
    confidence: Confidence = "medium" if _is_a_choice(work) else "low"
    calls = [call for call in work.python if call.where.scope.module.path in project.modules]
    for _, together in itertools.groupby(calls, lambda call: call.where.scope):
        call, *others = together
        name = project.name_of(call.node.func, call.where.scope).rpartition(".")[2]
        function = call.argument(0, "func")
        shown = f" for `{ast.unparse(function)}`" if isinstance(function, ast.Name | ast.Attribute) else ""
        more = f" (and {words.plural(len(others), 'more call')} in `{call.where.scope.name}`)" if others else ""
        message = (
            f"`{name}` calls back into Python{shown}{more}, once per element of the pipeline, one element at a time. "
            "Use TensorFlow's own functions, or call it after `batch`."
        )
        yield RULE.finding(call.place, message, **outside_loops(call.where, confidence))


def _is_a_choice(work: Work) -> bool:
    """Whether all that the Python does could be done by TensorFlow, as far as it is seen."""
    return bool(work.python_calls) and all(REPLACEABLE.search(name) for name in work.python_calls)


def diagnose(recording: Recording) -> Iterator[Finding]:
    for feed in feeds(recording):
        if feed.cause != "python":
            continue
        slowest = max(feed.python, key=lambda event: event.seconds)
        calls = sum(event.count for event in feed.python)
        name = f"`{slowest.subject.split()[0]}`" if slowest.subject else "A generator or `py_function`"
        upto = "up to " if feed.bound else ""
        yield measured.told(
            RULE, recording, slowest.place, feed.blocked * feed.share(max(feed.python_seconds, feed.slowest.seconds)),
            f"{name} ran in Python {words.count(calls)} times to feed the loop on line {feed.loop.place.line} "
            f"{{cost}}, which waited {upto}{words.duration(feed.blocked)} for its data. Use TensorFlow's own "
            "functions, or hand out whole batches.",
            feed.loop,
            [Evidence("calls", calls), Evidence("in Python", feed.python_seconds, "s"),
             Evidence("loop waited", feed.blocked, "s")],
            confidence="medium" if feed.bound else "high",
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.python_in_pipeline.mend import to_slices

    return to_slices(finding, project)
