"""What counts as a proof, where it is memory that a change saves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hotloop.model import Trial
from hotloop.proving import is_smaller

TRIAL = Trial(
    before="before",
    after="all fixes",
    verdict="inconclusive",
    same_results=True,
    speedup=1.0,
    interval=(0.9, 1.1),
    before_seconds=2.0,
    after_seconds=2.0,
    runs=3,
    before_bytes=900e6,
    after_bytes=600e6,
)


def test_less_memory_at_the_same_speed_with_the_same_results_is_proof() -> None:
    assert is_smaller(TRIAL)
    assert is_smaller(replace(TRIAL, verdict="same"))


@pytest.mark.parametrize(
    "change",
    [
        {"same_results": None},
        {"same_results": False, "verdict": "different-results"},
        {"after_bytes": 895e6},
        {"after_bytes": None},
        {"speedup": 0.8, "verdict": "slower"},
        {"speedup": 0.9},
    ],
    ids=lambda change: ", ".join(change),
)
def test_anything_else_is_not(change: dict[str, object]) -> None:
    assert not is_smaller(replace(TRIAL, **change))  # type: ignore[arg-type]
