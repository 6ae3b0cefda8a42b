"""Loops over a range, which tick from the range: they go over the same, and nobody can tell."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from test_ticks import loop_at, recorded

from hotloop.model import Place
from hotloop.record.track import Track

RANGES = (range(0), range(5), range(64), range(65), range(1000), range(7, 9000, 13), range(500, -500, -1))


def gone_over(track: Track, items: Any) -> list[Any]:
    return list(chain.from_iterable(track.over(items)))


@pytest.mark.parametrize("items", RANGES, ids=str)
def test_a_loop_over_a_range_goes_over_the_same_whether_it_ticks_or_rests(items: range) -> None:
    track = Track(Place("p.py", 3, 0, 5, 0), "for", "")
    assert gone_over(track, items) == list(items)
    assert len(track.ticks) == len(items)
    track.switch.on = False
    assert gone_over(track, items) == list(items)
    assert len(track.ticks) == len(items)


def test_a_loop_over_a_range_wakes_soon_and_is_counted_while_it_is_awake() -> None:
    track = Track(Place("p.py", 3, 0, 5, 0), "for", "")
    for number in chain.from_iterable(track.over(range(10_000))):
        track.switch.on = not 2_000 <= number < 4_000
    assert 8_000 - 2 * 64 <= len(track.ticks) <= 8_000 + 2 * 64


def test_a_range_of_any_length_and_one_that_is_the_programs_own_are_gone_over() -> None:
    track = Track(Place("p.py", 3, 0, 5, 0), "for", "")
    huge = chain.from_iterable(track.over(range(10**30)))
    assert [next(huge) for _ in range(200)] == list(range(200))
    assert gone_over(track, "abc") == ["a", "b", "c"]
    assert len(track.ticks) == 203


def test_an_error_in_a_loop_over_a_range_has_its_usual_traceback(tmp_path: Path) -> None:
    program = """\
        for number in range(1000):
            if number == 700:
                raise ValueError(number)
        """
    _, completed = recorded(tmp_path, program)
    alone = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, check=False)
    assert completed.stderr.replace(b"\r", b"") == alone.stderr.replace(b"\r", b"")


def test_a_loop_over_a_range_leaves_continues_and_ends_as_it_is_written(tmp_path: Path) -> None:
    program = """\
        def search(n, wanted):
            for number in range(n):
                if number % 2:
                    continue
                if number == wanted:
                    break
            else:
                return "none", number
            return "found", number

        def early(n):
            for number in range(n):
                try:
                    if number == 150:
                        return number
                finally:
                    last = number
            return -1

        def twice(n, depth=2):
            for number in range(n):
                if depth and number == 100:
                    yield from twice(n, depth - 1)
                yield number

        number = "before"
        for number in range(0):
            pass
        print(number, search(1000, 700), search(1000, 2000), search(3, 2), early(1000), early(3))
        print(sum(twice(300)), [name for name in dir() if "stretch" in name or "hotloop" in name])
        for number in range(200):
            for inner in range(300):
                if inner > number:
                    break
            else:
                continue
        print(number, inner)
        """
    recording, completed = recorded(tmp_path, program)
    alone = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, check=True)
    assert completed.stdout == alone.stdout
    assert loop_at(recording, 2).steps == 701 + 1000 + 3
    assert loop_at(recording, 12).steps == 151 + 3
    assert loop_at(recording, 21).steps == 900
