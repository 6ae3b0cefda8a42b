"""What the renderers say of a trial: its verdict, both sides in numbers, and how the results are the same."""

from __future__ import annotations

import math

from hotloop import words
from hotloop.model import Side, Trial
from hotloop.report import phrases, svg
from hotloop.report.markup import e

LEVELS = {
    "identical": "the same to the last digit",
    "close": "the same within 1e-4",
    "random": "as random as before",
}
Row = tuple[str, str, str]


def results(trial: Trial) -> str:
    if trial.same_results and trial.level:
        return LEVELS[trial.level]
    return {True: "the same", False: "DIFFERENT", None: "unknown"}[trial.same_results]


def facts(trial: Trial) -> list[Row]:
    """What was measured: of what, before, after. What neither side has is left out."""
    if len(trial.sides) != 2:
        return []
    before, after = trial.sides
    rows = [
        ("time in loops", words.duration(before.seconds), words.duration(after.seconds)),
        ("a step of the main loop", _step(before), _step(after)),
        ("whole run, less imports", words.duration(before.whole_seconds), words.duration(after.whole_seconds)),
        ("traces", words.count(before.traces), words.count(after.traces)),
        ("peak memory", _size(before.bytes), _size(after.bytes)),
        ("memory grows per step", _size(before.bytes_per_step), _size(after.bytes_per_step)),
    ]
    return [row for row in rows if {row[1], row[2]} - {"", "0", "0 B"}]


def _step(side: Side) -> str:
    return f"{words.duration(side.step_seconds)} ({words.count(side.steps)})" if side.step_seconds else ""


def _size(value: float | None) -> str:
    return "" if value is None else words.size(value)


def chart(trial: Trial) -> str:
    """Both sides' steps on one chart, whose scale is of ratios: the same distance is the same factor."""
    curves = [
        [(x, math.log10(y)) for x, y in zip(side.series.at, side.series.values, strict=False) if 0 < y < math.inf]
        for side in trial.sides
    ]
    points = [point for curve in curves for point in curve]
    if len(curves) != 2 or min(map(len, curves)) < 2:
        return ""
    ends = min(x for x, _ in points), max(x for x, _ in points)
    low, high = math.floor(min(y for _, y in points) * 2) / 2, math.ceil(max(y for _, y in points) * 2) / 2
    plot = svg.Plot(ends, (low, max(high, low + 0.5)), svg.TOP, 190)
    parts = [plot.y_axis("time per step", lambda t: words.duration(10**t))]
    for curve, css in zip(curves, ("before", "after"), strict=True):
        few = svg.thinned(curve)[0]
        parts += [plot.dots(few, f"dots small {css}"), plot.line(svg.smooth(few), f"line {css}")]
    base = svg.Plot(ends, (0.0, 1.0), plot.top + plot.height - 4, 4)
    parts.append(base.x_axis("step", svg.count, whole=True))
    told = f"Time per step of {trial.before} and of {trial.after}"
    names = "".join(
        f'<li><i class="{css}"></i>{e(name)}</li>' for css, name in (("before", trial.before), ("after", trial.after))
    )
    return svg.picture(plot.top + plot.height + svg.BOTTOM, told, parts) + f'<ul class="legend">{names}</ul>'


def headline(trial: Trial) -> str:
    """For a pull request, in one line."""
    ratio = phrases.speedup(trial)
    said = {
        "faster": f"{ratio} as fast in its loops",
        "same": f"neither faster nor slower ({ratio})",
        "slower": f"slower: {ratio} as fast in its loops",
        "inconclusive": f"undecided ({ratio})",
        "different-results": "different results",
    }[trial.verdict]
    return f"{said}, results {results(trial)}" if trial.verdict != "different-results" else said
