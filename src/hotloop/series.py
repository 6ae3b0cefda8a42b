"""Numbers to shape: warm-up, trend, jump, growth, and how sure one can be."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature

BLOCKS = "▁▂▃▄▅▆▇█"
FEWEST = 8  # points: below, any slope is an accident
ENOUGH_TO_RESAMPLE = 10
SUBSTANTIAL = 1.3  # end over start: shared machines drift by less than this
LOOKS = 2  # in each third of a loop, to tell what its steps were handed
CLEAR = 3.0  # times the noise: neighbours that come to life raise both, a loop that slows down its steps alone
FEW, SUBSTANTIAL_IN_FEW = 50, 1.5  # steps, in which a neighbour that comes to life looks like a trend
LASTING = 10  # points on either side of a jump
NOTICEABLE = 0.1  # of all time, on either side of a jump
STRETCHES = 8  # of either side: a level that lasts is there in each of them


@dataclass(frozen=True)
class Trend:
    """A robust line through a series: its slope with a 95% interval, and the fitted values at both ends."""

    slope: float
    low: float
    high: float
    start: float
    end: float
    significant: bool


@dataclass(frozen=True)
class Jump:
    """One step from a level to another at `index`."""

    index: int
    before: float
    after: float


FLAT = Trend(0.0, 0.0, 0.0, 0.0, 0.0, False)


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def warm_up(values: Sequence[float]) -> int:
    """How many leading steps are warm-up: far above what comes right after them. At most a fifth of all."""
    window = max(9, len(values) // 10)
    most = max(1, len(values) // 5) if len(values) > 1 else 0
    cut = 0
    for index in range(most):
        if values[index] > 3 * median(values[index + 1 : index + 1 + window]):
            cut = index + 1
    return cut


def trend(at: Sequence[float], values: Sequence[float]) -> Trend:
    """The trend of step times after warm-up.

    `significant` means getting slower: the interval excludes 0, the fitted line rises by 30% or more (in a few
    steps, by half) and by three times the noise around it, and a single jump between two levels does not explain the
    series better.
    """
    cut = warm_up(values)
    xs, ys = _finite(at[cut:], values[cut:])
    if len(xs) < FEWEST or xs[0] == xs[-1]:
        return FLAT
    line = _theil_sen(xs, ys)
    residuals = [y - (line.start + line.slope * (x - xs[0])) for x, y in zip(xs, ys, strict=True)]
    # A curve that starts flat has a fitted start below anything seen: the ends are kept within the data.
    start, end = (min(max(end, min(ys)), max(ys)) for end in (line.start, line.end))
    spread = _spread(residuals)
    jumped = _misfit_of_jump(ys, _split(ys)) < sum(abs(r) for r in residuals)
    substantial = SUBSTANTIAL if len(xs) >= FEW else SUBSTANTIAL_IN_FEW
    rises = line.low > 0 and end >= substantial * start and end - start > CLEAR * spread
    return Trend(line.slope, line.low, line.high, start, end, rises and not jumped)


def growth(at: Sequence[float], values: Sequence[float]) -> Trend:
    """The trend of a level, such as memory. `significant`: it rises, its last third still rises much as before, and
    its second half reaches what was never reached before.

    The first fifth is left out of the line: pools and caches fill there, and then stay.
    """
    cut = len(values) // 5
    xs, ys = _finite(at[cut:], values[cut:])
    if len(xs) < FEWEST or xs[0] == xs[-1]:
        return FLAT
    line, half, last = _theil_sen(xs, ys), len(xs) // 2, 2 * len(xs) // 3
    late = _theil_sen(xs[last:], ys[last:]) if xs[last] < xs[-1] else FLAT
    beyond = max(ys[half:]) - max(*values[:cut], *ys[:half])
    rises = line.low > 0 and late.slope >= 0.6 * line.slope and beyond >= 0.25 * (line.end - line.start)
    return Trend(line.slope, line.low, line.high, line.start, line.end, rises)


def with_its_input(clock: Sequence[float], at: Sequence[float], handed: Sequence[float]) -> float:
    """How much more a step is handed in the last third of a loop than in the first, if that may be why it takes longer.

    `clock`: when steps began. `handed`: so much until `at`. 0: it is handed no more, or takes longer than even the
    square of that would.
    """
    third = len(clock) // 3
    if third < 1 or len(at) < 2:
        return 0.0
    import numpy as np

    ends = [clock[0], clock[third], clock[-1 - third], clock[-1]]
    if min(sum(ends[i] <= one <= ends[i + 1] for one in at) for i in (0, 2)) < LOOKS:
        return 0.0  # too few looks to tell how much went into either
    before, _, after = np.diff(np.interp(ends, at, handed)) / third
    soon, _, late = np.diff(ends) / third
    if before <= 0 or after < SUBSTANTIAL * before or late > SUBSTANTIAL * soon * (after / before) ** 2:
        return 0.0
    return float(after - before)


def linear(at: Sequence[float], values: Sequence[float]) -> bool:
    """Whether the points lie on a line so well that even a small slope is no accident."""
    import numpy as np

    if len(values) < FEWEST or min(values) == max(values):
        return False
    return bool(np.corrcoef(np.asarray(at, float), np.asarray(values, float))[0, 1] > 0.98)


def step_change(values: Sequence[float]) -> Jump | None:
    """The one place that splits a series best into two levels, if they differ."""
    if len(values) < FEWEST:
        return None
    found = _split(values)
    low, high = sorted((found.before, found.after))
    return found if high >= SUBSTANTIAL * low and high > 0 else None


def _split(values: Sequence[float]) -> Jump:
    """The best place for two levels to meet (Pettitt's statistic)."""
    import numpy as np
    from scipy.stats import rankdata

    n = len(values)
    ranks = rankdata(values)
    after = np.arange(1, n)
    distance = np.abs(2 * np.cumsum(ranks)[:-1] - after * (n + 1))
    index = int(after[int(np.argmax(distance))])
    return Jump(index, median(values[:index]), median(values[index:]))


def jump(values: Sequence[float]) -> Jump | None:
    """The one step after warm-up from a lasting level of times to another, if that is what the series is.

    Both levels hold for a while, in points and in time, and in each stretch of it: what comes and goes is a busy
    machine. They differ by 30% or more (in a few steps, by half) and by three times the noise on either side, and
    explain the series better than a line does.
    """
    cut = warm_up(values)
    ys = values[cut:]
    if len(ys) < 2 * LASTING or not all(map(math.isfinite, ys)) or (found := _settled(ys)) is None:
        return None
    sides = ys[: found.index], ys[found.index :]
    low, high = sorted((found.before, found.after))
    if low <= 0 or high < (SUBSTANTIAL if len(ys) >= FEW else SUBSTANTIAL_IN_FEW) * low:
        return None
    if min(map(len, sides)) < LASTING or min(map(sum, sides)) < NOTICEABLE * sum(ys):
        return None
    if high - low <= CLEAR * max(map(_spread, sides)):
        return None
    middle = (low + high) / 2
    rises = found.after > found.before
    if any((median(part) > middle) is rises for part in _stretches(sides[0])):
        return None
    if any((median(part) > middle) is not rises for part in _stretches(sides[1])):
        return None
    line = _theil_sen([float(x) for x in range(len(ys))], list(ys))
    if _misfit_of_jump(ys, found) >= sum(abs(y - line.start - line.slope * x) for x, y in enumerate(ys)):
        return None
    return Jump(cut + found.index, found.before, found.after)


def _settled(values: Sequence[float]) -> Jump | None:
    """Where two levels meet: Pettitt's place is pulled to the middle, so it is sought again with the levels known."""
    import numpy as np

    found = step_change(values)
    for _ in range(3):
        if found is None or found.before == found.after:
            return None
        gain = np.abs(np.subtract(values, found.after)) - np.abs(np.subtract(values, found.before))
        index = int(np.argmax(np.cumsum(gain)[:-1])) + 1
        if index == found.index:
            break
        found = Jump(index, median(values[:index]), median(values[index:]))
    return found


def _stretches(values: Sequence[float]) -> list[Sequence[float]]:
    count = min(STRETCHES, len(values) // 5)
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    return [values[a:b] for a, b in itertools.pairwise(edges)]


def _spread(values: Sequence[float]) -> float:
    """The noise around the middle, as a standard deviation that outliers do not move."""
    middle = median(values)
    return 1.4826 * median([abs(value - middle) for value in values])


def stands_out(values: Sequence[float]) -> int | None:
    """Which of a few values is far above all others, where those are alike; the first is not counted among them."""
    if len(values) < 3:
        return None
    index = max(range(len(values)), key=lambda at: values[at])
    others = [value for at, value in enumerate(values) if at not in (0, index)]
    usual = median(others)
    alike = len(others) > 1 and SUBSTANTIAL * min(others) >= usual and max(others) <= SUBSTANTIAL * usual
    far = values[index] >= SUBSTANTIAL_IN_FEW * usual and values[index] - usual > CLEAR * _spread(others)
    return index if usual > 0 and alike and far else None


def climb(values: Sequence[float]) -> float:
    """By how much each of a few values is above the one before, the last being far above the first; 0 if they are not.

    So few that no line can be fitted must all rise, none much less than the others.
    """
    if len(values) < 4 or min(values) <= 0:
        return 0.0
    if len(values) >= FEWEST:
        line = trend([float(at) for at in range(len(values))], values)
        return line.slope if line.significant else 0.0
    rises = [b - a for a, b in itertools.pairwise(values)]
    mean = sum(rises) / len(rises)
    return mean if values[-1] >= SUBSTANTIAL_IN_FEW * values[0] and min(rises) >= mean / 3 else 0.0


def stride(at: Sequence[float]) -> float:
    """How many steps, or seconds, lie between the points of an even series."""
    return at[1] - at[0] if len(at) > 1 else 1.0


def bootstrap_ratio(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """How many times smaller `after` is, with its 95% interval, from runs taken in pairs.

    Works on the logarithm of each pair's ratio. A few pairs cannot be resampled (of five, the bootstrap's 95%
    holds the truth 82% of the time): Student's t then. A single pair says nothing about its own spread, so
    its interval is everything.
    """
    import numpy as np
    from scipy import stats

    logs = np.log([b / a for b, a in zip(before, after, strict=True)])
    if not len(logs):
        raise ValueError("no pairs to compare")
    middle = float(np.mean(logs))
    if len(logs) == 1:
        return math.exp(middle), 0.0, math.inf
    if float(np.ptp(logs)) < 1e-12:
        return math.exp(middle), math.exp(middle), math.exp(middle)
    if len(logs) < ENOUGH_TO_RESAMPLE:
        low, high = stats.t.interval(0.95, len(logs) - 1, loc=middle, scale=stats.sem(logs))
    else:
        with_seed = {"rng" if "rng" in signature(stats.bootstrap).parameters else "random_state": 0}
        low, high = stats.bootstrap((logs,), np.mean, **with_seed).confidence_interval
    return math.exp(middle), math.exp(low), math.exp(high)


def sparkline(values: Sequence[float], width: int = 20) -> str:
    """The shape in one row of blocks, from zero up; warm-up is clipped, so that the rest shows."""
    ys = [v for v in values if math.isfinite(v)]
    if not ys or width < 1:
        return ""
    if len(ys) > width:
        edges = [round(i * len(ys) / width) for i in range(width + 1)]
        binned = [median(ys[a:b]) for a, b in itertools.pairwise(edges)]
    else:
        binned = ys
    rest = binned[warm_up(binned) :]
    # A flat series stands at two thirds: full blocks would read as "at the limit".
    top = max(max(rest), 1.5 * median(rest))
    if top <= 0:
        return BLOCKS[0] * len(binned)
    return "".join(BLOCKS[min(7, max(0, int(8 * value / top)))] for value in binned)


def _finite(at: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    pairs = [(x, y) for x, y in zip(at, values, strict=True) if math.isfinite(x) and math.isfinite(y)]
    return [x for x, _ in pairs], [y for _, y in pairs]


def _theil_sen(xs: list[float], ys: list[float]) -> Trend:
    from scipy.stats import theilslopes

    slope, intercept, low, high = (float(v) for v in theilslopes(ys, xs, 0.95))
    return Trend(slope, low, high, intercept + slope * xs[0], intercept + slope * xs[-1], False)


def _misfit_of_jump(values: Sequence[float], jump: Jump) -> float:
    levels = ((jump.before, values[: jump.index]), (jump.after, values[jump.index :]))
    return sum(abs(v - level) for level, part in levels for v in part)
