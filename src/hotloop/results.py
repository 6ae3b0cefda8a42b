"""Did two programs compute the same? Compares what they printed and the values that left TensorFlow."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

RELATIVE = 1e-4
ABSOLUTE = 1e-6


@dataclass(frozen=True)
class Output:
    """What one run left behind to compare."""

    stdout: bytes
    observables: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Sameness:
    same: bool | None  # None: nothing to compare
    notes: tuple[str, ...] = ()


def same_results(before: Sequence[Output], after: Sequence[Output]) -> Sameness:
    """Whether every run of `after` did what `before` does.

    Stdout is compared token by token: numbers within 1e-4 of each other (or 1e-6 absolutely), integers and
    everything else exactly, white space not at all. Not compared: tokens that differ among the runs of
    `before` themselves (randomness, addresses), durations and rates (`0.3 s`, `12 ms/step`, `40 images/s`),
    and the Keras progress bar less its final metrics. The values that left TensorFlow are compared as well,
    where there are equally many of them. Files that the programs write are not looked at.
    """
    printed = _same_stdout([run.stdout for run in before], [run.stdout for run in after])
    if printed.same is False:
        return Sameness(False, printed.notes)
    values = _same_observables([run.observables for run in before], [run.observables for run in after])
    if values.same is not None:
        return Sameness(values.same, printed.notes + values.notes)
    if printed.numbers:
        return Sameness(printed.same, printed.notes + values.notes)
    if printed.same:
        return Sameness(True, (*printed.notes, "only the text on stdout could be compared: it holds no steady number"))
    return Sameness(None, (*printed.notes, *values.notes, "there was nothing to compare: print the result to prove it"))


# -- what was printed ----------------------------------------------------------------------------------------

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_HOURS = r"(?:\d+h\s?)?(?:\d+m(?:in)?\s?)?"
_UNIT = r"\s?(?:ns|us|µs|μs|ms|s|sec|secs|seconds?|minutes?|hours?)\b"
_TOKEN = re.compile(
    rf"(?P<timing>{_HOURS}(?:{_NUMBER}{_UNIT}[ ]*)+(?:/\s?\w+)?"
    rf"|{_NUMBER}\s?\w+/s(?:ec)?\b|\b\d+:\d\d:\d\d(?:\.\d+)?)"
    rf"|(?P<text>0[xX][0-9a-fA-F]+|(?!(?:nan|inf|NaN|Infinity)\b)[^\W\d]\w*)"
    rf"|(?P<number>(?:(?<![\w)\]])[-+])?(?:{_NUMBER}|nan\b|inf\b|NaN\b|Infinity\b))"
    r"|(?P<other>\w+|[^\w\s])"
)
_PROGRESS = re.compile(r"^\s*(?P<done>\d+)/(?P<all>\d+|Unknown) [━╸ ]*━[━╸ ]*(?P<rest>.*)$")
_CONTROL = re.compile(r"\x1b\[[0-9;]*m|\x08")  # colours and backspaces
_INTEGER = re.compile(r"[-+]?\d+")


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class _Printed:
    same: bool | None
    numbers: int = 0  # how many were compared
    notes: tuple[str, ...] = ()


def _same_stdout(before: Sequence[bytes], after: Sequence[bytes]) -> _Printed:
    known, *others = [_tokens(text) for text in before]
    if any(len(other) != len(known) for other in others):
        return _Printed(None, notes=("stdout of the program changes its length from run to run: not compared",))
    masked = [any(not _same_token(token, other[i]) for other in others) for i, token in enumerate(known)]
    outputs = [_tokens(text) for text in after]
    for output in outputs:
        difference = _first_difference(known, output, masked)
        if difference:
            return _Printed(False, notes=(difference,))
    timings = sum(len({output[i].text for output in (known, *outputs)}) > 1 for i in _timings(known))
    notes = _masked_notes(sum(masked), timings)
    open_tokens = [t for t, hidden in zip(known, masked, strict=True) if not hidden and t.kind != "timing"]
    numbers = sum(token.kind == "number" for token in open_tokens)
    # A line of which a part is masked (`took 3.1 s`) proves nothing by its other words.
    unsteady = {t.line for t, hidden in zip(known, masked, strict=True) if hidden or t.kind == "timing"}
    steady = any(token.line not in unsteady for token in open_tokens)
    return _Printed(True if numbers or steady else None, numbers, notes)


def _timings(tokens: Sequence[_Token]) -> list[int]:
    return [i for i, token in enumerate(tokens) if token.kind == "timing"]


def _masked_notes(values: int, timings: int) -> tuple[str, ...]:
    notes = []
    if values:
        differ = "value on stdout differs" if values == 1 else "values on stdout differ"
        notes.append(f"{values} {differ} from run to run of the program before the change: not compared")
    if timings:
        notes.append(f"on stdout, not compared: {timings} of its durations and rates")
    return tuple(notes)


def _tokens(stdout: bytes) -> list[_Token]:
    lines = enumerate(_lines(stdout.decode("utf-8", errors="replace")))
    return [_Token(str(m.lastgroup), m.group(), i) for i, line in lines for m in _TOKEN.finditer(line)]


def _lines(text: str) -> Iterator[str]:
    """The lines as a reader of the finished output sees them: of a redrawn Keras bar, the last drawing."""
    for line in _CONTROL.sub("", text).split("\n"):
        parts = line.split("\r")
        bars = [_PROGRESS.match(part) for part in parts]
        yield from (part for part, bar in zip(parts, bars, strict=True) if not bar)
        last = next(filter(None, reversed(bars)), None)
        if last and last["all"] in (last["done"], "Unknown"):
            yield _TOKEN.sub(lambda m: "" if m.lastgroup == "timing" else m.group(), last["rest"], count=1)


def _first_difference(known: Sequence[_Token], output: Sequence[_Token], masked: Sequence[bool]) -> str:
    for token, other, hidden in zip(known, output, masked, strict=False):
        if not hidden and not _same_token(token, other):
            return f"stdout differs: `{token.text}` before, `{other.text}` after (line {other.line + 1})"
    if len(known) != len(output):
        longer = "after" if len(output) > len(known) else "before"
        return f"stdout differs: it is longer {longer} the change"
    return ""


def _same_token(one: _Token, two: _Token) -> bool:
    if one.kind == two.kind == "timing" or one.text == two.text:
        return True
    if not one.kind == two.kind == "number" or (_INTEGER.fullmatch(one.text) and _INTEGER.fullmatch(two.text)):
        return False
    difference = abs(float(one.text) - float(two.text))
    # Two numbers that agree may still be rounded to different last digits.
    return close(float(one.text), float(two.text)) or difference <= 1.01 * max(_last_place(one), _last_place(two))


def _last_place(token: _Token) -> float:
    """One unit in the last place of a number as it was printed; 0 for whole numbers."""
    mantissa, _, exponent = token.text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals >= 3 else 0.0


def close(one: float, two: float, scale: float = 0.0) -> bool:
    if math.isnan(one) or math.isnan(two):
        return math.isnan(one) and math.isnan(two)
    if math.isinf(one) or math.isinf(two):
        return one == two
    return abs(one - two) <= max(ABSOLUTE, RELATIVE * max(abs(one), abs(two), scale))


# -- what left TensorFlow ------------------------------------------------------------------------------------

Values = Sequence[Mapping[str, Any]]


def _same_observables(before: Sequence[Values], after: Sequence[Values]) -> Sameness:
    counts = {len(values) for values in (*before, *after)}
    if len(counts) != 1:
        seen = f"{len(before[0])} before and {len(after[0])} after"
        return Sameness(None, (f"values that left TensorFlow: {seen}, so they cannot be paired",))
    known, *others = before
    steady = [i for i, value in enumerate(known) if all(_same_value(value, other[i]) for other in others)]
    if not steady:
        return Sameness(None)
    for values in after:
        wrong = [i for i in steady if not _same_value(known[i], values[i])]
        if wrong:
            return Sameness(False, (f"value {wrong[0] + 1} of {len(known)} that left TensorFlow differs",))
    return Sameness(True, (f"{len(steady)} values that left TensorFlow are the same too",))


def _same_value(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    if one.get("dtype") != two.get("dtype") or list(one.get("shape") or ()) != list(two.get("shape") or ()):
        return False
    head_one, head_two = list(one.get("head") or ()), list(two.get("head") or ())
    if not str(one.get("dtype")).startswith(("float", "bfloat", "complex")):  # whole numbers and text: exactly
        return head_one == head_two and one.get("sum") == two.get("sum")
    scale = _number(one.get("abs_sum"))
    sums = ((one.get(key), two.get(key)) for key in ("sum", "abs_sum"))
    return (
        len(head_one) == len(head_two)
        and all(close(_number(a), _number(b)) for a, b in zip(head_one, head_two, strict=True))
        and all(close(_number(a), _number(b), scale) for a, b in sums)
    )


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
