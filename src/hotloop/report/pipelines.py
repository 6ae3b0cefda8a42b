"""Input pipelines, stage by stage: what each took by TensorFlow's own count, and how long the loop waited for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hotloop import words
from hotloop.model import Event, Report
from hotloop.report.markup import card, code, e, prose, table

STAGE = re.compile(r"(\d+):(\S+) (seconds|elements)")
ROOT = "Root"  # TensorFlow's own last stage, which does nothing
MOST = 12  # pipelines


@dataclass
class Stage:
    name: str
    seconds: float = 0.0
    elements: float = 0.0


def pipelines(report: Report) -> Iterator[str]:
    """A card for each, the one with most work in it first."""
    found = [(event, _stages(event)) for event in report.events if event.kind == "pipeline"]
    found = [(event, stages) for event, stages in found if any(stage.seconds for stage in stages.values())]
    for event, stages in sorted(found, key=lambda one: -_seconds(one[1]))[:MOST]:
        rows = [_row(number, stage, stages, event) for number, stage in sorted(stages.items(), reverse=True)]
        shown = table(("stage", "#elements", "#at work", "share", "#each", "#in parallel", "#in its buffer"), rows)
        title = f'<span class="place">{e(event.place)}</span> <span class="soft">{e(_summary(event, report))}</span>'
        yield card(
            f"<h3>{title}</h3>{shown}"
            f"{_said('As written: ', _written(event))}{_said('Python inside: ', _python(event, report))}"
        )


def _stages(event: Event) -> dict[int, Stage]:
    """By number, the last stage of the pipeline first."""
    found: dict[int, Stage] = {}
    for key, value in event.totals.items():
        match = STAGE.fullmatch(key)
        if match and match[2] != ROOT:
            stage = found.setdefault(int(match[1]), Stage(match[2]))
            setattr(stage, match[3], float(value))
    return found


def _seconds(stages: Mapping[int, Stage]) -> float:
    return sum(stage.seconds for stage in stages.values())


def _row(number: int, stage: Stage, stages: Mapping[int, Stage], event: Event) -> list[str]:
    share = stage.seconds / (_seconds(stages) or 1.0)
    bar = f'<div class="bar"><i class="input" style="width:{100 * min(1.0, share):.2f}%"></i></div>'
    about = _known(event, "stages")
    known = about[number] if number < len(about) else {}
    return [
        code(stage.name),
        words.count(round(stage.elements)),
        words.duration(stage.seconds),
        f'<div class="share">{bar}</div>',
        words.duration(stage.seconds / stage.elements) if stage.elements else "",
        e(_number(known.get("parallel"))),
        e(_number(known.get("buffered"))),
    ]


def _summary(event: Event, report: Report) -> str:
    read = words.plural(round(event.totals.get("read", 0.0)), "element")
    waits = [other for other in report.events if other.kind == "input" and other.subject == str(event.place)]
    waited = sum(other.seconds for other in waits)
    return f"{read} read" + (f", {words.duration(waited)} waited for" if waited else "")


def _written(event: Event) -> str:
    """The stages as the program has them, from the source on; TensorFlow may have joined some of them."""
    stages = [(str(one.get("stage", "")), str(one.get("line", ""))) for one in reversed(_known(event, "made"))]
    return " → ".join(f"`{name}`" + (f" ({line})" if line else "") for name, line in stages)


def _python(event: Event, report: Report) -> str:
    lines = {str(one.get("line", "")) for one in _known(event, "made")}
    inside = [other for other in report.events if other.kind == "python" and str(other.place) in lines]
    return ", ".join(
        f"`{other.subject or other.place}` {words.plural(other.count, 'call')}, {words.duration(other.seconds)}"
        for other in inside
    )


def _known(event: Event, name: str) -> list[Mapping[str, Any]]:
    latest = event.examples[-1].get(name) if event.examples else None
    return [one for one in latest if isinstance(one, Mapping)] if isinstance(latest, list | tuple) else []


def _number(value: object) -> str:
    return words.count(value) if isinstance(value, int | float) else ""


def _said(label: str, text: str) -> str:
    return f'<p><span class="soft">{e(label)}</span>{prose(text)}</p>' if text else ""
