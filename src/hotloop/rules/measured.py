"""What every runtime detector asks of a recording: which events recur in a loop, and what they cost there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hotloop import words
from hotloop.model import Confidence, Cost, Event, Evidence, Finding, LoopRun, Place, Recording, Sample
from hotloop.rules import Rule

KERAS_STEP = (
    "keras/src/backend/tensorflow/trainer", "keras/src/trainers",
    "keras/src/engine/training", "keras/engine/training", "tf_keras/src/engine/training",  # Keras 2, as it moved
)  # fmt: skip
CALL = 3e-4  # seconds of one compiled call
SENDING = ("compute", "library", "python")  # phases in which ops are sent
EAGER_OP = 1e-3  # seconds that an eager operation takes at most, when it computes next to nothing
TRACE = 22.0  # times what an eager step takes to be sent: to trace and prepare it, once
FEW = 8  # events of one kind in one loop: fewer are no habit


@dataclass(frozen=True)
class Recurring:
    """Events of one site that recur in a loop."""

    loop: LoopRun
    events: tuple[Event, ...]

    @property
    def place(self) -> Place:
        return self.events[0].place

    @property
    def count(self) -> int:
        return sum(event.count for event in self.events)

    @property
    def seconds(self) -> float:
        return sum(event.seconds for event in self.events)

    def total(self, name: str) -> float:
        return sum(event.totals.get(name, 0.0) for event in self.events)

    @property
    def often(self) -> str:
        """`80 times in 80 steps`."""
        return f"{words.count(self.count)} times in {words.plural(self.loop.steps, 'step')}"


def loop_of(recording: Recording, event: Event) -> LoopRun | None:
    """The innermost loop of the program that repeats an event; else that of Keras, which calls the program back."""
    for run in recording.loops_around(event.stack):
        if run.steps >= FEW and not run.yields:
            return run
    below = [run for run in recording.loops if run.stack and run.steps >= FEW and _is_below(event.stack, run.stack)]
    return max(below, key=lambda run: len(run.stack), default=None)


def _is_below(stack: tuple[Place, ...], call: tuple[Place, ...]) -> bool:
    """Whether code with that stack ran in something that a call of Keras called back."""
    return len(stack) > len(call) and stack[-len(call) :] == call


def recurring(recording: Recording, events: Iterable[Event], least: int = FEW) -> Iterator[Recurring]:
    """Events of the same line in the same loop, together; those that happened too seldom are left out."""
    groups: dict[tuple[str, int, Place], tuple[LoopRun, list[Event]]] = {}
    for event in events:
        run = loop_of(recording, event)
        if run is not None:
            key = (event.place.path, event.place.line, run.place)
            groups.setdefault(key, (run, []))[1].append(event)
    for run, found in groups.values():
        together = Recurring(run, tuple(found))
        if together.count >= least:
            yield together


def sampled(recording: Recording, places: Iterable[Place], phase: str) -> float:
    """Seconds that the sampler saw in one phase with one of these lines innermost."""
    wanted = {(p.path, p.line) for p in places}
    return sum(
        s.seconds for s in recording.samples
        if s.phase == phase and s.stack and (s.stack[0].path, s.stack[0].line) in wanted
    )  # fmt: skip


def compiled_batch(recording: Recording, kind: str) -> float:
    """Seconds of compiled calls per batch of a kind of Keras call, over all of them: a compiled function is counted
    where it ran first, whichever line calls it later. Its first run is its trace's."""
    calls = list(recording.of_kind(kind))
    stacks = {event.stack for event in calls}
    compiled = [event for event in recording.of_kind("call") if event.stack in stacks]
    seconds = sum(event.seconds - tracing(recording, event, first_run=True) for event in compiled)
    return max(0.0, seconds) / max(1.0, sum(event.totals.get("batches", event.count) for event in calls))


def traced_once(recording: Recording, at: Recurring) -> float:
    """Seconds of the first traces at a site, and of those of new models: it needs them whatever is mended."""
    here = {event.stack for event in at.events}
    first = sum(event.seconds for event in recording.of_kind("trace.first") if event.stack in here)
    return first + sum(event.seconds for event in steps_of_models(recording) if event.stack in here)


