"""What a recording says of input: how long each loop waited for its data, and which stage of the pipeline took it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from hotloop.model import Event, LoopRun, LoopSummary, Place, Recording
from hotloop.rules import measured
from hotloop.rules.wrapping import wrapped
from hotloop.spans import Span

Cause = Literal["python", "serial", "order", "small", "again", "unknown", ""]

WAITS = 0.1  # of the loop: with less there is nothing to gain
STARVED = 0.7  # of a Keras loop that its slowest stage was at work, or of the looks that found the buffer empty
SEEN = 0.2  # of a loop's time: with less between looks into its pipeline, they say too little of the rest
PREPARES = {"trace", "setup"}  # phases in which no data is asked for
MOST = 0.3  # of the pipeline: a stage or function that takes less is not the trouble
CALLED = 0.1  # of the wait that Python itself took: getting there and back for each example takes longer still
MOST_SEEN = 0.5  # of the wait: with less in the stages that were seen, others took it
HEAVY = 1e-3  # seconds an element, from which keeping the result pays
QUICK = 2e-4  # seconds an element: the function does so little that calling it is the cost
MANY = 8  # elements a batch, from which batching first pays
PASSES = 3
REMADE, ELEMENTS = 4, 2.0  # iterators, and elements of each, by which one knows one that is made anew for every step
KEY = re.compile(r"(\d+):(\S+) (seconds|elements|per)")
MAPS = ("Map", "ParallelMap")


@dataclass(frozen=True)
class Node:
    """A stage as TensorFlow ran it (after its own rewriting), over all passes."""

    name: str
    seconds: float
    elements: float
    parallel: float

    @property
    def maps(self) -> bool:
        return self.name.startswith(("Map", "ParallelMap"))


@dataclass(frozen=True)
class Feed:
    """A pipeline and the loop that it feeds."""

    place: Place  # where its iterator was made
    loop: LoopRun
    blocked: float  # seconds that the loop waited
    bound: bool  # whether `blocked` is only an upper bound
    inside: bool  # whether the wait lies inside a compiled function
    passes: int
    read: float  # elements that the loop got
    nodes: tuple[Node, ...]  # from the last stage to the source; none where TensorFlow does not tell
    made: tuple[Mapping[str, Any], ...]  # the stages as the program wrote them, likewise
    python: tuple[Event, ...]  # Python functions inside
    cpus: int
    buffered: float  # elements that were seen in the buffer of `shuffle`, at most
    wrapped: bool  # whether the loop around gives it more stages in each step

    @property
    def slowest(self) -> Node:
        """Where TensorFlow does not tell, what is known of one: the Python in it."""
        python = Node("", self.python_seconds, sum(event.count for event in self.python), 1.0)
        return max(self.nodes, key=lambda node: node.seconds / max(1.0, node.parallel), default=python)

    def share(self, seconds: float) -> float:
        """Of the work in all stages or, where TensorFlow does not tell, of the wait for them."""
        return min(1.0, seconds / max(1e-9, sum(node.seconds for node in self.nodes) if self.nodes else self.blocked))

    @property
    def mapped(self) -> float:
        """Seconds in all of its maps: what is written as one may be two, and the slowest of them only half of it."""
        return sum(node.seconds for node in self.nodes if node.maps) or self.slowest.seconds

    @property
    def up_to_maps(self) -> float:
        """Seconds in the last of its maps and in all that comes before it."""
        last = next((at for at, node in enumerate(self.nodes) if node.maps), len(self.nodes))
        return sum(node.seconds for node in self.nodes[last:]) or self.slowest.seconds

    @property
    def python_seconds(self) -> float:
        return sum(event.seconds for event in self.python)

    @property
    def python_busy(self) -> float:
        """Of the seconds in Python, those that it computed and did not wait."""
        return sum(event.totals.get("busy", 0.0) for event in self.python) / max(1e-9, self.python_seconds)

    def stage(self, *names: str) -> Mapping[str, Any] | None:
        """The last stage of a kind that the program wrote, one that reads files before others."""
        found = [one for one in self.made if one["stage"] in names]
        return next((one for one in found if one.get("reads")), found[0] if found else None)

    def written(self, node: Node) -> Mapping[str, Any] | None:
        """The stage of the program's own that a node carries out."""
        if node.maps:
            return self.stage(*MAPS)
        if node.name == "Generator":  # which `from_generator` hides in a stage of its own
            lines = {str(event.place) for event in self.python}
            return next((one for one in self.made if one.get("line") in lines), None)
        name = node.name.removesuffix("V2").removeprefix("Parallel")
        return next((one for one in self.made if one["stage"].removeprefix("Parallel") in (name, node.name)), None)

    @property
    def before_shuffle(self) -> Mapping[str, Any] | None:
        """The map whose elements `shuffle` took in, all of them, before anybody could see it at work."""
        names = [str(one["stage"]) for one in self.made]
        last = self.nodes[-1].name if self.nodes else ""
        if not last.startswith("Shuffle") or "Shuffle" not in names:
            return None
        if sum(node.seconds for node in self.nodes) > MOST_SEEN * self.blocked:
            return None
        return next((one for one in self.made[names.index("Shuffle") :] if one["stage"] in MAPS), None)

    @property
    def each(self) -> float:
        """Seconds that the slowest stage takes for one element of what goes into it."""
        after = self.nodes[self.nodes.index(self.slowest) + 1 :] if self.nodes else ()
        source = after[0] if after else self.slowest
        return self.slowest.seconds / max(1.0, source.elements)

    @property
    def cause(self) -> Cause:
        """Why the loop waits, as far as it can be told; "" when it does not."""
        if self.blocked < WAITS * self.loop.seconds:
            return ""
        if self.passes >= REMADE and self.read <= ELEMENTS * self.passes:
            return ""  # that it is made anew for every step is the cause, and has a rule of its own
        if self.wrapped:
            return ""  # so has this
        if self._in_python:
            if self.python_busy > 0.5:
                return "python"
            return "serial" if self.slowest.parallel <= 1 and self.stage("Map") else "unknown"
        names = [str(one["stage"]) for one in self.made]
        if "Cache" in names and "Repeat" in names[names.index("Cache") :]:
            return "order"
        if self.slowest.maps and self.share(self.slowest.seconds) > MOST:
            return self._cause_in_map(names)
        return "unknown"

    @property
    def _in_python(self) -> bool:
        share = self.share(self.python_seconds)
        for_each = not self.nodes and sum(event.count for event in self.python) > MANY * self.read
        return share > (CALLED if for_each else MOST)

    def _cause_in_map(self, names: list[str]) -> Cause:
        last = min((i for i, name in enumerate(names) if name in MAPS), default=-1)
        batched = any(name.endswith("Batch") for name in names[: max(0, last)])
        source = self.nodes[-1].elements
        if batched and self.each < QUICK and source > MANY * self.read and not any(m.get("reads") for m in self.made):
            return "small"
        cached, random = "Cache" in names, any(one.get("random") for one in self.made)
        waits = self.blocked > MOST * self.loop.seconds
        if waits and self.passes >= PASSES and not cached and not random and self.each >= HEAVY:
            return "again"
        return "serial" if self.slowest.parallel <= 1 and self.cpus > 1 and names[last] == "Map" else "unknown"


