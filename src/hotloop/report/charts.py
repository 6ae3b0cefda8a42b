"""What was measured over iterations and over time, drawn: step times, memory, phases, and what happened when."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hotloop import series, words
from hotloop.model import Event, LoopRun, LoopSummary, Report, Series
from hotloop.report import phrases, svg
from hotloop.report.markup import e

FEW, MANY = 200, 1200  # steps that are drawn as dots, alone and beside a line
FAR = 3.0  # times the usual: what is above leaves the chart, and is said under it
SLACK = 1e-3  # seconds: times are rounded
ROW = 16  # height of a row of marks
# What is marked under the steps: a row's name, and the kinds of its events (with a dot: all that begin so).
ROWS = (
    ("trace", ("trace.",)),
    ("graph op", ("ops",)),
    ("session", ("session",)),
    ("graph", ("graph",)),
    ("model", ("load", "import", "built", "compile")),
    ("function", ("function",)),
)


def steps(summary: LoopSummary, report: Report) -> tuple[str, str]:
    """Step time and memory over the steps of a loop, with what happened; and what the chart leaves out, in words."""
    run = summary.run
    points = _finite(run.step_seconds)
    if len(points) < 2:
        return "", ""
    ends = (points[0][0], max(points[-1][0], float(run.steps)))
    few = points if len(points) <= MANY else svg.thinned(points)[0]
    ceiling = _ceiling([y for _, y in few])
    epochs = _epochs(summary)
    plot = svg.Plot(ends, (0.0, ceiling), svg.TOP + 12 * bool(epochs), 190)
    parts = [plot.y_axis("time per step", svg.duration), *_epoch_lines(epochs, plot), *_curve(points, plot)]
    parts += _trend(run, few, report, plot)
    at = plot.top + plot.height + 4
    for name, events in _rows(run, report):
        parts.append(_row(name, events, run, plot, at))
        at += ROW
    level = _memory(run, report)
    if level:
        below = svg.Plot(ends, _padded([y for _, y in level]), at + 10, 80)
        parts += [below.y_axis("memory", svg.size), below.line(svg.thinned(level)[0], "line memory")]
        at = below.top + below.height
    base = svg.Plot(ends, (0.0, 1.0), at - 4, 4)
    parts.append(base.x_axis("step", svg.count, whole=True))
    shown = svg.thinned(points)[0]
    told = f"Time per step of the loop at {run.place}, over {words.plural(run.steps, 'step')}"
    above = sum(y > ceiling for _, y in points)
    note = f"{words.plural(above, 'step')} above the chart, up to {words.duration(max(y for _, y in points))}."
    drawn = svg.picture(at + svg.BOTTOM, told, parts, svg.readable(shown, plot, "step", "s"))
    return drawn, note if above else ""


def over_time(report: Report) -> str:
    """The whole run: which phase it was in, which loop ran, how much memory it held, how busy a device was."""
    phases = [s for s in report.phases if s.at and sum(v for v in s.values if math.isfinite(v)) > 0]
    level = _finite(report.memory)
    if not phases and len(level) < 2:
        return ""
    last = max([*(s.at[-1] + _width(s) for s in phases), *(x for x, _ in level[-1:])])
    parts: list[str] = []
    at: float = svg.TOP
    if phases:
        plot = svg.Plot((0.0, last), (0.0, 1.0), at, 120)
        parts += [plot.y_axis("phases", words.percent), *_stack(phases, plot), _imports(phases, plot, report)]
        at += plot.height + 6
        for summary in report.loops:
            parts.append(_span(summary.run, svg.Plot((0.0, last), (0.0, 1.0), at, ROW)))
            at += ROW
    data = ""
    if len(level) > 1:
        plot = svg.Plot((0.0, last), _padded([y for _, y in level]), at + 8, 110)
        shown = svg.thinned(level)[0]
        parts += [plot.y_axis("memory", svg.size), plot.line(shown, "line memory")]
        at = plot.top + plot.height
        data = svg.readable(shown, plot, "s", "bytes")
    for device in report.devices:
        points = svg.thinned(_finite(device))[0]
        if not points:
            continue
        reach = (0.0, 1.0) if device.unit == "share" else _padded([y for _, y in points])
        plot = svg.Plot((0.0, last), reach, at + 8, 60)
        parts += [plot.y_axis(device.name, _as_unit[device.unit])]
        parts += [plot.line(points, "line memory")]
        at = plot.top + plot.height
    parts.append(svg.Plot((0.0, last), (0.0, 1.0), at - 4, 4).x_axis("seconds", "{:g}".format))
    told = f"Phases of the run and its memory over {words.duration(last)}"
    return svg.picture(at + svg.BOTTOM, told, parts, data)


_as_unit = {"share": words.percent, "bytes": svg.size, "bytes/s": lambda rate: f"{svg.size(rate)}/s"}


# -- the parts of a chart ------------------------------------------------------------------------------------


def _curve(points: svg.Points, plot: svg.Plot) -> list[str]:
    """Dots; of many points the usual, between the least and the most of their neighbours."""
    inside = [(x, y) for x, y in points if y <= plot.y[1]]
    if len(points) <= FEW:
        return [plot.dots(inside, "dots steps")]
    if len(points) <= MANY:
        return [plot.dots(inside, "dots small steps"), plot.line(svg.smooth(points), "line steps")]
    middle, lows, highs = svg.thinned(points)
    return [plot.band(lows, highs, "band steps"), plot.line(middle, "line steps")]


def _ceiling(values: Sequence[float]) -> float:
    """The top of the chart: above all, unless a few are so far above the rest that it would show nothing else."""
    rest = sorted(values[series.warm_up(values) :]) or sorted(values)
    usual = rest[min(len(rest) - 1, int(0.98 * len(rest)))]
    top = usual if max(values) > FAR * usual > 0 else max(values)
    return 1.1 * top or 1.0


def _trend(run: LoopRun, points: svg.Points, report: Report, plot: svg.Plot) -> list[str]:
    """The fitted line where the loop gets slower, or the two levels where it got slower at once."""
    kinds = {symptom.kind for symptom in report.symptoms if symptom.loop == run.place}
    at = [x for x, _ in points]
    jump = series.jump([y for _, y in points]) if "slowed" in kinds else None
    if jump:
        turn, (low, high) = at[jump.index], (jump.before, jump.after)
        return [plot.line([(at[0], low), (turn, low), (turn, high), (at[-1], high)], "line alarm")]
    line = series.trend(at, [y for _, y in points]) if "degrading" in kinds else series.FLAT
    if not line.significant:
        return []
    start = line.end - line.slope * (at[-1] - at[0])
    return [plot.line([(at[0], max(0.0, start)), (at[-1], line.end)], "line alarm")]


def _epochs(summary: LoopSummary) -> list[tuple[str, float]]:
    """Where epochs begin, by step; without a name where they are many, of which not all may be known."""
    begins, noun = summary.epochs.at, summary.epochs.name
    return [(f"{noun} {n}" if len(begins) <= phrases.LISTED else "", at) for n, at in enumerate(begins, 1)]


def _epoch_lines(epochs: Sequence[tuple[str, float]], plot: svg.Plot) -> Iterator[str]:
    for name, at in epochs:
        yield plot.rule(at, "epoch")
        if name:
            yield f'<text class="tick" x="{plot.px(at)}" y="{plot.top - 4}">{e(name)}</text>'


def _rows(run: LoopRun, report: Report) -> Iterator[tuple[str, list[Event]]]:
    for name, kinds in ROWS:
        events = _within(run, report, kinds)
        if any(_step_at(run, event.last) is not None for event in events):
            yield words.plural(sum(event.count for event in events), name), events


def _row(name: str, events: Sequence[Event], run: LoopRun, plot: svg.Plot, top: float) -> str:
    """A stroke for each time; a line from the first to the last where no more is known."""
    drawn = ""
    exact = [event.times or (event.first, event.last) for event in events]
    for at in sorted({plot.px(step) for times in exact for step in _steps_at(run, times)}):
        drawn += f"M{at} {top + 3}v{ROW - 6}"
    for event in events:
        ends = _steps_at(run, (event.first, event.last))
        if not event.times and event.count > 2 and len(ends) == 2:
            drawn += f"M{plot.px(ends[0])} {top + ROW / 2}H{plot.px(ends[1])}"
    label = f'<text class="tick end" x="{svg.LEFT - 8}" y="{top + 12}">{e(name)}</text>'
    return f'{label}<path class="mark" d="{drawn}"/>'


def _stack(phases: Sequence[Series], plot: svg.Plot) -> list[str]:
    """Bars that stand on each other, one path for each phase. A bin's height is the share that was seen of it."""
    width = _width(phases[0])
    base = [0.0] * len(phases[0].at)
    parts = []
    for one in sorted(phases, key=lambda s: _order(s.name)):
        drawn = ""
        for index, (at, value) in enumerate(zip(one.at, one.values, strict=True)):
            if value > 0 and index < len(base):
                low, base[index] = base[index], base[index] + value / width
                left, right = plot.px(at), plot.px(at + width)
                drawn += f"M{left} {plot.py(low)}V{plot.py(base[index])}H{right}V{plot.py(low)}Z"
        parts.append(f'<path class="{phase_class(one.name)}" d="{drawn}"/>')
    return parts


