"""The same model is loaded, imported or restored in every step of a loop.

**Why**

Reading a model means parsing its file, building every layer or node again, and preparing what was built on its first
call. None of it depends on the step.

**Instead**

Load once, before the loop (in a web service: before the first request), or in a function that remembers what it loaded
(`@functools.cache`). Then pass the model to the code that needs it. Where the loop only asks a model for
answers, `from hotloop import Predictor`; `p = Predictor("model.pb")` before the loop and `p(image)` inside it is all of
that, batched.

**Not when**

Each step needs another model: one per checkpoint, per fold, per member of an ensemble. A model that is changed
after it was loaded (trained, compiled, given other weights) would carry the change into the next step, so it is not
moved.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.model import Evidence, Finding, Fix, LoopRun, Recording, Refusal
from hotloop.rules import Rule, measured
from hotloop.rules.calls import spelled_like
from hotloop.rules.loops import each, in_loop, outside_loops
from hotloop.rules.names import APPLICATIONS, LOADERS
from hotloop.rules.requests import handler_of, is_rerun, is_same_for_each
from hotloop.source.flow import varies
from hotloop.source.module import last_name
from hotloop.source.project import loops_of

if TYPE_CHECKING:
    from hotloop.source import Project
    from hotloop.source.module import Call, Loop, Scope

RULE = Rule(__name__)

RESTORES = {"restore", "read", "restore_or_initialize", "load_weights"}
ONCE = "Load it once, when the program starts."
TRANSFORMERS = re.compile(r"transformers\.TF\w+\.from_pretrained$")
SPELLED = {name.rpartition(".")[2] for name in LOADERS} | RESTORES | {"from_pretrained"}


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in spelled_like(module, project, _may_load):
            if not _loads(call, project):
                continue
            found = in_loop(project, call.where)
            outside = _outside_loops(call, project) if found is None and is_same_for_each(call, project) else ""
            if outside:
                yield RULE.finding(call.place, outside, **outside_loops(call.where, "medium"))
            if not found or _differs(call, found.loop, found.chain, project):
                continue
            if is_restore(
                project.name_of(call.node.func, call.where.scope)
            ):  # may be what resets the variables in each step
                found = found.lowered()
            message = f"The same model is loaded {each(found, call.place)}. Load it once, before the loop."
            yield RULE.finding(call.place, message, **found.where)


def _outside_loops(call: Call, project: Project) -> str:
    """What to say of a load in a function that answers requests, or in a script that is run again and again."""
    handler = handler_of(call, project)
    if handler is not None:
        return f"The same model is loaded for every request that `{handler.name}` answers. {ONCE}"
    if is_rerun(call, project):
        return (
            "The same model is loaded each time that Streamlit runs this script, which is at every interaction. "
            "Load it in a function with `@st.cache_resource`."
        )
    return ""


def is_restore(name: str) -> bool:
    """What puts values into variables that are already there."""
    return name.rpartition(".")[2] in RESTORES


@functools.cache
def _may_load(last: str) -> bool:
    return last in SPELLED or (last[:1].isupper() and not hasattr(builtins, last))


def _loads(call: Call, project: Project) -> bool:
    name = project.name_of(call.node.func, call.where.scope)
    if name.startswith(APPLICATIONS) and "(" not in name and name.rpartition(".")[2][:1].isupper():
        return True
    if TRANSFORMERS.match(name):
        return True
    return name in LOADERS or (name.endswith("().load_weights") and name.startswith("keras."))


def _differs(call: Call, loop: Loop, chain: tuple[Call, ...], project: Project) -> bool:
    """Whether what is loaded may be another model in each step."""
    arguments = [*call.node.args, *[k.value for k in call.node.keywords]]
    scope = call.where.scope
    if any(_is_written_out(a, scope, loop, bool(chain)) for a in arguments):
        return True
    return any(varies(a, scope, loop, chain, project, calls_vary=True) for a in arguments)


def _is_written_out(expr: ast.expr, scope: Scope, loop: Loop, called: bool) -> bool:
    """`g.as_graph_def()` of the same step: a graph that the program has just put together, or is handed."""
    values: list[ast.expr | None] = [expr]
    if isinstance(expr, ast.Name):
        values = [b.value for b in scope.bound(expr.id) if called or loop in loops_of(b.where)]
    return any(isinstance(value, ast.Call) and last_name(value.func) == "as_graph_def" for value in values)


def diagnose(recording: Recording) -> Iterator[Finding]:
    sites = list(measured.recurring(recording, recording.of_kind("load", "import"), least=4))
    for at in sites:
        sources = {example.get("source") for event in at.events for example in event.examples}
        if len(sources) > 1:  # another model each time
            continue
        others = sum(site.count for site in sites if site.loop is at.loop)
        seconds = at.seconds * (at.count - 1) / at.count + _tracing(recording, at.loop) * at.count / others
        what = "A graph was imported" if at.events[0].kind == "import" else "A model was loaded"
        yield measured.finding(
            RULE, recording, at, seconds,
            f"{what} {at.often} {{cost}}. Load it once, before the loop.",
            evidence=[Evidence("loads", at.count), Evidence("each", at.seconds / at.count, "s")],
        )  # fmt: skip


def _tracing(recording: Recording, loop: LoopRun) -> float:
    """Seconds that Keras traced the steps of models anew: of those that were loaded, where none was built."""
    built = (event for event in recording.of_kind("built") if event.totals.get("models"))
    return (
        0.0 if any(measured.is_in(recording, loop, e.stack) for e in built) else measured.keras_traces(recording, loop)
    )


def fix(finding: Finding, project: Project) -> Fix | Refusal:
    if finding.basis == "static" and finding.loop is None:
        reason = "requests may be answered by several threads or processes: load it where each starts"
        if b"streamlit" in project.modules[finding.place.path].data:
            reason = "what else such a function would need of the script is yours to say"
        return Refusal(reason, finding.place)
    from hotloop.rules.model_load_in_loop.mend import load_once

    return load_once(finding, project)
