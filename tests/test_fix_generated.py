"""Some hundred generated programs, run before and after their fixes; `bench/fixes.py` runs thousands.

They run with a stand-in for TensorFlow (`tools/stand_in.py`), which captures what is free in a function as traces do.
"""

from __future__ import annotations

import sys

import pytest
import stand_in
from generated import program
from trying import printed, tried
from unharmed import harm

PROGRAMS, CHUNK = 300, 50


@pytest.fixture(autouse=True)
def in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", stand_in)


@pytest.mark.parametrize("start", range(0, PROGRAMS, CHUNK))
def test_a_mended_program_parses_settles_and_prints_the_same(start: int) -> None:
    outcomes = [tried(number) for number in range(start, start + CHUNK)]
    assert [(outcome.number, outcome.wrong) for outcome in outcomes if outcome.wrong] == []
    assert sum(bool(outcome.fixes) for outcome in outcomes) >= CHUNK // 5
    assert any(outcome.refused for outcome in outcomes)


def test_generated_programs_are_of_every_shape() -> None:
    texts = [program(number) for number in range(PROGRAMS)]
    shapes = ("\r\n", "\t", "\f", "async def", "match ", ":=", "yield", "class ", "try:", "while ", "größer")
    assert [shape for shape in shapes if not any(shape in text for text in texts)] == []
    assert len(set(texts)) > 0.9 * PROGRAMS


# -- that these tests can fail -----------------------------------------------------------------------------------------

CAPTURES = b"import tensorflow as tf\nfor i in range(3):\n    print(tf.function(lambda v: v * i)(tf.constant(1.0)))\n"


def test_a_function_made_once_goes_on_with_the_old_value() -> None:
    once = CAPTURES.replace(b"for", b"i = 0\nf = tf.function(lambda v: v * i)\nfor").replace(
        b"tf.function(lambda v: v * i)(tf", b"f(tf"
    )
    assert printed(CAPTURES) == "0.0\n1.0\n2.0\n"
    assert printed(once) == "0.0\n0.0\n0.0\n"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("a = 1\r\nif b:\r\n    c = 2  # why\r\n  d = 3\r\n", "not Python any more"),
        ("a = 1\r\nif b:\r\n    c = 2\r\n", "comments are lost: # why"),
        ("a = 1\nif b:\r\n    c = 2  # why\r\n", "two kinds"),
        ("'''\r\na = 1\r\n'''\r\nif b:\r\n    c = 2  # why\r\n", "line 1 stayed and is another statement"),
    ],
)
def test_harm_is_seen(after: str, said: str) -> None:
    before = b"a = 1\r\nif b:\r\n    c = 2  # why\r\n"
    assert list(harm(before, before)) == []
    assert any(said in sentence for sentence in harm(before, after.encode()))
