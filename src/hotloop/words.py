"""Numbers as people read them: three significant digits and the unit that fits."""

from __future__ import annotations

import math
import re

DURATIONS = ((0.9995e-3, 1e6, "µs"), (0.9995, 1e3, "ms"), (119.95, 1.0, "s"), (7197.0, 1 / 60, "min"))


def number(value: float) -> str:
    """1234.5 -> 1,234 and 0.01234 -> 0.0123: three digits, never an exponent."""
    if not math.isfinite(value):
        return "?"
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if rounded == int(rounded) and abs(rounded) >= 100:
        return f"{rounded:,.0f}" if abs(rounded) < 1_000_000 else f"{round(rounded):,}"
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def count(value: float) -> str:
    """A thing that is counted: whole numbers stay whole."""
    return f"{value:,.0f}" if math.isfinite(value) and value == int(value) else number(value)


def duration(seconds: float) -> str:
    size = abs(seconds)
    if not math.isfinite(seconds):
        return "?"
    if size == 0:
        return "0 s"
    for limit, factor, unit in (
        (0.9995e-3, 1e6, "µs"),
        (0.9995, 1e3, "ms"),
        (119.95, 1, "s"),
        (7197, 1 / 60, "min"),
    ):
        if size < limit:
            return f"{number(seconds * factor)} {unit}"
    return f"{number(seconds / 3600)} h"


def seconds_in(text: str) -> float | None:
    """The other way: "90", "90s", "1.5m", "2h". None: that is no time."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h)?", text.strip())
    return float(match[1]) * {"m": 60.0, "h": 3600.0}.get(match[2], 1.0) if match else None


def size(bytes_: float) -> str:
    if not math.isfinite(bytes_):
        return "?"
    for limit, factor, unit in ((999.5, 1.0, "B"), (0.9995e6, 1e3, "KB"), (0.9995e9, 1e6, "MB")):
        if abs(bytes_) < limit:
            return f"{number(bytes_ / factor) if unit != 'B' else round(bytes_)} {unit}"
    return f"{number(bytes_ / 1e9)} GB"


def percent(share: float) -> str:
    """A part of a whole: never above 100%."""
    if not math.isfinite(share):
        return "?"
    share = min(max(share, 0.0), 1.0)
    return "<1%" if 0 < share < 0.005 else f"{share * 100:.0f}%"


def quantity(value: float, unit: str) -> str:
    """A number with the unit that Evidence or Symptom gave it."""
    if unit in ("s", "seconds"):
        return duration(value)
    if unit in ("B", "bytes"):
        return size(value)
    if unit in ("s/step", "seconds/step"):
        return f"{duration(value)} per step"
    if unit in ("B/step", "bytes/step"):
        return f"{size(value)} per step"
    return f"{count(value)} {unit}".strip()


def plural(amount: float, noun: str) -> str:
    return f"{count(amount)} {noun}" if amount == 1 else f"{count(amount)} {noun}s"
