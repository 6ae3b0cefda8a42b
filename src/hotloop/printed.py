"""Are two texts the same, as far as they can be? Numbers within a tolerance, what varies by itself left out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

RELATIVE = 1e-4
ABSOLUTE = 1e-6
WANDERS = 3.0  # times the spread of the runs: a value that varies and lies within that lies where it lay

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
class Likeness:
    """How two sides' texts (or values) compare."""

    same: bool | None  # None: nothing could be compared
    numbers: int = 0  # how many were compared
    notes: tuple[str, ...] = ()
    exact: bool = True  # what was compared is the same to the last digit
    random: int = 0  # numbers that vary among the runs of `before` alone
    moved: int = 0  # of those, how many lie elsewhere after


def same_text(
    before: Sequence[bytes], after: Sequence[bytes], what: str = "stdout", *, prefix: bool = False
) -> Likeness:
    """Token by token. `prefix`: the runs were cut short, so that only the lines that all of them have count."""
    texts = [_tokens(text) for text in (*before, *after)]
    if prefix:
        lines = [sorted({token.line for token in text}) for text in texts]  # that say something: a bar may not
        many = min(map(len, lines)) - 1  # the last one may have been cut short
        texts = [
            [token for token in text if many > 0 and token.line < said[many]]
            for text, said in zip(texts, lines, strict=True)
        ]
    (known, *others), outputs = texts[: len(before)], texts[len(before) :]
    if any(len(other) != len(known) for other in others):
        return Likeness(None, notes=(f"{what} of the program changes its length from run to run: not compared",))
    masked = [any(not _same_token(token, other[i]) for other in others) for i, token in enumerate(known)]
    for output in outputs:
        difference = _first_difference(known, output, masked, what)
        if difference:
            return Likeness(False, notes=(difference,))
    timings = sum(len({output[i].text for output in (known, *outputs)}) > 1 for i in _timings(known))
    shown = [i for i, token in enumerate(known) if not masked[i] and token.kind != "timing"]
    numbers = sum(known[i].kind == "number" for i in shown)
    # A line of which a part is masked (`took 3.1 s`) proves nothing by its other words.
    unsteady = {token.line for i, token in enumerate(known) if masked[i] or token.kind == "timing"}
    steady = any(known[i].line not in unsteady for i in shown)
    runs = [[float(text[i].text) for text in texts] for i, hidden in enumerate(masked) if hidden and _all(texts, i)]
    return Likeness(
        True if numbers or steady else None,
        numbers,
        _masked_notes(sum(masked), timings, what),
        exact=all(text[i].text == known[i].text for i in shown for text in texts),
        random=len(runs),
        moved=sum(wandered(values[: len(before)], values[len(before) :]) for values in runs),
    )


def _all(texts: Sequence[Sequence[_Token]], index: int) -> bool:
    return all(text[index].kind == "number" for text in texts)


def wandered(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether a number that varies from run to run lies elsewhere after the change than before it."""
    if not all(map(math.isfinite, (*before, *after))):
        return True
    spread = max(max(side) - min(side) for side in (before, after))
    middles = [sum(side) / len(side) for side in (before, after)]
    return abs(middles[1] - middles[0]) > WANDERS * spread and not close(*middles)


def _timings(tokens: Sequence[_Token]) -> list[int]:
    return [i for i, token in enumerate(tokens) if token.kind == "timing"]


def _masked_notes(values: int, timings: int, what: str) -> tuple[str, ...]:
    notes = []
    if values:
        differ = f"value on {what} differs" if values == 1 else f"values on {what} differ"
        notes.append(f"{values} {differ} from run to run of the program before the change: not compared")
    if timings:
        notes.append(f"on {what}, not compared: {timings} of its durations and rates")
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


def _first_difference(
    known: Sequence[_Token], output: Sequence[_Token], masked: Sequence[bool], what: str = "stdout"
) -> str:
    for token, other, hidden in zip(known, output, masked, strict=False):
        if not hidden and not _same_token(token, other):
            return f"{what} differs: `{token.text}` before, `{other.text}` after (line {other.line + 1})"
    if len(known) != len(output):
        longer = "after" if len(output) > len(known) else "before"
        return f"{what} differs: it is longer {longer} the change"
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
