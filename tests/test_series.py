"""Shapes are told apart: slowing, flat, noisy, warming up, jumping."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from hotloop import series, words

N = 300


def noisy(shape: Callable[[float], float], seed: int = 1, spread: float = 0.15, n: int = N) -> list[float]:
    source = random.Random(seed)
    return [shape(i / n) * math.exp(source.gauss(0, spread)) for i in range(n)]


def slows(values: Sequence[float]) -> bool:
    return series.trend([float(i) for i in range(len(values))], values).significant


@pytest.mark.parametrize(
    "shape",
    [lambda x: 1 + 2 * x, lambda x: 1 + 9 * x * x, lambda x: 1 + 4 * math.sqrt(x), lambda x: 1 + 0.6 * x],
    ids=["linear", "quadratic", "square root", "gentle"],
)
def test_a_loop_that_slows_down_is_seen_through_noise(shape: Callable[[float], float]) -> None:
    assert slows(noisy(shape))


def test_noise_alone_is_not_a_trend() -> None:
    assert not any(slows(noisy(lambda x: 1.0, seed, spread=0.5, n=100)) for seed in range(40))


def test_a_machine_that_gets_busier_is_not_a_loop_that_slows_down() -> None:
    assert not slows([v * (1 + i / N) for i, v in enumerate(noisy(lambda x: 1.0, spread=0.35))])


def test_a_loop_that_gets_faster_is_not_degrading() -> None:
    assert not slows(noisy(lambda x: 3 - 2 * x))


def test_a_rise_below_thirty_percent_is_not_worth_a_word() -> None:
    assert not slows(noisy(lambda x: 1 + 0.15 * x, spread=0.01))


def test_spikes_do_not_make_a_trend() -> None:
    values = noisy(lambda x: 1.0)
    values[200::10] = [value * 30 for value in values[200::10]]
    assert not slows(values)


def test_a_single_jump_is_a_jump_and_not_a_trend() -> None:
    values = noisy(lambda x: 1.0 if x < 0.5 else 2.5)
    jump = series.step_change(values)
    assert jump is not None
    assert abs(jump.index - N // 2) <= 3
    assert jump.after / jump.before == pytest.approx(2.5, rel=0.15)
    assert not slows(values)


def test_a_flat_series_has_no_jump() -> None:
    assert series.step_change(noisy(lambda x: 1.0)) is None


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ([9.0, 2.0, 2.1, 1.9], 0),
        ([2.0, 2.1, 9.0, 1.9, 2.0], 2),
        ([4.0, 2.1, 9.0, 1.9, 2.0], 2),
        ([2.0, 2.1, 1.9], None),
        ([9.0, 2.0], None),
        ([9.0, 2.0, 8.0, 2.0], None),
        ([1.0, 0.0, 0.0], None),
        ([], None),
    ],
)
def test_one_value_stands_out_where_the_others_are_alike(values: list[float], index: int | None) -> None:
    assert series.stands_out(values) == index


@pytest.mark.parametrize(
    ("values", "each"),
    [
        ([2.0, 2.5, 3.0, 3.5], 0.5),
        ([2.0, 2.5, 3.0, 3.5, 4.2, 4.5, 5.0, 5.4, 6.0, 6.5], 0.5),
        ([2.0, 2.5, 2.4, 3.5], 0),
        ([2.0, 2.1, 2.2, 2.3], 0),
        ([2.0, 2.01, 2.02, 3.5], 0),
        ([0.0, 1.0, 2.0, 3.0], 0),
        ([2.0, 3.0], 0),
        ([], 0),
    ],
)
def test_a_few_values_climb_where_each_is_above_the_one_before(values: list[float], each: float) -> None:
    assert series.climb(values) == pytest.approx(each, rel=0.05)


def test_a_small_jump_is_no_trend_either() -> None:
    assert not any(slows(noisy(lambda x: 1.0 if x < 0.5 else 1.2, seed, spread=0.05)) for seed in range(10))


def test_a_lasting_jump_is_found_where_it_is_though_far_from_the_middle() -> None:
    for share in (0.25, 0.5, 0.8):
        jump = series.jump(noisy(lambda x: 1.0 if x < share else 2.0, spread=0.1))  # noqa: B023
        assert jump is not None
        assert abs(jump.index - share * N) <= 2
    assert series.jump([0.0] * 50 + [1.0] * 50) is None
    assert series.jump([1.0] * 50 + [math.nan] * 50) is None


def test_too_few_steps_have_no_trend() -> None:
    assert not slows([1.0, 2.0, 3.0, 4.0])
    assert not slows([])


def test_the_slope_of_a_line_lies_in_its_interval() -> None:
    values = [1 + 0.01 * i + v for i, v in enumerate(noisy(lambda x: 0.1))]
    line = series.trend([float(i) for i in range(N)], values)
    assert line.low <= 0.01 <= line.high
    assert line.end - line.start == pytest.approx(0.01 * (N - 1), rel=0.1)


def test_values_that_are_no_numbers_are_left_out() -> None:
    values = noisy(lambda x: 1 + 2 * x)
    values[50], values[60] = math.nan, math.inf
    assert slows(values)


def test_warm_up_is_cut_and_only_warm_up() -> None:
    steady = noisy(lambda x: 1.0)
    assert series.warm_up(steady) == 0
    assert series.warm_up([300.0, *steady]) == 1
    assert series.warm_up([300.0, 40.0, 1.0, 90.0, *steady]) == 4
    assert series.warm_up(noisy(lambda x: 1 + 9 * x)) == 0
    assert series.warm_up([]) == series.warm_up([1.0]) == 0


def test_a_filling_cache_is_not_a_leak_but_a_rising_line_is() -> None:
    at = [float(i) for i in range(N)]
    assert series.growth(at, [100 + i for i in at]).significant
    assert not series.growth(at, [100 + min(i, 120.0) for i in at]).significant
    assert not series.growth(at, [100.0 for _ in at]).significant


def test_a_level_that_was_reached_before_is_not_a_leak() -> None:
    at = [float(i) for i in range(N)]
    assert not series.growth(at, [170.0 if i < 20 else 100 + 60 * i / N for i in at]).significant
    assert not series.growth(at, [100 + 20 * i / N + 40 * (i % 10 < 2) * (i < N / 2) for i in at]).significant
    assert series.growth(at, [100 + 80 * i / N - 20 * (i % 7 < 2) for i in at]).significant


def test_a_heap_that_settles_is_not_a_leak() -> None:
    at = [float(i) for i in range(N)]
    assert not series.growth(at, [100 - 60 * 0.5 ** (4 * i / N) for i in at]).significant


def test_the_ratio_of_paired_runs_comes_with_an_interval_that_holds_it() -> None:
    for pairs in (3, 5, 12):
        after = noisy(lambda x: 1.0, spread=0.3, n=pairs)
        # A machine that is slow for both of a pair cancels out.
        before = [a * 2 * math.exp(g) for a, g in zip(after, (0.01 * (-1) ** i for i in range(pairs)), strict=True)]
        ratio, low, high = series.bootstrap_ratio(before, after)
        assert 1.9 < low <= ratio <= high < 2.1
        assert ratio == pytest.approx(2, rel=0.02)


def test_one_pair_knows_nothing_about_its_spread() -> None:
    assert series.bootstrap_ratio([2.0], [1.0]) == (2.0, 0.0, math.inf)


def test_equal_pairs_have_an_exact_ratio() -> None:
    assert series.bootstrap_ratio([2.0] * 5, [1.0] * 5) == pytest.approx((2.0, 2.0, 2.0))


def test_no_pairs_or_odd_ones_are_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        series.bootstrap_ratio([], [])
    with pytest.raises(ValueError, match="argument"):
        series.bootstrap_ratio([1.0, 2.0], [1.0])


def test_a_sparkline_shows_the_shape_despite_warm_up() -> None:
    rising = series.sparkline([500.0, *(1 + i / 30 for i in range(300))], 20)
    assert len(rising) == 20
    assert rising[1] < rising[10] < rising[-1] == "█"
    assert set(series.sparkline([1.0] * 100, 20)) == {"▆"}
    assert series.sparkline([0.0, 0.0], 20) == "▁▁"
    assert series.sparkline([], 20) == ""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (words.duration(0), "0 s"),
        (words.duration(0.00099996), "1.00 ms"),
        (words.duration(0.27), "270 ms"),
        (words.duration(0.99999), "1.00 s"),
        (words.duration(44), "44.0 s"),
        (words.duration(150), "2.50 min"),
        (words.duration(9000), "2.50 h"),
        (words.duration(math.nan), "?"),
        (words.size(999.7), "1.00 KB"),
        (words.size(44e6), "44.0 MB"),
        (words.size(1.7e9), "1.70 GB"),
        (words.size(12), "12 B"),
        (words.percent(1.4), "100%"),
        (words.percent(0.001), "<1%"),
        (words.percent(0.945), "94%"),
        (words.number(1234.5), "1,230"),
        (words.number(99.96), "100"),
        (words.count(1234567), "1,234,567"),
        (words.plural(1, "step"), "1 step"),
        (words.plural(1200, "step"), "1,200 steps"),
        (words.quantity(0.5, "s"), "500 ms"),
        (words.quantity(3, "traces"), "3 traces"),
    ],
)
def test_numbers_are_said_as_people_read_them(said: str, meant: str) -> None:
    assert said == meant