def feeds(recording: Recording) -> Iterator[Feed]:
    """Every pipeline that a loop which matters was fed by."""
    inputs = list(recording.of_kind("input"))
    for event in recording.of_kind("pipeline"):
        if not event.examples or not event.stack:
            continue
        iterators = [e for e in recording.of_kind("iterator") if (e.subject, e.stack) == (event.subject, event.stack)]
        taken = [e for e in inputs if e.subject == str(event.place)]
        loop = _consumer(recording, event, taken)
        if loop is None:
            continue
        looked = event.totals.get("read", 0.0)
        read = max(looked, loop.steps) if event.subject else looked  # Keras leaves an iterator between two looks
        nodes = tuple(_nodes(event, read))
        if event.subject:
            blocked, bound = _inside(recording, event, nodes, loop)
        else:
            blocked, bound = _waited(recording, taken) * _part(recording, event, nodes), False
        yield Feed(
            event.place,
            loop,
            blocked,
            bound,
            bool(event.subject),
            _passes(recording, event, loop) or sum(e.count for e in iterators),
            read,
            nodes,
            tuple(event.examples[0].get("made", ())),
            tuple(_python(recording, event)),
            measured.cpus(recording),
            _buffered(event),
            any(wrapped(recording, one) for one in iterators),
        )


