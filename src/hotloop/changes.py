"""What changes for good in the middle of a loop: one level of step time or memory follows another, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hotloop import series, words
from hotloop.epochs import Epochs
from hotloop.model import Event, LoopRun, Recording
from hotloop.spans import MOMENT, Span, costs_much, does_other_things, handed_more, of_its_own, spends

WORTH = 0.02  # of the run, that a slower level costs
PLAIN = 3.0  # times as long: no machine is that busy all of a sudden, and stays so
BUSY = 2.0  # times: who comes to share a core's caches and units makes a step, and what it computes, longer by less
MEMORY = 100e6  # bytes more, for a level of memory to be worth a word
BETWEEN_LOOKS = 0.3  # seconds, within which memory rose at some time
GAP = 5e-6  # seconds between two steps, in which a loop was left and entered anew: times are rounded to 1e-6
AT_WORK = ("call", "eager.call", "session.run", "session.cold", "predict", "evaluate", "fit")
HAPPENED = {
    "compile": "a model was compiled", "load": "`{}` was loaded", "built": "a `{}` was built",
    "session": "a session was opened", "graph": "a graph was made", "import": "a graph was imported",
    "dataset": "a dataset was made", "option": "`{}` was set", "threads": "threads were set",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A jump of a loop's step time in words. `ailment`: the same work takes longer."""

    jump: series.Jump
    message: str
    ailment: bool


@dataclass(frozen=True)
class _Turn:
    """A place in a loop after which things are different: at a point of its series, for the span before and after."""

    run: LoopRun
    index: int
    before: Span
    after: Span
    slack: float  # seconds, within which something is near

    @property
    def lasts(self) -> bool:
        return self._lasts(MOMENT)

    def _lasts(self, first: float) -> bool:
        return self.before.end - self.before.begin >= first and self.after.end - self.after.begin >= MOMENT

    def lasts_for(self, times: float) -> bool:
        """Of a step that takes so many times as long: where it is plain, less of the quick ones before it is enough."""
        return self._lasts(MOMENT / 2 if times >= PLAIN else MOMENT)

    def began(self) -> Event | None:
        """What TensorFlow is asked to do from here on and was not before: the program goes on to other work."""
        late = self.after.end - 0.1 * (self.after.end - self.after.begin)
        found = [e for e in self._events() if e.kind in AT_WORK and e.subject and self._near(e.first)]
        lasting = [e for e in found if e.count >= self.after.steps / 2 and e.last >= late]
        return max(lasting, key=lambda event: event.seconds, default=None)

    def happened(self) -> str:
        """What is known to have happened right here, the costliest; "" if nothing did."""
        rare = (self.before.steps + self.after.steps) / 10
        known = [e for e in self._events() if e.kind in HAPPENED or e.kind.startswith("trace.")]
        seen = [e for e in known if self._near(e.first) or (e.count < rare and any(map(self._near, e.times)))]
        if not seen:
            return ""
        event = max(seen, key=lambda one: one.seconds)
        often = event.count > 2 and self._near(event.first)
        when = f"{words.count(event.count)} times from there on" if often else "there"
        what = HAPPENED.get(event.kind, "`{}` was traced").format(event.subject)
        return f"{what} {when} ({event.place})"

    def _events(self) -> Iterator[Event]:
        place = self.run.place
        return (e for e in self.before.recording.events if any(place.covers(frame) for frame in e.stack))

    def _near(self, time: float) -> bool:
        return abs(time - self.after.begin) <= self.slack


