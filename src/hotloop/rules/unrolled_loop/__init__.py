"""A Python loop of many steps inside a `tf.function` is written out into the graph, step by step.

**Why**

A `tf.function` runs its Python once, to record ops. `for i in range(1000)` is Python: the ops of its body are recorded
a thousand times. The first call takes seconds or minutes instead of milliseconds, so does each retrace, and the graph
is kept, with a gradient for each copy.

**Instead**

Loop over a tensor: `for i in tf.range(n)` becomes one loop op whose body is recorded once (what it changes must keep
its shape and dtype; collect results in a `tf.TensorArray`). Where the steps do not depend on each other, compute them
all at once with one op on the whole array. Where they must stay Python, compile the body alone and keep the loop
outside.

**Not when**

The loop is short (the layers of a network), or its steps must be different Python: other layers, other shapes. A short
unrolled loop even runs faster. Where each step calls a model on one example of a batch, the batch is to be given at
once, and that is what is named. The fix writes `tf.range` where the counter may be a tensor and nothing in the loop
must run in Python; whether shapes and dtypes stay the same shows when it is tried.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.loops import outside_loops
from hotloop.rules.single_examples import called_on_example
from hotloop.source.heat import trips
from hotloop.source.module import Loop, Scope, last_name, names_read
from hotloop.source.project import loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
MANY_TIMES = 20  # a loop that goes round less often may as well be unrolled
ROWS = 4

MANY = 50  # steps: below, unrolling is cheap and often wanted
SURELY = 200  # steps that hurt even when each records an op or two
# What leaves no op behind, on whatever it is called.
PYTHON_METHODS = {
    "append", "extend", "insert", "add", "update", "get", "pop", "items", "keys", "values", "format", "join", "split",
    "index", "count", "as_list", "setdefault",
}  # fmt: skip
PYTHON_NAMES = ("np.", "math.", "random.", "itertools.", "collections.", "logging.", "os.", "re.", "absl.", "json.")
GOES_OVER = {"enumerate", "zip", "reversed", "sorted", "list", "tuple", "items", "keys", "values"}
TRACED_ELSEWHERE = {"build", "__init__"}  # Python of Keras that makes variables, once


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for loop in module.loops:
            steps = _steps(loop, project)
            if steps is None or steps < MANY or not project.traced(loop.where):
                continue
            if loop.where.scope.name in TRACED_ELSEWHERE or loop.where.scope.yields or _per_example(loop):
                continue
            ops = _Ops(loop, project)
            if not ops.any or _takes_examples(loop, project):
                continue
            confidence: Confidence = "high" if steps >= SURELY or ops.large else "medium"
            fields = outside_loops(loop.where, confidence)
            yield RULE.finding(loop.place, _message(loop, steps), **fields)


def _message(loop: Loop, steps: float) -> str:
    function = loop.where.scope.name
    name = "this function" if function == "<lambda>" else f"`{function}`"
    cure = "Loop over a tensor (`tf.range`), or use one op on the whole array."
    return f"{name} is traced, and its Python loop is written out into the graph {steps:,.0f} times. {cure}"


def _steps(loop: Loop, project: Project) -> float | None:
    """How often the body is recorded: a loop's own steps times those of the short ones directly around it.

    None for a loop that is inside a long one, which is then the one to name.
    """
    if loop.kind == "map":
        return None
    if loop.iterable is not None and _is_handed_over(loop.iterable, loop.where.scope, project):
        return None  # nobody hands over a list that is written out and that long
    own = trips(loop, project)
    if own is None or own < 2 or _leaves_early(loop.node):
        return None
    around = [trips(outer, project) for outer in loops_of(loop.where)]
    if any(n is not None and n >= MANY for n in around):
        return None
    return own * math.prod(n for n in around if n)


def _is_handed_over(expr: ast.expr, scope: Scope, project: Project) -> bool:
    """A parameter, or what goes over one: to find out how long it is takes a look at all callers."""
    if isinstance(expr, ast.Call) and last_name(expr.func) in GOES_OVER:
        parts = expr.args or ([expr.func.value] if isinstance(expr.func, ast.Attribute) else [])
        counted = any(isinstance(part, ast.Call) for part in parts) and len(parts) > 1
        return not counted and any(_is_handed_over(part, scope, project) for part in parts)
    return isinstance(expr, ast.Name) and any(b.kind == "parameter" for b in project.bindings(expr.id, scope))


def _leaves_early(node: ast.AST) -> bool:
    """A loop that ends by `return` or `break` at its top level may make far fewer steps than it says."""
    body = getattr(node, "body", [])
    return any(isinstance(statement, ast.Return | ast.Break) for statement in body)


def _per_example(loop: Loop) -> bool:
    """`for i in range(batch_size)`: the ailment there is that examples come one at a time."""
    return loop.iterable is not None and re.search(r"batch", ast.unparse(loop.iterable).lower()) is not None


def _takes_examples(loop: Loop, project: Project) -> bool:
    """The same ailment, of a model that gets row number `i` of the batch in each step."""
    found = (called_on_example(call, project) for call in loop.where.scope.module.calls)
    return any(one is not None and one.loop is loop and one.confidence != "low" for one in found)


class _Ops:
    """What the body records, as far as source shows: `any` op at all, and whether one is `large` (a layer, a call)."""

    def __init__(self, loop: Loop, project: Project) -> None:
        self.project, self.scope, self.targets = project, loop.where.scope, loop.targets
        self.any = self.large = False
        body = loop.node.body if isinstance(loop.node, ast.For | ast.AsyncFor | ast.While) else [loop.node]
        for node in (n for part in body for n in ast.walk(part)):
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.BinOp | ast.AugAssign):
                self._arithmetic(node)

    def _call(self, node: ast.Call) -> None:
        value = self.project.resolve(node.func, self.scope)
        if value is not None and value.name:
            self.any |= value.name.startswith(("tf.", "keras."))
            self.large |= value.name.startswith("keras.") or value.name.endswith((".gradient", ".apply_gradients"))
        elif value is not None and value.scope is not None:
            self.any = self.large = True
        elif isinstance(node.func, ast.Attribute) and node.func.attr not in PYTHON_METHODS:
            self.any = self.any or not self.project.name_of(node.func, self.scope).startswith(PYTHON_NAMES)

    def _arithmetic(self, node: ast.BinOp | ast.AugAssign) -> None:
        """On parameters of the traced function, which are tensors for all we know; not on counters."""
        named = names_read(node) - self.targets
        parameters = set(self.scope.parameters[1 if self.scope.is_method else 0 :])
        carried = {n for n in named for b in self.scope.bindings.get(n, []) if b.kind == "augment"}
        self.any |= bool(named & parameters) and not carried - parameters


def diagnose(recording: Recording) -> Iterator[Finding]:
    for event in recording.of_kind("unrolled"):
        seen = event.examples[-1]
        if seen["model"] and seen["rows"] >= ROWS:
            continue  # one example after the other: that is another ailment
        tracing = measured.tracing(recording, event)
        times = float(seen["times"])
        if times >= MANY_TIMES:
            yield measured.told(
                RULE, recording, measured.at_line(seen["loop"]), tracing * float(seen["inside"]) * (1 - 1 / times),
                f"This loop was unrolled into `{event.subject}` some {words.number(times)} times {{cost}}: tracing it "
                f"took {words.duration(tracing)}. Let TensorFlow loop: `for i in tf.range(n)`.",
                measured.loop_of(recording, event),
                [Evidence("tracing", tracing, "s"), Evidence("times round", times)],
            )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.unrolled_loop.tensor_loop import tensor_loop

    return tensor_loop(finding, project)
