"""What happened inside TensorFlow, as tables: traces and why, and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hotloop import words
from hotloop.model import Event, Report
from hotloop.report.markup import code, e, table

MOST = 60  # rows of a table
WHY = {
    "trace.first": "first trace",
    "trace.new-function": "a new function object of the same code",
    "trace.value": "a Python value changed",
    "trace.shape": "a shape changed",
    "trace.dtype": "a dtype changed",
    "trace.structure": "the structure of the arguments changed",
}


def traces(report: Report) -> str:
    """Which function, called where, was traced how often, and which argument made it so."""
    found = [event for event in report.events if event.kind.startswith("trace.")]
    # First traces of TensorFlow's own functions are nobody's to mend: they are added up.
    own = [event for event in found if event.kind == "trace.first" and not _user_defined(event)]
    rows = [_trace(event, report) for event in found if event not in own][:MOST]
    if own:
        count, seconds = sum(event.count for event in own), sum(event.seconds for event in own)
        name = "of TensorFlow and Keras themselves"
        rows.append([e(name), "", "first traces", words.count(count), words.duration(seconds), "once each"])
    return table(("function", "called at", "why", "#traces", "#time", "how often"), rows)


def _trace(event: Event, report: Report) -> list[str]:
    example = event.examples[-1] if event.examples else {}
    defined = str(example.get("defined") or "")
    name = code(event.subject) + (f' <span class="soft">{e(defined)}</span>' if defined else "")
    why = e(WHY.get(event.kind, event.kind.partition(".")[2]))
    if example.get("argument"):
        why += f": {code(str(example['argument']))}, {_change(example)}"
    return [name, _place(event), why, words.count(event.count), words.duration(event.seconds), e(_often(event, report))]


def _change(example: Mapping[str, Any]) -> str:
    return f"{code(str(example.get('before', '')))} → {code(str(example.get('now', '')))}"


def _often(event: Event, report: Report) -> str:
    """A pattern in words: how many traces for how many calls from the same line."""
    calls = sum(
        other.count
        for other in report.events
        if other.kind == "call" and other.subject == event.subject and other.stack == event.stack
    )
    if event.count == 1:
        return "once"
    if calls and event.count >= 0.9 * calls:
        return "on every call"
    times = f"{words.count(event.count)} times"
    return f"{times} in {words.plural(calls, 'call')}" if calls else times


def _user_defined(event: Event) -> bool:
    return any(example.get("user_defined") for example in event.examples)


def rest(report: Report) -> str:
    others = [event for event in report.events if not event.kind.startswith(("trace.", "epoch", "pipeline"))]
    rows = [
        [code(event.kind), code(event.subject) if event.subject else "", _place(event), *_figures(event)]
        for event in others[:MOST]
    ]
    return table(("what", "of", "where", "#times", "#time"), rows)


def _figures(event: Event) -> Iterator[str]:
    yield words.count(event.count)
    yield words.duration(event.seconds) if event.seconds else ""


def _place(event: Event) -> str:
    stack: Sequence[object] = event.stack
    return f'<span class="place">{e(stack[0])}</span>' if stack else ""
