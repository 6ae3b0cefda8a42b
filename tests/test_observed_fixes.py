"""Fixes that are made from what a run has shown: without one there is nothing to go by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hotloop.check import offered
from hotloop.model import Finding, Fix, Place, Recording, Refusal
from hotloop.rules import Rule, find_rule
from hotloop.rules.specimens import plain, specimen
from hotloop.source import project_of
from hotloop.source.rewrite import apply_edits

SHAPES = find_rule("shape-retrace")
TENSOR = {"name": "x", "dtype": "float32", "shapes": [[8, 3], [5, 3], [7, 3]]}


def measured(rule: Rule) -> Finding:
    assert rule.diagnose is not None
    (finding,) = rule.diagnose(Recording.load(rule.folder / "slow.json.gz"))
    return finding


def answer(source: str, *arguments: dict[str, Any], function: str = "total") -> Fix | Refusal:
    observed = {"function": function, "defined": "program.py:2", "arguments": list(arguments)}
    finding = Finding(SHAPES.name, Place("program.py", 1), "", "measured", "high", observed=observed)
    assert SHAPES.fix is not None
    return SHAPES.fix(finding, project_of({"program.py": source.encode()}))


def becomes(source: str, *arguments: dict[str, Any]) -> str:
    fix = answer(source, *arguments)
    assert isinstance(fix, Fix)
    return apply_edits(source.encode(), fix.edits).decode()


def refused(source: str, *arguments: dict[str, Any], function: str = "total") -> str:
    refusal = answer(source, *arguments, function=function)
    assert isinstance(refusal, Refusal)
    return refusal.reason


def test_the_shapes_of_a_run_become_a_signature() -> None:
    slow, fast = plain(specimen(SHAPES, "slow"))["slow.py"], plain(specimen(SHAPES, "fast"))["fast.py"]
    assert SHAPES.fix is not None
    fix = SHAPES.fix(measured(SHAPES), project_of({"slow.py": slow}))
    assert isinstance(fix, Fix)
    assert apply_edits(slow, fix.edits).decode() == fast.decode()


def test_without_a_run_there_are_no_shapes_to_go_by() -> None:
    assert SHAPES.fix is not None
    slow = plain(specimen(SHAPES, "slow"))
    refusal = SHAPES.fix(replace(measured(SHAPES), observed={}), project_of(slow))
    assert isinstance(refusal, Refusal)
    assert "only a run shows which shapes change" in refusal.reason


DECORATED = "import tensorflow as tf\n@tf.function\ndef total(x):\n    return tf.reduce_sum(x)\ntotal(x)\n"


def test_what_stayed_the_same_stays_in_the_signature() -> None:
    after = becomes(DECORATED, TENSOR)
    assert "@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])\n" in after


def test_a_rank_that_varies_has_no_signature() -> None:
    assert "@tf.function(reduce_retracing=True)\n" in becomes(DECORATED, {**TENSOR, "shapes": [[8, 3], [5]]})


def test_a_function_with_other_callers_has_no_signature() -> None:
    assert "@tf.function(reduce_retracing=True)\n" in becomes(DECORATED + "total(y)\n", TENSOR)


def test_arguments_that_are_not_all_tensors_have_no_signature() -> None:
    assert "@tf.function(reduce_retracing=True)\n" in becomes(DECORATED)


def test_a_keyword_joins_those_that_are_there() -> None:
    made = "import tensorflow as tf\ndef total(x):\n    return x\nf = tf.function(total, autograph=False)\n"
    assert "f = tf.function(total, autograph=False, reduce_retracing=True)\n" in becomes(made)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("input_signature=[spec]", "has a signature already"),
        ("reduce_retracing=True", "told to retrace less already"),
        ("jit_compile=True", "pad to a few shapes"),
    ],
)
def test_a_function_that_is_told_already_is_left_alone(given: str, reason: str) -> None:
    assert reason in refused(DECORATED.replace("@tf.function", f"@tf.function({given})"), TENSOR)


def test_a_function_that_is_not_there_any_more_is_left_alone() -> None:
    assert "is not what ran" in refused(DECORATED, TENSOR, function="sum")


def test_what_only_a_run_shows_is_offered_with_its_fix_where_the_source_is_in_sight() -> None:
    slow = plain(specimen(SHAPES, "slow"))
    (found,), problems = offered([measured(SHAPES)], project_of(slow))
    assert isinstance(found.fix, Fix)
    (unseen,), more = offered([measured(SHAPES)], project_of({"other.py": b""}))
    assert unseen.fix is None
    assert problems == more == []


CALLBACK = """\
class Watching(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        pred = {call}
"""


@pytest.mark.parametrize(
    ("rule", "call", "after"),
    [
        ("predict-in-loop", "self.model.predict(self.x, verbose=0)", "self.model.predict_on_batch(self.x)"),
        ("fit-in-loop", "self.model.evaluate(self.x, self.y)", "self.model.test_on_batch(self.x, self.y)"),
        ("predict-in-loop", "self.model.predict(self.x) + self.other.predict(self.x)", ""),
    ],
)
def test_the_only_such_call_on_a_line_that_a_run_shows_is_the_one_to_mend(rule: str, call: str, after: str) -> None:
    source = ("import keras\n" + CALLBACK.format(call=call)).encode()
    finding = Finding(rule, Place("program.py", 4), "", "measured", "high")
    fix = find_rule(rule).fix(finding, project_of({"program.py": source}))  # type: ignore[misc]
    if after:
        assert isinstance(fix, Fix)
        assert apply_edits(source, fix.edits).decode() == "import keras\n" + CALLBACK.format(call=after)
    else:
        assert isinstance(fix, Refusal)
        assert "which code on this line does it" in fix.reason
