"""A TensorFlow session is opened in every step of a loop.

**Why**

A session is not a cheap handle. Making one starts an executor, and its first run prepares the whole graph again:
placement, optimisation, kernels. A loop that opens a session per step pays that preparation every time; the
computation itself is the small part.

**Instead**

Open one session before the loop (`with tf.Session(graph=graph) as sess:` around it) and call `sess.run` inside. Where
the session is made in a function that a loop calls, or that answers a request of a web service, make it once and keep
it. Closing sessions sooner is no cure: it saves memory, not time. Where the loop only asks a frozen graph for answers,
`from hotloop import Predictor`; `p = Predictor("graph.pb")` before the loop and `p(image)` inside it need no session at
all.

**Not when**

A session per fold, per checkpoint, per model or per worker is fine: a handful of preparations are not a loop. Where the
program asks `tf.executing_eagerly()` first, the session is for a mode that it is not run in today. The fix moves the
session only where its arguments do not change in the loop and no op is built inside it; it is tried before it is
written, because a session that lives longer also keeps its variables longer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hotloop.model import Evidence, Finding, Fix, Recording, Refusal
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named
from hotloop.rules.loops import InLoop, each, in_loop, outside_loops
from hotloop.rules.names import SESSIONS
from hotloop.rules.requests import handler_of
from hotloop.rules.session_in_loop.serving import serves_a_loop
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.flow import varies
from hotloop.source.module import Call, Context, Scope

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
ONCE = "Open one when the program starts, and run that."
LOADS = ("import_graph_def", "import_meta_graph", "load")


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call, _ in named(module, project, SESSIONS):
            found = in_loop(project, call.where)
            if found is not None:
                found = _judged(found, call, project)
                message = f"A session is opened {each(found, call.place)}. Open one before the loop and reuse it."
                yield RULE.finding(call.place, message, **found.where)
            elif (handler := _handler_of(call, project)) is not None:
                message = f"A session is opened for every request that `{handler.name}` answers. {ONCE}"
                yield RULE.finding(call.place, message, **outside_loops(call.where, "medium"))


def _handler_of(call: Call, project: Project) -> Scope | None:
    """The function that opens it for each request; None where that chooses a graph, or has a loop to run."""
    graph = call.argument(1, "graph")
    if isinstance(graph, ast.Call | ast.Subscript) or serves_a_loop(call, project):
        return None
    return handler_of(call, project)


def _judged(found: InLoop, call: Call, project: Project) -> InLoop:
    """What asks whether it runs eagerly is written for both modes: the session is the one that is not taken today."""
    contexts = (call.where, *[caller.where for caller in found.chain])
    asks = any(_asks_for_eager(test, context, project) for context in contexts for test in context.tests)
    meant = asks or serves_a_loop(call, project) or _is_for_another_model(found, call, project)
    return replace(found, confidence="low") if meant else found


def _is_for_another_model(found: InLoop, call: Call, project: Project) -> bool:
    """Whether each step loads a model of its own into a graph of its own: that one needs a session of its own too."""
    scope = call.where.scope
    return any(
        varies(part, scope, found.loop, found.chain, project)
        for load in scope.module.calls_of(*LOADS)
        if load.where.scope is scope and (found.chain or stands_in(load.where, found.loop))
        for part in load.node.args
    )


def _asks_for_eager(test: ast.expr, where: Context, project: Project) -> bool:
    calls = (node for node in ast.walk(test) if isinstance(node, ast.Call))
    return any(project.name_of(call.func, where.scope) == "tf.executing_eagerly" for call in calls)


def diagnose(recording: Recording) -> Iterator[Finding]:
    for at in measured.recurring(recording, recording.of_kind("session")):
        site = str(at.place)
        cold = [e for e in recording.of_kind("session.cold") if e.subject == site]
        warm = [e for e in recording.of_kind("session.run") if e.subject == site]
        runs = sum(e.count for e in cold)
        usual = sum(e.seconds for e in warm) / max(1, sum(e.count for e in warm))
        first_runs = sum(e.seconds for e in cold) - measured.growth_seconds(cold)
        seconds = (at.seconds + first_runs - usual * runs) * (at.count - 1) / at.count
        yield measured.finding(
            RULE, recording, at, seconds,
            f"A session was opened {at.often} {{cost}}: each prepares the graph again. "
            "Open one before the loop and reuse it.",
            evidence=[Evidence("sessions", at.count), Evidence("first runs", first_runs, "s")],
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix | Refusal:
    if finding.basis == "static" and finding.loop is None:
        return Refusal(
            "requests may be answered by several threads or processes: open it where each starts", finding.place
        )
    from hotloop.rules.session_in_loop.mend import open_once

    return open_once(finding, project)
