"""The few strokes that the page's charts are made of. Colors are the style sheet's: classes alone are set here."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hotloop import series, words
from hotloop.report.markup import e

WIDTH = 920
LEFT, RIGHT, TOP, BOTTOM = 100, 12, 10, 22
MOST = 600  # points of a line: more than the page has pixels to show

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Plot:
    """A rectangle with a scale: `x` and `y` are the values at its edges, `top` and `height` where it stands."""

    x: tuple[float, float]
    y: tuple[float, float]
    top: float
    height: float

    def px(self, value: float) -> float:
        low, high = self.x
        return round(LEFT + (value - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT), 1)

    def py(self, value: float) -> float:
        low, high = self.y
        share = (min(max(value, low), high) - low) / ((high - low) or 1.0)
        return round(self.top + (1 - share) * self.height, 1)

    def y_axis(self, name: str, label: Callable[[float], str]) -> str:
        lines = "".join(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{self.py(t)}" y2="{self.py(t)}"/>'
            f'<text class="tick end" x="{LEFT - 8}" y="{self.py(t) + 4}">{e(label(t))}</text>'
            for t in ticks(*self.y, most=4)
        )
        middle = self.top + self.height / 2
        return f'{lines}<text class="name" transform="translate(12 {middle}) rotate(-90)">{e(name)}</text>'

    def x_axis(self, name: str, label: Callable[[float], str], whole: bool = False) -> str:
        """`whole`: of a thing that is counted."""
        base = self.top + self.height
        marks = "".join(
            f'<text class="tick mid" x="{self.px(t)}" y="{base + 16}">{e(label(t))}</text>'
            for t in ticks(*self.x, most=8)
            if self.px(t) < WIDTH - 60 and (not whole or t == round(t))
        )
        line = f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>'
        return f'{line}{marks}<text class="tick end" x="{WIDTH - RIGHT}" y="{base + 16}">{e(name)}</text>'

    def line(self, points: Points, css: str) -> str:
        drawn = " ".join(f"{self.px(x)},{self.py(y)}" for x, y in points)
        return f'<polyline class="{css}" points="{drawn}"/>'

    def dots(self, points: Points, css: str) -> str:
        """One path for all: a thousand elements would make the page slow."""
        drawn = "".join(f"M{self.px(x)} {self.py(y)}h0" for x, y in points)
        return f'<path class="{css}" d="{drawn}"/>'

    def band(self, lows: Points, highs: Points, css: str) -> str:
        around = [*highs, *reversed(lows)]
        return f'<polygon class="{css}" points="{" ".join(f"{self.px(x)},{self.py(y)}" for x, y in around)}"/>'

    def rule(self, x: float, css: str) -> str:
        at = self.px(x)
        return f'<line class="{css}" x1="{at}" x2="{at}" y1="{self.top}" y2="{self.top + self.height}"/>'


def picture(height: float, told: str, parts: Iterable[str], data: str = "") -> str:
    """`told` is what somebody hears who cannot see it."""
    return (
        f'<div class="wide"><svg class="chart" viewBox="0 0 {WIDTH} {round(height)}" role="img" aria-label="{e(told)}"'
        f"{data}><title>{e(told)}</title>{''.join(parts)}</svg></div>"
    )


def readable(points: Points, plot: Plot, x_unit: str, y_unit: str) -> str:
    """Attributes from which the page's script tells the point under the mouse: numbers alone."""
    xs = " ".join(f"{x:.6g}" for x, _ in points)
    ys = " ".join(f"{y:.4g}" for _, y in points)
    box = f"{plot.px(plot.x[0])} {plot.px(plot.x[1])} {plot.x[0]:.6g} {plot.x[1]:.6g}"
    return f' data-x="{xs}" data-y="{ys}" data-box="{box}" data-units="{x_unit} {y_unit}"'


def thinned(points: Points) -> tuple[list[tuple[float, float]], Points, Points]:
    """Medians, least and most of neighbouring points: at most MOST of each."""
    if len(points) <= MOST:
        return list(points), (), ()
    edges = [round(i * len(points) / MOST) for i in range(MOST + 1)]
    groups = [points[a:b] for a, b in pairwise(edges)]
    middle = [(group[0][0], series.median([y for _, y in group])) for group in groups]
    lows = [(group[0][0], min(y for _, y in group)) for group in groups]
    highs = [(group[0][0], max(y for _, y in group)) for group in groups]
    return middle, lows, highs


def smooth(points: Points) -> list[tuple[float, float]]:
    """The running median: what a step usually takes around there."""
    half = max(2, len(points) // 60)
    return [
        (x, series.median([y for _, y in points[max(0, index - half) : index + half + 1]]))
        for index, (x, _) in enumerate(points)
    ]


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, at most some."""
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * times for times in (1, 2, 5, 10, 20) if span / (power * times) <= most)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def short(text: str) -> str:
    """2.50 ms -> 2.5 ms: a tick needs no more digits than it has."""
    return re.sub(r"\.?0+(?= )", "", text) if "." in text else text


def duration(value: float) -> str:
    return short(words.duration(value)) if value else "0"


def size(value: float) -> str:
    return short(words.size(value))


def count(value: float) -> str:
    return words.count(round(value))
