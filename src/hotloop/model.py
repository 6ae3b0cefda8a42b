"""The nouns: plain, frozen data that both worlds (source and measurement) share and that travels as JSON."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

REPORT_VERSION = 1
RECORDING_VERSION = 1

Basis = Literal["static", "measured", "both"]
Confidence = Literal["high", "medium", "low"]
Safety = Literal["safe", "verify", "advice"]
Verdict = Literal["faster", "same", "slower", "inconclusive", "different-results"]


class HotloopError(Exception):
    """A user's mistake: what is wrong, where, and what to do. `cli.main` turns it into one line and an exit code."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


# -- where -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Place:
    """A span of source. `path` is relative to the project root where it can be; columns count from 0, lines from 1.

    In a notebook, `cell` counts all cells from 1, and lines count from the start of the cell.
    """

    path: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    cell: int | None = None

    def covers(self, other: Place) -> bool:
        same = (self.path, self.cell) == (other.path, other.cell)
        return same and self.line <= other.line <= max(self.end_line, self.line)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.cell is None else f"{self.path}:cell {self.cell}:{self.line}"


@dataclass(frozen=True)
class Edit:
    """Replace the bytes [start, end) of one file by `text`."""

    path: str
    start: int
    end: int
    text: str


# -- what is said ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fix:
    """A patch. `safe`: may be applied as it is; `verify`: only after a Trial; `advice`: shown, never applied."""

    title: str
    edits: tuple[Edit, ...]
    safety: Safety


@dataclass(frozen=True)
class Refusal:
    """Why there is no fix: an answer of its own, shown to the user."""

    reason: str
    place: Place


@dataclass(frozen=True)
class Change:
    """A fix as `hotloop fix` answers for it: `written`, `proved`, `offered` (nobody proved it yet), or `shown` only."""

    rule: str
    place: Place  # in the file as it was
    title: str
    safety: Safety
    state: str


@dataclass(frozen=True)
class Evidence:
    name: str
    value: float
    unit: str = ""


@dataclass(frozen=True)
class Cost:
    """What an ailment cost in this run, and so what removing it should save."""

    seconds: float
    share: float
    bytes_per_step: float | None = None


@dataclass(frozen=True)
class Finding:
    """One ailment at one place, from source (`static`), from a recording (`measured`), or from both."""

    rule: str
    place: Place
    message: str
    basis: Basis
    confidence: Confidence
    loop: Place | None = None
    chain: tuple[Place, ...] = ()  # from the loop's call down to `place`, when the loop is in another function
    cost: Cost | None = None
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | Refusal | None = None
    observed: Mapping[str, Any] = field(default_factory=dict, hash=False)  # what a fix may need: shapes, an argument


@dataclass(frozen=True)
class Problem:
    """Our own crash in one rule (or on one file): reported once, the rest goes on."""

    path: str
    rule: str
    traceback: str