def with_waits_inside(recording: Recording, loops: Iterable[LoopSummary]) -> Iterator[LoopSummary]:
    """The loops, with what they waited for their data inside a compiled function counted as such and not as compute."""
    inside = [feed for feed in feeds(recording) if feed.inside and feed.cause]
    for summary in loops:
        computed = summary.phases.get("compute", 0.0)
        moved = min(computed, sum(feed.blocked for feed in inside if feed.loop is summary.run))
        if moved:
            phases = {**summary.phases, "compute": computed - moved}
            phases["input"] = phases.get("input", 0.0) + moved
            summary = replace(summary, phases=dict(sorted(phases.items(), key=lambda phase: -phase[1])))
        yield summary


def untold(recording: Recording) -> bool:
    """Whether a loop waited for a pipeline of which TensorFlow did not tell what its stages took."""
    return any(not feed.nodes and feed.cause for feed in feeds(recording))


def _buffered(event: Event) -> float:
    stages = [stage for example in event.examples for stage in example["stages"]]
    return max((float(stage["buffered"]) for stage in stages if stage["stage"] == "Shuffle"), default=0.0)


def line_of(stage: Mapping[str, Any] | None, otherwise: Place) -> Place:
    """Where the program made a stage."""
    line = str(stage.get("line", "")) if stage else ""
    return measured.at_line(line) if line else otherwise


def _passes(recording: Recording, event: Event, loop: LoopRun) -> int:
    """How often Keras read a pipeline, which makes several iterators for an epoch; 0 where the program read it."""
    if not event.subject:
        return 0
    return sum(e.count for e in recording.of_kind("epoch") if e.stack == event.stack) or loop.runs


def _nodes(event: Event, read: float) -> Iterator[Node]:
    stages = max((example.get("stages", ()) for example in event.examples), key=len)
    found: dict[tuple[int, str], dict[str, float]] = {}
    for key, value in event.totals.items():
        if match := KEY.fullmatch(key):
            found.setdefault((int(match[1]), match[2]), {})[match[3]] = value
    for (number, name), seen in sorted(found.items()):
        # A look at the end finds the early stages gone: what was seen of them stands for all.
        scale = read / seen["per"] if seen.get("per") else 1.0
        parallel = float(stages[number]["parallel"]) if number < len(stages) else 1.0
        yield Node(name, seen.get("seconds", 0.0) * scale, seen.get("elements", 0.0) * scale, parallel)


def _consumer(recording: Recording, event: Event, taken: list[Event]) -> LoopRun | None:
    if event.subject:
        return next((run for run in recording.loops if run.stack == event.stack and run.steps > 1), None)
    return _reader(recording, taken) if taken else None


def slept(recording: Recording, loop: LoopRun) -> float:
    """Seconds that a loop waited at its end for TensorFlow to wake up and end its pipelines."""
    taken = (event for event in recording.of_kind("input") if _reader(recording, [event]) == loop)
    return min(sum(event.totals.get("slept", 0.0) for event in taken), 0.9 * loop.seconds)


