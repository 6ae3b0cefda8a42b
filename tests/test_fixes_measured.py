"""Fixes of what only a run has shown: a line is all that such a finding knows."""

from __future__ import annotations

import pytest

from hotloop.model import Finding, Fix, Place, Refusal
from hotloop.rules import find_rule
from hotloop.source import project_of
from hotloop.source.rewrite import apply_edits

# Functions of another package: what they do cannot be read, but a run can time them.
PIPELINE = """import numpy as np
import tensorflow as tf
from elsewhere import load, scale

table = np.zeros((9, 9), np.float32)
dataset = (
    tf.data.Dataset.from_tensor_slices(paths)
    .map(load)
    .shuffle(100)
    .map(scale).map(scale)
    .repeat()
    .cache()
)


@tf.function
def near(word):
    return tf.matmul(word, table)
"""


def answer(rule: str, line: int) -> Fix | Refusal:
    found = Finding(rule, Place("program.py", line), "", "measured", "medium")
    make = find_rule(rule).fix
    assert make is not None
    return make(found, project_of({"program.py": PIPELINE.encode()}))


@pytest.mark.parametrize(
    ("rule", "line", "was", "becomes"),
    [
        ("serial-map", 8, ".map(load)", ".map(load, num_parallel_calls=tf.data.AUTOTUNE)"),
        ("no-cache", 8, ".map(load)", ".map(load)\n    .cache()"),
        ("shuffle-buffer", 9, ".map(load)\n    .shuffle(100)", ".shuffle(100)\n    .map(load)"),
        ("array-in-graph", 18, "(word, table)", "(word, table_tensor)"),
    ],
)
def test_a_stage_or_array_is_found_by_its_line(rule: str, line: int, was: str, becomes: str) -> None:
    fix = answer(rule, line)
    assert isinstance(fix, Fix)
    after = apply_edits(PIPELINE.encode(), fix.edits).decode()
    expected = PIPELINE.replace(was, becomes)
    if rule == "array-in-graph":
        made = "table = np.zeros((9, 9), np.float32)\n"
        expected = expected.replace(made, made + "table_tensor = tf.constant(table)\n")
    assert after == expected


@pytest.mark.parametrize(("rule", "line"), [("serial-map", 10), ("run-eagerly", 3), ("wide-tape", 3)])
def test_a_line_that_does_not_tell_which_code_it_is_is_left_alone(rule: str, line: int) -> None:
    refusal = answer(rule, line)
    assert isinstance(refusal, Refusal)
    assert "source does not tell which code" in refusal.reason