# -- what is measured --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """Columns of numbers, already decimated: `values[i]` was seen at `at[i]`."""

    name: str
    unit: str
    at: tuple[float, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Event:
    """What a probe saw happen at one place, counted: one Event per (kind, subject, stack), however often it happened.

    `stack` holds the user's own frames, innermost first. `totals` are sums over all occurrences; `examples` are the
    data of the first few and the last few; `times` are when it happened, evenly thinned out.
    """

    kind: str
    stack: tuple[Place, ...]
    subject: str = ""
    count: int = 1
    seconds: float = 0.0
    first: float = 0.0
    last: float = 0.0
    totals: Mapping[str, float] = field(default_factory=dict)
    examples: tuple[Mapping[str, Any], ...] = ()
    times: tuple[float, ...] = ()

    @property
    def place(self) -> Place:
        return self.stack[0] if self.stack else Place("", 0)


@dataclass(frozen=True)
class Sample:
    """Seconds that the sampler saw spent in one phase under one stack of the user's frames (innermost first)."""

    phase: str
    stack: tuple[Place, ...]
    seconds: float
    count: int = 1
    ops: float = 0.0  # eager ops dispatched meanwhile
    op_seconds: float = 0.0  # of `seconds`, those that kernels of eager ops computed: an estimate


@dataclass(frozen=True)
class LoopRun:
    """One executed loop: of the user's source, or of Keras (`fit`, `evaluate`, `predict`), all its runs together."""

    place: Place  # the whole loop statement, or the line that called Keras
    kind: str  # for, while, comprehension, fit, evaluate, predict
    function: str  # qualified name of the function it stands in; "" at module level
    runs: int  # how often it was entered
    steps: int
    seconds: float  # in all
    step_seconds: Series  # at: index of the step; mean over the steps of a bin
    clock: Series  # at: index of the step; seconds since the recording began
    yields: bool = False  # a generator's loop: its steps contain its consumer's time
    stack: tuple[Place, ...] = ()  # Keras loops: the user's frames around the call
    counted: bool = True  # to the last step; a loop of pure Python may be too tight for that


@dataclass(frozen=True)
class Exit:
    code: int | None = None  # None: still running, or killed before it could say
    signal: int | None = None
    exception: str = ""


@dataclass(frozen=True)
class Recording:
    """All that was measured of one run of a program. Written by the recorded child, read by everything else."""

    meta: Mapping[str, Any]
    loops: tuple[LoopRun, ...] = ()
    events: tuple[Event, ...] = ()
    samples: tuple[Sample, ...] = ()
    memory: Series = Series("rss", "bytes")  # at: seconds since the recording began
    phases: tuple[Series, ...] = ()  # seconds by phase; at: seconds since the recording began, where a bin begins
    observables: tuple[Mapping[str, Any], ...] = ()
    exit: Exit = Exit()
    devices: tuple[Series, ...] = ()  # `GPU:0 memory` in bytes, `GPU:0 busy` as a share; at: as for memory
    version: int = RECORDING_VERSION
    inputs: Series = Series("inputs", "elements")  # handed to whatever computes, in all until then; at: as for memory
    cpu: Series = Series("cpu", "seconds")  # that all threads computed, in all until then; at: as for memory
    queued: Series = Series("queued", "seconds")  # that the main thread could have run and found no core, likewise

    @property
    def seconds(self) -> float:
        """Wall time of the program, less what it spent importing TensorFlow and Keras."""
        return max(0.0, float(self.meta.get("seconds", 0.0)) - float(self.meta.get("import_seconds", 0.0)))

    def of_kind(self, *kinds: str) -> Iterator[Event]:
        return (event for event in self.events if event.kind in kinds)

    def loops_around(self, stack: tuple[Place, ...]) -> list[LoopRun]:
        """The loops that ran around a stack of user frames, innermost first."""
        found: list[LoopRun] = []
        for frame in stack:
            covering = [run for run in self.loops if run.place.covers(frame) and not run.stack]
            # The header line of a `for` (its iterable) is evaluated outside its steps.
            covering = [r for r in covering if frame.line != r.place.line or r.kind != "for" or _one_line(r.place)]
            found += sorted(covering, key=lambda run: run.place.line, reverse=True)
        return found

    def save(self, path: Path) -> None:
        import gzip

        scratch = path.with_name(path.name + ".tmp")
        try:
            with scratch.open("wb") as file:
                if path.suffix == ".gz":
                    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                        packed.writelines(_json(self))
                else:
                    file.writelines(_json(self))
            scratch.replace(path)
        except OSError:
            scratch.unlink(missing_ok=True)
            raise

    @staticmethod
    def load(path: Path) -> Recording:
        import gzip
        import json
        import zlib

        try:
            data = path.read_bytes()
        except OSError as error:
            raise HotloopError(f"cannot read the recording {path}: {error.strerror or error}") from error
        try:
            plain = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        except (ValueError, EOFError, OSError, zlib.error, RecursionError) as error:
            raise HotloopError(f"{path} is not a recording, or is damaged: {error}. Record again.") from error
        if not isinstance(plain, dict) or plain.get("version") != RECORDING_VERSION:
            seen = plain.get("version") if isinstance(plain, dict) else None
            raise HotloopError(
                f"{path} has recording version {seen}, this hotloop reads {RECORDING_VERSION}. Record again."
            )
        try:
            return from_plain(Recording, plain)
        except (TypeError, KeyError, ValueError, AttributeError, IndexError) as error:
            raise HotloopError(f"{path} is not a recording, or is damaged: {error}. Record again.") from error


def _one_line(place: Place) -> bool:
    return place.end_line <= place.line


# -- what is concluded -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Symptom:
    """What is seen of a loop, before any cause: `slow`, `degrading` (size: seconds added per 1,000 steps), ..."""

    kind: str
    loop: Place
    size: float
    unit: str
    message: str
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class LoopSummary:
    """One line of the verdict: a loop, its steps, and where their time went (`phases`: seconds, adding up to all)."""

    run: LoopRun
    step_median: float
    phases: Mapping[str, float]
    epochs: Series = Series("epoch", "seconds")  # how long each took; at: the step it began with
    remarks: tuple[str, ...] = ()  # what changed within the loop and is worth knowing, but no ailment


@dataclass(frozen=True)
class LineCost:
    """Seconds that were spent on a line of the user's, what it called included, and in which phases."""

    place: Place
    seconds: float
    phases: Mapping[str, float]


@dataclass(frozen=True)
class Diagnosis:
    symptoms: tuple[Symptom, ...]
    findings: tuple[Finding, ...]
    loops: tuple[LoopSummary, ...]
    folded: tuple[Finding, ...] = ()  # causes that cost too little to be worth a line
    problems: tuple[Problem, ...] = ()  # rules that crashed on this recording


@dataclass(frozen=True)
class Side:
    """What was measured of one of the two programs of a trial: medians over its runs."""

    name: str
    seconds: float  # in loops, or over the first steps of one
    whole_seconds: float  # of the run, less the imports
    runs: tuple[float, ...]  # the `seconds` of each
    step_seconds: float | None = None  # a step of its main loop, after warm-up
    steps: int = 0
    series: Series = Series("step", "seconds")  # of the last run
    traces: float = 0
    bytes: float | None = None  # peak memory
    bytes_per_step: float | None = None  # by which memory grows


@dataclass(frozen=True)
class Trial:
    """Before against after, interleaved: loop seconds, their ratio (above 1 is faster) and whether results agree."""

    before: str
    after: str
    verdict: Verdict
    same_results: bool | None  # None: nothing to compare
    speedup: float
    interval: tuple[float, float]
    before_seconds: float
    after_seconds: float
    runs: int
    notes: tuple[str, ...] = ()
    before_bytes: float | None = None  # peak memory
    after_bytes: float | None = None
    level: str = ""  # of the same results: `identical`, `close`, or `random` (as much as before)
    sides: tuple[Side, ...] = ()  # before and after


@dataclass(frozen=True)
class Report:
    """All that a renderer needs. Its JSON form is documented in docs/json.md and versioned."""

    command: str
    findings: tuple[Finding, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    loops: tuple[LoopSummary, ...] = ()
    trials: tuple[Trial, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()  # sentences: what could not be read, what is not visible, what was stopped early
    diff: str = ""
    memory: Series = Series("rss", "bytes")
    phases: tuple[Series, ...] = ()  # seconds by phase over time
    events: tuple[Event, ...] = ()  # what the probes counted, the costliest first
    lines: tuple[LineCost, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    devices: tuple[Series, ...] = ()  # memory and load of accelerators over time
    version: int = REPORT_VERSION
    changes: tuple[Change, ...] = ()  # what `fix` made, offers or shows


def _json(recording: Recording) -> Iterator[bytes]:
    """Piece by piece: the whole of a large recording as text would take as much memory again."""
    import json

    def text(value: Any) -> bytes:
        return json.dumps(to_plain(value), separators=(",", ":"), allow_nan=True).encode()

    for number, field_ in enumerate(dataclasses.fields(recording)):
        value = getattr(recording, field_.name)
        yield b'%s"%s":' % (b"," if number else b"{", field_.name.encode())
        if isinstance(value, tuple):
            yield b"["
            for at, item in enumerate(value):
                yield (b"," if at else b"") + text(item)
            yield b"]"
        else:
            yield text(value)
    yield b"}"


# -- both ways ---------------------------------------------------------------------------------------------------------

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Nouns to what JSON can hold. A union of nouns (`Fix | Refusal`) says which in a `type` key.

    A recorded program waits while its recording is written: what is plain already, and most is, is passed on at once.
    """
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return [item if type(item) in _PLAIN else to_plain(item) for item in value]
    if names := _names(kind):
        plain = {name: to_plain(getattr(value, name)) for name in names}
        if kind is Place and value.cell is None:
            del plain["cell"]  # a recording holds thousands of places, and none lies in a notebook
        return {"type": kind.__name__.lower(), **plain} if kind in (Fix, Refusal) else plain
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else value


_PLAIN = frozenset({float, int, str, bool, type(None)})


@functools.cache
def _names(kind: type) -> tuple[str, ...]:
    """The fields of a noun; none, where it is something else."""
    return tuple(field_.name for field_ in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()


def from_plain(kind: type[T], plain: Mapping[str, Any]) -> T:
    """The other way. Keys that are missing take their default; keys that are unknown are an error worth seeing."""
    hints = _hints(typing.cast(Any, kind))
    return kind(**{name: _revive(hints[name], item) for name, item in plain.items() if name != "type"})


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _revive(hint: Any, plain: Any) -> Any:
    if plain is None:
        return None
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        choices: list[type] = [a for a in args if isinstance(a, type) and dataclasses.is_dataclass(a)]
        if choices and isinstance(plain, Mapping):
            named = [a for a in choices if a.__name__.lower() == plain.get("type")]
            return from_plain((named or choices)[0], plain)
        rest = [a for a in args if a is not type(None)]
        return _revive(rest[0], plain) if len(rest) == 1 else plain
    if origin is tuple:
        return tuple(_revive(args[0] if len(args) == 2 and args[1] is ... else a, p) for a, p in _zip(args, plain))
    if dataclasses.is_dataclass(hint):
        return from_plain(typing.cast(type, hint), plain)
    return plain


def _zip(args: tuple[Any, ...], plain: list[Any]) -> Iterator[tuple[Any, Any]]:
    return zip([args[0]] * len(plain) if args[1:] == (...,) else args, plain, strict=True)