def waits(recording: Recording) -> Iterator[tuple[LoopRun, float]]:
    """Each loop that takes elements in Python, and the seconds that it waited for them while it ran."""
    for subject in {event.subject: None for event in recording.of_kind("input")}:
        taken = [event for event in recording.of_kind("input") if event.subject == subject]
        if loop := _reader(recording, taken):
            yield loop, sum(event.seconds - event.totals.get("ending", 0.0) for event in taken)


def _reader(recording: Recording, taken: list[Event]) -> LoopRun | None:
    most = max(taken, key=lambda one: one.count)
    header = [r for r in recording.loops if r.kind == "for" and r.place.line == most.place.line != r.place.end_line]
    header = [run for run in header if run.place.path == most.place.path and not run.stack]
    return next(iter(header), None) or measured.loop_of(recording, most)


def _part(recording: Recording, event: Event, nodes: Iterable[Node]) -> float:
    """Of the wait on a line, what one of the pipelines that were read there stands for: its part of their work."""
    others = (e for e in recording.of_kind("pipeline") if e.examples and (e.subject, e.place) == ("", event.place))
    work = sum(node.seconds for other in others for node in _nodes(other, other.totals.get("read", 0.0)))
    return sum(node.seconds for node in nodes) / work if work else 1.0


def _waited(recording: Recording, taken: list[Event]) -> float:
    """Less what the pipeline took to end: by chance TensorFlow sleeps through that, whatever the pipeline does."""
    waited = max(sum(e.seconds for e in taken), measured.sampled(recording, [e.place for e in taken], "input"))
    return max(0.0, waited - sum(e.totals.get("ending", 0.0) for e in taken))


def _inside(recording: Recording, event: Event, nodes: Iterable[Node], loop: LoopRun) -> tuple[float, bool]:
    """Seconds that a loop waited inside `fit`, and whether that is an upper bound.

    TensorFlow remembers how long it took from each batch to the call for the next; what is left of the time is waiting.
    Where it does not tell, a stage that was at work nearly all the time was waited for; one that was at work for much
    of it too, when the buffer behind the last stage was mostly found empty. Where the whole process computed nothing
    meanwhile, it is sure.
    """
    traced = sum(s.seconds for s in measured.within(recording, loop) if s.phase in PREPARES)
    running = max(0.0, loop.seconds - traced)
    between = event.totals.get("between", 0.0)
    if between > SEEN * running:
        return (1.0 - event.totals["away"] / between) * running, False
    busy = max((node.seconds / max(1.0, node.parallel) for node in nodes), default=0.0)
    looks = [example["stages"][1]["buffered"] for example in event.examples if len(example["stages"]) > 1]
    empty = sum(not buffered for buffered in looks) > STARVED * len(looks)
    blocked = min(busy, running) if busy >= (MOST if empty else STARVED) * running else 0.0
    unused = idle(recording, loop)
    return (min(blocked, unused), False) if unused >= STARVED * blocked > 0.0 else (blocked, True)


def idle(recording: Recording, loop: LoopRun) -> float:
    """Seconds of a loop in which this process used no core, at least; 0 where that is not known, or a device computes.

    Where others had the cores, it waited for nothing else. A loop that was left and entered anew in between is none of
    these: what happened there is not its own.
    """
    clock = loop.clock.values
    end = clock[-1] + loop.step_seconds.values[-1] if clock else 0.0
    if recording.devices or not clock or end - clock[0] > 1.1 * loop.seconds:
        return 0.0
    span = Span(recording, clock[0], end, 1.0)
    computed = span.cpu
    return max(0.0, end - clock[0] - computed - (span.queued or 0.0)) if computed is not None else 0.0


def _python(recording: Recording, event: Event) -> Iterator[Event]:
    lines = {str(one.get("line", "")) for example in event.examples for one in example.get("made", ())}
    return (e for e in recording.of_kind("python") if e.stack and str(e.place) in lines)