def tracing(recording: Recording, at: Event, *, first_run: bool = False) -> float:
    """Seconds that the function an event speaks of was traced for there, or of these only its first run."""
    traces = [e for e in recording.events if e.kind.startswith("trace.")]
    same = [e for e in traces if (e.subject, e.stack) == (at.subject, at.stack)]
    return sum(e.totals.get("first_run_seconds", 0.0) if first_run else e.seconds for e in same)


def retraced(
    rule: Rule,
    recording: Recording,
    traces: Iterable[Event],
    told: Callable[[Recurring, Mapping[str, Any]], str],
    observed: Callable[[Recurring], Mapping[str, Any]] = lambda at: {},
) -> Iterator[Finding]:
    """A finding for each site where a function of the program's own was traced again; `told` says why."""
    for at in recurring(recording, traces):
        last = at.events[-1].examples[-1] if at.events[-1].examples else {}
        if not (last.get("user_defined") or last.get("created")):
            continue
        kept = at.total("bytes")
        seconds = max(at.seconds, sampled(recording, [at.place], "trace") * at.count / (at.count + 1))
        evidence = [
            Evidence("traces", at.count),
            Evidence("each", at.seconds / at.count, "s"),
            Evidence("memory kept", kept, "bytes"),
        ]
        message = f"`{at.events[0].subject}` was traced {told(at, last)}"
        made = finding(rule, recording, at, seconds, message, evidence=evidence, bytes_per_step=kept / at.loop.steps)
        yield replace(made, observed=observed(at))


def growth_seconds(cold: Iterable[Event]) -> float:
    """Of the first runs of many sessions, what they took more than the first few: the graph had grown by then."""
    total = 0.0
    for event in cold:
        early = [float(x["seconds"]) for x in event.examples[1:4] if "seconds" in x]
        if event.totals.get("grown", 0.0) > 0 and early:
            total += max(0.0, event.seconds - event.count * sum(early) / len(early))
    return total


def finding(
    rule: Rule,
    recording: Recording,
    at: Recurring,
    seconds: float,
    message: str,
    place: Place | None = None,
    evidence: Iterable[Evidence] = (),
    bytes_per_step: float | None = None,
    confidence: Confidence = "high",
) -> Finding:
    """A measured finding; its message gets the cost behind its first clause, where `{cost}` stands."""
    where = place or at.place
    return told(rule, recording, where, seconds, message, at.loop, evidence, bytes_per_step, confidence)


def told(
    rule: Rule,
    recording: Recording,
    place: Place,
    seconds: float,
    message: str,
    loop: LoopRun | None = None,
    evidence: Iterable[Evidence] = (),
    bytes_per_step: float | None = None,
    confidence: Confidence = "high",
) -> Finding:
    """The same of what need not stand in a loop of the program's own."""
    whole = recording.seconds
    around = loop.seconds if loop else whole
    seconds = min(max(0.0, seconds), around)  # an estimate; what it speaks of did not last longer than that
    cost = Cost(round(seconds, 6), round(seconds / whole, 6) if whole else 0.0, bytes_per_step)
    spent = f"{words.duration(seconds)} of {words.duration(around)}"
    return rule.finding(
        place,
        message.replace("{cost}", f"({spent})"),
        basis="measured",
        confidence=confidence,
        loop=loop.place if loop else None,
        cost=cost,
        evidence=tuple(evidence),
    )


def within(recording: Recording, loop: LoopRun, samples: Iterable[Sample] | None = None) -> list[Sample]:
    """The samples that fell into a loop."""
    return [s for s in (recording.samples if samples is None else samples) if is_in(recording, loop, s.stack)]


def is_in(recording: Recording, loop: LoopRun, stack: tuple[Place, ...]) -> bool:
    """Whether code with that stack ran in a loop; in one of Keras, below the line that called it."""
    return stack[-len(loop.stack) :] == loop.stack if loop.stack else loop in recording.loops_around(stack)


def outside_keras(recording: Recording, samples: Iterable[Sample]) -> list[Sample]:
    """Samples that fell into no `fit`, `evaluate` or `predict`: what these do, they do in compiled steps."""
    calls = _keras_calls(recording)
    return [s for s in samples if not any(s.stack[i:] in calls for i in range(len(s.stack)))]


def _keras_calls(recording: Recording) -> set[tuple[Place, ...]]:
    return {event.stack for event in recording.of_kind("fit", "evaluate", "predict") if not event.totals.get("eager")}