def _imports(phases: Sequence[Series], plot: svg.Plot, report: Report) -> str:
    """The widest gap, in which nothing was seen because the program imported: said, so that nobody wonders."""
    seen = sorted({at for one in phases for at, value in zip(one.at, one.values, strict=True) if value > 0})
    gaps = [(b - a, a, b) for a, b in pairwise([0.0, *seen])]
    longest, start, end = max(gaps, default=(0.0, 0.0, 0.0))
    imported = float(report.meta.get("import_seconds") or 0.0)
    if longest < 0.08 * plot.x[1] or imported < longest / 2:
        return ""
    middle = plot.px((start + _width(phases[0]) + end) / 2)
    return f'<text class="tick mid" x="{middle}" y="{plot.top + plot.height / 2 + 4}">imports</text>'


def _span(run: LoopRun, plot: svg.Plot) -> str:
    """When a loop ran: from its first step to the end of its last."""
    clock = [time for time in run.clock.values if math.isfinite(time)]
    if not clock:
        return ""
    left, right = plot.px(clock[0]), plot.px(min(plot.x[1], max(clock[-1], clock[0] + run.seconds / max(1, run.runs))))
    name = f"line {run.place.line}" if run.place.cell is None else f"cell {run.place.cell}:{run.place.line}"
    return (
        f'<rect class="span" x="{left}" y="{plot.top + 5}" width="{max(1.0, right - left):.1f}" height="6" rx="3"/>'
        f'<text class="tick end" x="{svg.LEFT - 8}" y="{plot.top + 12}">{e(name)}</text>'
    )


