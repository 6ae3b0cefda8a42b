"""Values are fetched one by one in every step of a loop, where one fetch would bring them all, or none were needed.

**Why**

Each `session.run` computes what it fetches from the inputs on: `run(loss, feed)` and then `run(accuracy, feed)` go
through the whole network twice, and hand the batch over twice. In graph code `loss.eval(feed)`, `K.eval` and
`K.get_value` are such runs too. In eager code `.numpy()` and `float(...)` make Python wait for the device; on a CPU
the wait costs nothing. But `boxes[0][i].numpy()` is two ops before it is a number, a tenth of a millisecond on a CPU:
three such values of each of 100 boxes took 33 ms, and 0.1 ms where the three tensors were fetched whole.

**Instead**

One call with a list: `loss_value, accuracy_value = sess.run([loss, accuracy], feed_dict=feed)`. In eager code on a GPU,
keep the tensor, or update a `keras.metrics` object, and read the value every hundred steps. Call `.numpy()` on a whole
tensor before the loop over its rows, then index the array.

**Not when**

The second value must be seen after what the first one changed: the loss after the training op, say. `[train_op, loss]`
gives the loss before the update, as is usual. `.numpy()` and `float()` of other than parts of a tensor are named only
with `--all`, and only in programs that mention a GPU: most often the value is needed, and only a measurement can tell
what it costs. Parts of a tensor in a loop that runs once, or has a few steps, cost some milliseconds in all. The fix
joins the runs of a session; it is tried before it is written, because runs of their own draw random numbers of their
own, and shown only where an update is near, whose values would become those before it, or where a value is printed in
each step, which every hundredth could do. Calls of `eval` stay, because which session is open there is not known. It
also takes the parts of a tensor from an array, which is tried, too: a row that is written to is then one of the array.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Evidence, Finding, Fix, LoopRun, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named
from hotloop.rules.fetch_per_step.rows import reads
from hotloop.rules.fetch_per_step.runs import groups
from hotloop.rules.loops import each, in_loop
from hotloop.source.guards import is_guarded
from hotloop.source.module import Call, Loop, Module

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

SELDOM = 0.5  # of the steps of a loop
BACKEND = {"keras.backend.eval", "keras.backend.get_value", "keras.backend.batch_get_value"}
GRAPH_CODE = re.compile(
    rb"placeholder\(|Session\(|disable_eager|disable_v2|get_session\(|reset_default_graph|K\.function"
)
DEVICE = re.compile(rb"[GT]PU|[Cc]uda|MirroredStrategy|memory_growth")  # a program that says it has one


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        yield from _separate_runs(module, project)
        yield from _backend_fetches(module, project)
        yield from _row_reads(module, project)
        if project.thorough and DEVICE.search(module.data):
            yield from _eager_fetches(module, project)


def _separate_runs(module: Module, project: Project) -> Iterator[Finding]:
    for group in groups(module, project):
        second = group.runs[1].call
        found = in_loop(project, second.where)
        if found is None:
            continue
        fetched = ", ".join(f"`{ast.unparse(run.fetch)}`" for run in group.runs)
        called = ast.unparse(second.node.func) if group.runs[1].session else second.last
        after = " (the others are then those before the update)" if group.trains else ""
        if group.update is not None:
            after = f", or with `{ast.unparse(group.update.fetch)}` where values before the update will do"
        message = (
            f"{fetched} are fetched by {group.times} calls of `{called}` with the same "
            f"feed {each(found, second.place)}: each computes the network again. Fetch them in one call, as a "
            f"list{after}."
        )
        found = found.lowered() if group.trains else found
        yield RULE.finding(second.place, message, **found.where)


def _backend_fetches(module: Module, project: Project) -> Iterator[Finding]:
    for call, _ in named(module, project, BACKEND):
        found = in_loop(project, call.where) if not is_guarded(call.where) else None
        if found:
            in_graph = GRAPH_CODE.search(module.data) is not None
            found = found.lowered() if in_graph else found.lowered().lowered()
            message = (
                f"`{ast.unparse(call.node.func)}` fetches a value {each(found, call.place)}: in graph code a run of "
                "the session of its own, otherwise a wait for the device. Fetch it with the step, or every hundred "
                "steps."
            )
            yield RULE.finding(call.place, message, **found.where)


def _row_reads(module: Module, project: Project) -> Iterator[Finding]:
    for one in reads(module, project):
        first, others, whole = one.calls[0], len(one.calls) - 1, ast.unparse(one.tensors[0])
        more = f" (as {others} more here)" if others else ""
        message = (
            f"`{ast.unparse(first.node)[:60]}`{more} reads a part of a tensor {each(one.found, first.place)}: some "
            f"ops and a wait each time. Call `.numpy()` on all of `{whole}` before the loop, then index the array."
        )
        yield RULE.finding(first.place, message, **one.found.where)


def _eager_fetches(module: Module, project: Project) -> Iterator[Finding]:
    """One finding a loop, and never a sure one: on a CPU this costs nothing."""
    seen: set[Loop] = set()
    told = {call for one in reads(module, project) for call in one.calls}
    for call in module.calls:
        if call in told or not _waits(call, project):
            continue
        found = in_loop(project, call.where)
        if found and found.heat == "hot" and found.loop not in seen:
            seen.add(found.loop)
            found = found.lowered().lowered()
            message = (
                f"`{ast.unparse(call.node)[:60]}` waits for the device {each(found, call.place)}. On a GPU, read the "
                "value every hundred steps; on a CPU it costs nothing."
            )
            yield RULE.finding(call.place, message, **found.where)


def _waits(call: Call, project: Project) -> bool:
    func, scope = call.node.func, call.where.scope
    if isinstance(func, ast.Attribute):
        return func.attr == "numpy" and not call.node.args and not call.node.keywords
    if not (isinstance(func, ast.Name) and func.id in ("float", "int") and len(call.node.args) == 1):
        return False
    made = call.node.args[0]
    if isinstance(made, ast.Name):
        values = [b.value for b in scope.bindings.get(made.id, []) if isinstance(b.value, ast.Call)]
        made = values[-1] if values else made
    target = project.at_sight(made.func, scope) if isinstance(made, ast.Call) else None
    return target is not None and (target.kind == "traced" or target.name.startswith(("tf.reduce_", "keras.losses.")))


def diagnose(recording: Recording) -> Iterator[Finding]:
    again: dict[LoopRun, list[measured.Recurring]] = {}
    ran: dict[LoopRun, int] = {}
    for at in measured.recurring(recording, recording.of_kind("session.run")):
        ran[at.loop] = ran.get(at.loop, 0) + at.count
        if at.total("again") >= max(measured.FEW, 0.5 * at.count):
            again.setdefault(at.loop, []).append(at)
    for loop, sites in again.items():
        first = min(sites, key=lambda at: at.place.line)
        runs = sum(at.total("again") for at in sites)
        updated = any(at.total("updated") for at in sites)
        seldom = runs < SELDOM * loop.steps
        if seldom and updated:
            continue  # a look at the loss now and then
        after = " The values are then those before the update." if updated else ""
        places = {at.place for at in sites}
        prepared = sum(event.seconds for event in recording.of_kind("session.cold") if event.place in places)
        often = f"{words.count(runs)} times" if seldom else f"{round(runs / loop.steps, 1):g} times a step"
        # Where all steps are fed the same, each run is one more of these: the costliest of them stays.
        stay = max(0.0, loop.steps - (ran[loop] - runs)) * max(at.seconds / at.count for at in sites)
        seconds = prepared + sum(at.seconds * at.total("again") / at.count for at in sites) - stay
        yield measured.finding(
            RULE, recording, first, seconds,
            f"The session ran again with the same feed {often} in {loop.steps:,} steps {{cost}}, to fetch another "
            f"value. Fetch them in one call, as a list.{after}",
            evidence=[Evidence("runs with the same feed", runs)],
            confidence="medium" if updated else "high",
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.fetch_per_step.mend import fetch_together, fetch_whole

    rows = reads(project.modules[finding.place.path], project)
    found = next((one for one in rows if one.calls[0].place == finding.place), None)
    return fetch_whole(found) if found else fetch_together(finding, project)