def through(samples: Iterable[Sample], places: Iterable[Place]) -> float:
    """Seconds of the samples that have one of these lines on their stack."""
    wanted = {(p.path, p.line) for p in places}
    return sum(s.seconds for s in samples if any((f.path, f.line) in wanted for f in s.stack))


def keras_traces(recording: Recording, loop: LoopRun) -> float:
    """Seconds in a loop that Keras traced its step for another time: of a new model, or one compiled again."""
    return sum(event.seconds for event in steps_of_models(recording) if is_in(recording, loop, event.stack))


def steps_of_models(recording: Recording) -> Iterator[Event]:
    """The traces of Keras' steps for other models than the first."""
    for event in recording.of_kind("trace.new-function"):
        if event.examples and str(event.examples[-1].get("defined", "")).startswith(KERAS_STEP):
            yield event


def computing(recording: Recording) -> float:
    """Seconds that TensorFlow's kernels computed: of eager operations without what sending them cost, of Keras'
    calls what their compiled steps took."""
    samples = [s for s in recording.samples if s.phase == "compute" and s.stack]
    own = outside_keras(recording, samples)
    calls = [event for event in recording.of_kind("call") if event.stack in _keras_calls(recording)]
    compiled = sum(max(0.0, event.seconds - event.count * CALL) for event in calls)
    in_keras = sum(s.seconds for s in samples) - sum(s.seconds for s in own)
    return min(in_keras, compiled) + sum(_kernels(line) for line in by_line(own))


def _kernels(line: list[Sample]) -> float:
    """Of a line's computing, what is kernels: all of it, unless it goes by in small eager operations."""
    seconds, ops = sum(s.seconds for s in line), sum(s.ops for s in line)
    return sum(s.op_seconds for s in line) if ops * EAGER_OP > 0.5 * seconds else seconds


def by_line(samples: Iterable[Sample]) -> list[list[Sample]]:
    """Samples together that have the same line innermost."""
    lines: dict[Place, list[Sample]] = {}
    for sample in samples:
        lines.setdefault(sample.stack[0], []).append(sample)
    return list(lines.values())


def compiled_instead(sent: float, steps: float, calls: float | None = None) -> float:
    """Seconds that compiling an eager step saves, of those in which its operations were sent from Python; it is then
    called once a step, if nothing else is said.

    A short look at a long training must not hide what it would gain: at least a quarter is counted.
    """
    called = CALL * (steps if calls is None else calls)
    return max(sent - called - TRACE * sent / max(1.0, steps), sent / 4)


def with_sleep(recording: Recording, seconds: float, loops: Iterable[LoopRun]) -> float:
    """Seconds that are saved in loops, and what passes over a data set that are the shorter for it save at their end.

    TensorFlow's autotuner sleeps twice as long each time, and a pipeline is not taken down before it wakes up: on
    average that takes in proportion to the pass. (27% of an eager loop, 31% of an eager `fit`; compiled, both took less
    in all than that.)
    """
    runs = list(loops)
    whole = sum(run.seconds for run in runs)
    ends = (event for event in recording.of_kind("input", "iterator") if any(_reads(run, event) for run in runs))
    slept = min(sum(event.totals.get("slept", 0.0) for event in ends), 0.5 * whole)
    return seconds * whole / (whole - slept) if slept else seconds


def _reads(run: LoopRun, event: Event) -> bool:
    """Whether an iterator was made in a loop, or for it."""
    if run.stack:
        return event.stack[-len(run.stack) :] == run.stack
    return any(run.place.covers(frame) for frame in event.stack)


def cpus(recording: Recording) -> int:
    return int(recording.meta.get("machine", {}).get("cpus") or 2)


def at_line(text: str) -> Place:
    """`path:line`, as probes write it."""
    path, _, line = text.rpartition(":")
    return Place(path, int(line))


def sent_one_by_one(recording: Recording, at: Place, least: int) -> Cost | None:
    """What the loop there cost, if it sends for each of `least` rows and more what could be sent for all at once: the
    time of its ops, less that of their kernels."""
    runs = [r for r in recording.loops if not r.stack and (r.place.path, r.place.line) == (at.path, at.line)]
    if not runs or runs[0].steps < least * runs[0].runs:
        return None
    inside = [sample for sample in within(recording, runs[0]) if sample.phase in SENDING]
    sent = sum(sample.seconds - sample.op_seconds for sample in inside)
    return Cost(max(0.0, sent * (1 - runs[0].runs / runs[0].steps)), 0.0)