def phase_class(name: str) -> str:
    return name if name in phrases.PHASES else "other"


def _order(phase: str) -> int:
    return phrases.PHASES.index(phase) if phase in phrases.PHASES else len(phrases.PHASES)


# -- from time to steps --------------------------------------------------------------------------------------


def _within(run: LoopRun, report: Report, kinds: tuple[str, ...]) -> list[Event]:
    """The events of some kinds that happened in a loop."""
    wanted = [event for event in report.events if event.kind in kinds or f"{event.kind.partition('.')[0]}." in kinds]
    return [event for event in wanted if any(run.place.covers(frame) for frame in event.stack)]


def _steps_at(run: LoopRun, times: Sequence[float]) -> list[float]:
    """The steps that ran at some times, as far as the loop ran at all."""
    return [step for time in times if (step := _step_at(run, time)) is not None]


def _step_at(run: LoopRun, time: float) -> float | None:
    at, clock = run.clock.at, run.clock.values
    mean = run.seconds / max(1, run.steps) * series.stride(at)
    if not clock or not clock[0] - SLACK <= time <= clock[-1] + mean:
        return None
    index = max(0, bisect_right(clock, time) - 1)
    lasts = clock[index + 1] - clock[index] if index + 1 < len(clock) else mean
    return at[index] + min(1.0, max(0.0, time - clock[index]) / (lasts or 1.0)) * series.stride(at)


def _memory(run: LoopRun, report: Report) -> list[tuple[float, float]]:
    """Memory over the steps of a loop."""
    found = [(step, y) for time, y in _finite(report.memory) if (step := _step_at(run, time)) is not None]
    return found if len(found) > 1 and found[0][0] < found[-1][0] else []


def _width(one: Series) -> float:
    return min((b - a for a, b in pairwise(one.at)), default=1.0) or 1.0


def _padded(values: Sequence[float]) -> tuple[float, float]:
    """A level's own range with some air: from zero, a leak of a tenth would look flat."""
    low, high = min(values), max(values)
    air = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
    return max(0.0, low - air), high + air


def _finite(one: Series) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(one.at, one.values, strict=False) if math.isfinite(x) and math.isfinite(y)]
