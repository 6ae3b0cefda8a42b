"""A `tf.function` is called in a loop with a Python number that changes, and is traced again for each value.

**Why**

TensorFlow compiles Python values into the graph: 0.1 and 0.099 are two functions. A learning rate that decays, a step
counter or a loss turned into a float is traced anew at each new value. Every trace is kept, so memory grows, and so
does the time to look for the right one. `reduce_retracing=True` does not help with numbers.

**Instead**

Pass a tensor: `step(x, tf.constant(lr))`, or keep the number in a `tf.Variable` and assign to it.

**Not when**

The number takes two or three values, or the function needs it as a Python value (a layer count, a shape, a branch):
then one trace per value is what you want. The fix is tried before it is written: a tensor has a dtype, and a function
that mixes it with another one fails.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.compiled import compiled_callee, has_signature, may_be_compiled
from hotloop.rules.loops import each
from hotloop.rules.python_number_argument.changing import Changing, changing_arguments
from hotloop.source.module import Call

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in may_be_compiled(module, project):
            target = compiled_callee(call, project)
            if target is None or has_signature(call, target.scope, project):
                continue
            found = next(changing_arguments(call, target.scope, project), None)
            if found is not None:
                yield _finding(call, found)


def _finding(call: Call, found: Changing) -> Finding:
    message = (
        f"`{ast.unparse(call.node.func)}` is a `tf.function` and its argument `{found.name}` is a Python number that "
        f"changes {each(found.there, call.place)}: each value is traced anew. Pass a tensor."
    )
    return RULE.finding(call.place, message, **found.there.where)


def diagnose(recording: Recording) -> Iterator[Finding]:
    changed = [e for e in recording.of_kind("trace.value") if e.examples and _is_number(e.examples[-1].get("now"))]
    return measured.retraced(RULE, recording, changed, _told)


def _told(at: measured.Recurring, last: Mapping[str, Any]) -> str:
    return (
        f"again {at.often} {{cost}}: argument `{last.get('argument')}` is a Python number that changes "
        f"({last.get('before')}, then {last.get('now')}). Pass a tensor."
    )


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.python_number_argument.tensor import pass_tensor

    return pass_tensor(finding, project)
