"""A tensor or array grows in a loop: `x = tf.concat([x, y], 0)`, which copies all of it in every step.

**Why**

A tensor cannot grow in place. Each `concat` makes a new one and copies everything gathered so far, so that step n costs
n times as much as the first, and the loop as a whole is quadratic. A growing tensor that reaches a `tf.function` is
traced again at every size as well.

**Instead**

Collect the parts in a Python list and concatenate once after the loop. In a loop that a `tf.function` compiles
(`for i in tf.range(n)`), write into a `tf.TensorArray` and `stack()` or `concat()` it at the end. In eager code a list
is the faster of the two. For a table of pandas (`df.loc[len(df)] = row`) the same holds: append the rows to a list and
make the `DataFrame` once.

**Not when**

Each step needs the whole of it so far: text or frames that a model generates from what it has generated. Then keep a
cache of states, or a tensor of the full length that is filled in. A few steps do not matter either. The fix leaves
alone what the loop looks at as it grows, and parts that are changed in place afterwards: a concatenation copies, a list
does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import series, words
from hotloop.model import Cost, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.growing_concat.growth import Growth, growths, is_graph_code, is_tensor_loop
from hotloop.rules.loops import InLoop, each, outside_loops
from hotloop.source.heat import Heat, loop_heat, trips
from hotloop.source.module import Loop, Module, last_name, names_read, place_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
GROWN = 2.0  # times as large at the end
MOSTLY = 0.5  # of what steps take longer
DISPATCH = 1e-5  # seconds of a concatenation of next to nothing

PLAIN = {"pandas.DataFrame", "pandas.Series", "dict", "float", "int", "len", "list", "round", "str"}
SIZES = {"len", "size", "shape"}
USES_TENSORFLOW = re.compile(rb"tensorflow|keras|\btf\.")
GRAPH_CODE = re.compile(rb"placeholder\(|Session\(|\bslim\b|tf\.contrib|tf\.layers\.|variable_scope\(")
EAGER_CODE = re.compile(rb"GradientTape|@tf\.function|tf\.function\(|enable_eager|enable_v2")


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        if not USES_TENSORFLOW.search(module.data):
            continue
        for growth in growths(module, project):
            found = _found(growth, project)
            if found and growth.kind == "tensor" and _builds_graph(module):
                found = found.lowered().lowered()  # the loop builds the graph, it does not run it
            if found:
                place = place_of(module, growth.statement)
                message = (
                    f"`{growth.target}` grows by `{growth.spelled}` {each(found, place)}: all that it holds is "
                    f"copied each time. {_cure(growth, project)}"
                )
                seen = {"pandas alone": True} if growth.kind == "table" and _is_alone(growth, project) else {}
                yield RULE.finding(place, message, observed=seen, **found.where)


def _is_alone(growth: Growth, project: Project) -> bool:
    """Whether no library but pandas works on its line: `pd.concat([table, pd.read_csv(path)])` mostly reads."""
    calls = [node for node in ast.walk(growth.statement) if isinstance(node, ast.Call)]
    names = {project.name_of(call.func, growth.where.scope) for call in calls if call is not growth.statement.value}
    return all(name in PLAIN or name.startswith(("tf.", "keras.", "np.")) for name in names)


def _builds_graph(module: Module) -> bool:
    return GRAPH_CODE.search(module.data) is not None and not EAGER_CODE.search(module.data)


def _found(growth: Growth, project: Project) -> InLoop | None:
    heats = {loop: loop_heat(loop, project) for loop in growth.loops}
    order: tuple[Heat, ...] = ("hot", "warm", "cold")
    loop = min(growth.loops, key=lambda one: order.index(heats[one]))
    if project.traced(growth.where) and not _in_graph(loop, project):
        return None  # unrolled while tracing: that loop is short, and how it is built is another matter
    sure: dict[Heat, str] = {"hot": "high" if growth.kind == "tensor" else "medium", "warm": "medium", "cold": "low"}
    if growth.kind == "table":
        sure["warm"] = "low"  # a row for each epoch is soon copied
    if isinstance(loop.node, ast.While) and _is_until_enough(loop.node, growth):
        sure["hot"] = "low"  # until there are enough: mostly two or three steps
    elif sure["hot"] == "high" and _is_counted(loop, project):
        sure["hot"] = "medium"  # a few points are copied at no cost
    confidence = outside_loops(growth.where, sure[heats[loop]])["confidence"]  # type: ignore[arg-type]
    return InLoop(loop, (), heats[loop], confidence)  # type: ignore[arg-type]


def _is_until_enough(node: ast.While, growth: Growth) -> bool:
    """Whether it asks how much there is: of what grows, or by a counter to which the size of each part is added."""
    if growth.target in ast.unparse(node.test):
        return True
    asked = names_read(node.test)
    for part in ast.walk(node):
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name) and part.target.id in asked:
            calls = (inner for inner in ast.walk(part.value) if isinstance(inner, ast.Call))
            if any(last_name(call.func) in SIZES for call in calls):
                return True
    return False


def _is_counted(loop: Loop, project: Project) -> bool:
    """`range(n)` of which nobody says how much it is."""
    iterable = loop.iterable
    counted = isinstance(iterable, ast.Call) and last_name(iterable.func) in ("range", "trange")
    return counted and trips(loop, project) is None


def _in_graph(loop: Loop, project: Project) -> bool:
    return is_tensor_loop(loop, project) if isinstance(loop.iterable, ast.Call) else isinstance(loop.node, ast.While)


def _cure(growth: Growth, project: Project) -> str:
    if growth.kind == "tensor" and is_graph_code(growth.where, project):
        return "Write the parts into a `tf.TensorArray` and read it once after the loop."
    if growth.kind == "table":
        return "Append the parts to a list and make the table once after the loop."
    return "Append the parts to a list and concatenate once after the loop."


def diagnose(recording: Recording) -> Iterator[Finding]:
    for at in measured.recurring(recording, recording.of_kind("concat")):
        sizes = [float(example["bytes"]) for event in at.events for example in event.examples]
        if sizes[-1] < GROWN * sizes[0] or sizes != sorted(sizes):
            continue
        copied = at.total("bytes")
        spent = max(at.seconds, measured.sampled(recording, [at.place], "compute"))
        yield measured.finding(
            RULE, recording, at, spent - at.count * DISPATCH,
            f"{words.size(copied)} were copied by {words.plural(at.count, 'concatenation')} {{cost}} to put together "
            f"{words.size(sizes[-1])}. Collect the parts in a list and concatenate once, after the loop.",
            evidence=[Evidence("copied", copied, "bytes"), Evidence("concatenations", at.count)],
        )  # fmt: skip


def price(finding: Finding, recording: Recording) -> Cost | None:
    """NumPy leaves no event. What its steps took longer than the first of them did, if that went by on these lines.

    Nor does pandas: a row that joins a table takes long from the first on, in Python code of its own.
    """
    lines = range(finding.place.line, max(finding.place.line, finding.place.end_line) + 1)
    for loop in recording.loops:
        if (
            loop.stack
            or finding.loop is None
            or (loop.place.path, loop.place.line) != (finding.loop.path, finding.loop.line)
        ):
            continue
        line = series.trend(loop.step_seconds.at, loop.step_seconds.values)
        more = loop.seconds - loop.steps * line.start
        on_lines = [s for s in measured.within(recording, loop) if s.stack[0].line in lines]
        here = sum(s.seconds for s in on_lines)
        if finding.observed.get("pandas alone"):
            grown = sum(s.seconds for s in on_lines if s.phase == "library")
            return Cost(grown, grown / recording.seconds)
        if line.significant and here >= MOSTLY * more:
            return Cost(more, more / recording.seconds)
    return None


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.growing_concat.collect import collect

    return collect(finding, project)
