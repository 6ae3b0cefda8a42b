"""`hotloop compare` on programs that use TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main

HEAD = """
import keras
import numpy as np

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])  # its weights are random, and so are the rows
rows = np.random.default_rng().random((20, 4)).astype("float32")
model.save("model.keras")
"""
ONE_BY_ONE = HEAD + "answers = [model.predict(row[None])[0] for row in rows]\nprint(np.sum(answers))\n"
AT_ONCE = HEAD + "answers = model.predict(rows)\nprint(np.sum(answers))\n"
SILENT = """
import tensorflow as tf

step = tf.Variable(0.0)
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
for i in range(20):
    step.assign_add(1.0)
    step.numpy()
model.fit(tf.ones([8, 2]), tf.fill([8, 1], {target}), verbose=0)
"""


def compared(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["compare", "before.py", "after.py", "--runs", "2", "--format", "json"])
    outcome: dict[str, Any] = json.loads(capsys.readouterr().out)["trials"][0]
    return outcome


def test_a_loop_of_predict_against_one_predict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before.py").write_text(ONE_BY_ONE)
    (tmp_path / "after.py").write_text(AT_ONCE)
    outcome = compared(capsys)
    assert outcome["same_results"] is True  # though `predict` printed twenty progress bars, and then one
    assert outcome["speedup"] > 2
    assert outcome["notes"][-1] == "1 file written, the same"
    assert outcome["sides"][0]["traces"] > 0
    assert outcome["before_bytes"] > 1e7


def test_a_silent_program_is_compared_by_the_values_that_left_tensorflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before.py").write_text(SILENT.format(target=1.0))
    (tmp_path / "after.py").write_text(SILENT.format(target=1.5))
    outcome = compared(capsys)
    assert (outcome["verdict"], outcome["same_results"]) == ("different-results", False)
    assert "value 21 of 21 that left TensorFlow differs" in " ".join(outcome["notes"])