def of_steps(run: LoopRun, recording: Recording, epochs: Epochs | None) -> Change | None:
    """A lasting jump of step time that the program itself makes, if it is worth a word."""
    jump = series.jump(run.step_seconds.values) if run.counted else None
    if jump is None or _entered_anew(run, jump.index):
        return None
    two_steps = 2 * series.stride(run.clock.at) * max(jump.before, jump.after)
    turn = _turn(run, jump.index, recording, two_steps)
    slower = jump.after > jump.before
    fast, slow = (turn.before, turn.after) if slower else (turn.after, turn.before)
    low, high = sorted((jump.before, jump.after))
    began = turn.began() if slower else None
    if (
        not turn.lasts_for(jump.after / jump.before)
        or handed_more(fast, slow, high / low)
        or not (began or of_its_own(fast, slow, high - low))
    ):
        return None
    extra = (high - low) * slow.steps
    if extra < WORTH * recording.seconds or not (slower or costs_much(extra, recording)):
        return None
    if not slower and epochs and _epoch(run, jump.index, epochs) == 2:
        return None  # the first epoch is another: it is compared with the others
    (step, epoch), before, after = (
        _step(run, jump.index, epochs),
        words.duration(jump.before),
        words.duration(jump.after),
    )
    more, other = spends(fast, slow, high - low), f"`{began.subject}` is called from there on" if began else ""
    happened = turn.happened()
    if slower:
        why = _because(f"it spends {more}" if more else "", other or happened)
        sure = high >= BUSY * low or bool(happened) or does_other_things(fast, slow)
        said = f"from {step} on{epoch} each step takes {after} instead of {before}{why}"
        return Change(jump, said if sure else f"{said}; the machine may have been busier", sure and not began)
    why = _because(f"it spent {more}" if more else "", happened)
    return Change(jump, f"up to {step}{epoch} each step took {before}, from there on {after}{why}", ailment=False)


def of_memory(run: LoopRun, recording: Recording, epochs: Epochs | None) -> str:
    """A lasting rise of memory once the loop has settled, where it is not handed more; "" if there is none."""
    clock, memory = run.clock.values, recording.memory
    within = [i for i, time in enumerate(memory.at) if clock and clock[0] <= time <= clock[-1]]
    jump = series.jump([memory.values[i] for i in within])
    if jump is None or jump.after - jump.before < MEMORY or jump.index <= len(within) // 5:
        return ""
    index = sum(time <= memory.at[within[jump.index]] for time in clock) - 1
    turn = _turn(run, index, recording, BETWEEN_LOOKS)
    if not turn.lasts or handed_more(turn.before, turn.after, jump.after / jump.before):
        return ""
    before, after = words.size(jump.before), words.size(jump.after)
    step, epoch = _step(run, index, epochs)
    said = f"from about {step.removeprefix('about ')} on{epoch} the process holds {after} of memory"
    return f"{said} instead of {before}{_because(turn.happened())}"


def _turn(run: LoopRun, index: int, recording: Recording, slack: float) -> _Turn:
    at, clock = run.clock.at, run.clock.values
    first = min(series.warm_up(run.step_seconds.values), index)
    before = Span(recording, clock[first], clock[index], at[index] - at[first])
    return _Turn(run, index, before, Span(recording, clock[index], clock[-1], at[-1] - at[index]), slack + 0.01)


def _entered_anew(run: LoopRun, index: int) -> bool:
    """Whether the loop was left and entered again about there: with other work to do, as like as not."""
    clock, values, size = run.clock.values, run.step_seconds.values, series.stride(run.clock.at)
    about = max(3, len(values) // 50)
    near = range(max(0, index - about), min(len(clock) - 1, index + about))
    return run.runs > 1 and any(clock[i + 1] - clock[i] - size * values[i] > GAP for i in near)


def _step(run: LoopRun, index: int, epochs: Epochs | None) -> tuple[str, str]:
    """A step in words, counted from 1; and the epoch that begins about there."""
    epoch = _epoch(run, index, epochs) if epochs and epochs.each.name == "epoch" else 0
    named = f", where epoch {epoch} begins," if epoch else ""
    about = "about " if series.stride(run.clock.at) > 1 else ""
    return f"{about}step {words.count(run.clock.at[index] + 1)}", named


def _epoch(run: LoopRun, index: int, epochs: Epochs) -> int:
    return epochs.beginning(run.clock.at[index], max(2 * series.stride(run.clock.at), run.steps / 100))


def _because(*reasons: str) -> str:
    said = "; ".join(reason for reason in reasons if reason)
    return f": {said}" if said else ""
