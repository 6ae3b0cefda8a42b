"""A Keras model, layer, optimizer or metric is built in every step of a loop.

**Why**

Each of them makes variables and, when first used, functions. A layer made per step is ten times slower than one that is
kept and starts from new random weights; an optimizer made per step forgets its momentum; a model made per step is
built, and traced again by the first `predict` or `fit`. A model that was trained also leaves its functions in memory,
some 4 MB each: `clear_session()` and `del` do not free them.

**Instead**

Build once, before the loop, and call the same object. To start again from scratch, keep the first weights
(`start = model.get_weights()`) and set them back (`model.set_weights(start)`); reset a metric with `reset_state()`, an
optimizer by setting its variables to zero. A loop that really needs many different models should train each in a
process of its own.

**Not when**

The loop builds a network (its layers, its blocks), an ensemble, or one model per fold or task: then there is as much
to build as there are of them; a run only says so where most of the time went into tracing models that are all alike.
What has a memory (weights of its own, an optimizer's momentum) gives other numbers when it is kept: there the fix is
shown and not applied.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.model import Evidence, Finding, Fix, LoopRun, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import spelled_like
from hotloop.rules.loops import InLoop, each, in_loops
from hotloop.rules.model_built_in_loop.made import Made, is_set_aside, is_single_step, on_data
from hotloop.source.flow import varies
from hotloop.source.heat import trips
from hotloop.source.module import Call

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

FUNCTION = "keras.backend.function"  # a model that is cut out of another
MODEL_MAKERS = {"keras.Model", "keras.Sequential", "keras.models.clone_model", FUNCTION}
KINDS = (
    ("keras.optimizers.", "optimizer"), ("tf.optimizers.", "optimizer"), ("keras.metrics.", "metric"),
    ("tf.metrics.", "metric"), ("keras.layers.", "layer"),
)  # fmt: skip
FOLD = 3  # batches in one `fit`: with more, each model is trained from scratch on purpose
MOSTLY = 0.5  # of such a loop, that tracing models which are all alike takes: then to build them is what it does
MANY = 50  # trained models: fewer are an experiment
CURES = {
    "model": "Build it once, before the loop.",
    "layer": "Make it once, before the loop, and call it.",
    "optimizer": "Make it once, before the loop: it also forgets its state each time.",
    "metric": "Make it once, before the loop, and call `reset_state()`.",
}
USES = ("call", "predict", "evaluate", "gradient", "apply", "fit")  # events that show a model at work
TRAINED = "Each one trained stays in memory, even after `clear_session()`. Reuse one and set its first weights back."


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in spelled_like(module, project, _may_build):
            kind = _kind(call, project) if not is_set_aside(call) else ""
            ways = in_loops(project, call.where) if kind else []
            found = next((judged for way in ways if (judged := _judged(kind, Made(call, way, project)))), None)
            if found:
                cure = TRAINED if kind == "model" and Made(call, found, project).is_trained() else CURES[kind]
                what = "function" if project.name_of(call.node.func, call.where.scope) == FUNCTION else kind
                message = f"A Keras {what} is built {each(found, call.place)}. {cure}"
                yield RULE.finding(call.place, message, **found.where)


@functools.cache
def _may_build(last: str) -> bool:
    return (last.lstrip("_")[:1].isupper() and not hasattr(builtins, last)) or last in ("clone_model", "function")


def _kind(call: Call, project: Project) -> str:
    value = project.resolve(call.node.func, call.where.scope)
    if value is None:
        return ""
    if value.kind == "class" and value.scope is not None:
        names = set(project.ancestry(value.scope))
        if names & MODEL_MAKERS:
            return "model"
        return "layer" if any(name.startswith("keras.layers.") for name in names) else ""
    if value.name in MODEL_MAKERS:
        return "model"
    last = value.name.rpartition(".")[2]
    if not last[:1].isupper() or "(" in last or ".schedules." in value.name:
        return ""
    return next((kind for prefix, kind in KINDS if value.name.startswith(prefix)), "")


def _judged(kind: str, made: Made) -> InLoop | None:
    """How sure we are that this hurts; None where building it again is the point."""
    found = made.found
    if not _is_repeated(found, made.project) or made.is_kept() or made.is_part() or made.is_used_in_loop():
        return None
    if kind != "model" and not is_single_step(made):
        return None
    if kind == "layer":
        return found if made.is_called_on_step() and on_data(made) else None
    if kind in ("optimizer", "metric"):
        return found if made.is_used() else None
    if _differs(made):
        return None
    if made.is_trained():
        steps = trips(found.loop, made.project)
        return found.lowered() if steps is None or steps >= MANY else None
    return found if made.is_used() else None


def _is_repeated(found: InLoop, project: Project) -> bool:
    """Whether the loop is hot, or is known to have some steps."""
    return found.heat == "hot" or (found.heat == "warm" and trips(found.loop, project) is not None)


def _differs(made: Made) -> bool:
    """Whether each step builds another model."""
    arguments = [*made.call.node.args, *[k.value for k in made.call.node.keywords]]
    scope, found = made.call.where.scope, made.found
    return any(varies(a, scope, found.loop, found.chain, made.project) for a in arguments)


def diagnose(recording: Recording) -> Iterator[Finding]:
    by_loop: dict[LoopRun, list[measured.Recurring]] = {}
    for at in measured.recurring(recording, recording.of_kind("built")):
        by_loop.setdefault(at.loop, []).append(at)
    for loop, sites in by_loop.items():
        whole = max(sites, key=lambda at: (at.total("models"), -at.place.line))
        tracing = measured.keras_traces(recording, loop)
        alike = tracing >= MOSTLY * loop.seconds and _are_alike(recording, loop)
        if not _belongs_outside(recording, loop, whole, alike):
            continue
        building = measured.through(measured.within(recording, loop), [at.place for at in sites])
        models = [event for event in whole.events if event.totals.get("models")]
        if models:  # its layers are made on the same line
            whole = measured.Recurring(loop, tuple(models))
        what = "model" if models else "layer, optimizer or metric"
        yield measured.finding(
            RULE, recording, whole, building * (whole.count - 1) / whole.count + tracing,
            f"A new {what} (`{whole.events[0].subject}`) was built {whole.often} {{cost}}. "
            f"{TRAINED if _is_trained(recording, loop) and models else CURES['model']}",
            evidence=[
                Evidence("built", whole.count), Evidence("building", building, "s"),
                Evidence("tracing again", tracing, "s"),
            ],
        )  # fmt: skip


def _are_alike(recording: Recording, loop: LoopRun) -> bool:
    """Whether the steps that Keras traced for models of this loop have as many ops each: a search has others."""
    ops: dict[str, set[float]] = {}
    for event in measured.steps_of_models(recording):
        if measured.is_in(recording, loop, event.stack):
            ops.setdefault(event.subject, set()).update(float(x.get("ops", -1.0)) for x in event.examples)
    return bool(ops) and all(len(seen) == 1 and -1.0 not in seen for seen in ops.values())


def _is_trained(recording: Recording, loop: LoopRun) -> bool:
    fits = [event for event in recording.of_kind("fit") if measured.is_in(recording, loop, event.stack)]
    return sum(event.totals.get("batches", 0.0) for event in fits) > FOLD * sum(event.count for event in fits)


def _belongs_outside(recording: Recording, loop: LoopRun, made: measured.Recurring, alike: bool) -> bool:
    """The loop uses or drops what it makes: one that only builds a network keeps all of it and runs nothing."""
    inside = [event for event in recording.events if measured.is_in(recording, loop, event.stack)]
    if sum(event.totals.get("again", 0.0) for event in inside if event.kind == "compile") >= measured.FEW:
        return False  # an optimizer made for each `compile`: that is the ailment
    fits = [event for event in inside if event.kind == "fit"]
    batches = sum(event.totals.get("batches", 0.0) for event in fits) / max(1, sum(event.count for event in fits))
    if batches > FOLD and made.count < MANY and not alike:
        return False
    return any(event.kind in USES for event in inside) or 2 * made.total("dropped") > made.count


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.model_built_in_loop.once import build_once
    from hotloop.rules.moving import call_at

    call = call_at(project.modules[finding.place.path], finding.place)
    return build_once(finding, project, _kind(call, project))
