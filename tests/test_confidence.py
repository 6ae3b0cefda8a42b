"""How sure `check` is, where public programs showed that it was too sure or not sure enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotloop.cli import main

STEP = """
import tensorflow as tf

optimizer = tf.keras.optimizers.SGD()
weights = [tf.Variable(1.0)]

{decorator}
def net(x):
    return x * weights[0]

def train(dataset):
    for x in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(net(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""

AGENT = """
import numpy as np
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(2)])

def act(state):
    return model.predict(state)

def play(env):
    state = env.reset()
    for time in range(500):
        next_state, done = env.step(act(state))
        next_state = {row}
        state = next_state
"""


def sure_of(rule: str, source: str, tmp_path: Path) -> list[str]:
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    output = tmp_path / "report.json"
    main(["check", str(tmp_path / "program.py"), "--format", "json", "--output", str(output)])
    report = json.loads(output.read_text(encoding="utf-8"))
    assert report["problems"] == []
    return [finding["confidence"] for finding in report["findings"] if finding["rule"] == rule]


@pytest.mark.parametrize(("decorator", "sure"), [("", "high"), ("@tf.function", "medium")])
def test_a_step_whose_model_is_compiled_is_only_partly_eager(decorator: str, sure: str, tmp_path: Path) -> None:
    assert sure_of("eager-training-step", STEP.format(decorator=decorator), tmp_path) == [sure]


@pytest.mark.parametrize(("row", "sure"), [("np.reshape(next_state, [1, 4])", "high"), ("next_state * 2", "medium")])
def test_one_row_is_known_where_the_caller_makes_it(row: str, sure: str, tmp_path: Path) -> None:
    assert sure_of("predict-in-loop", AGENT.format(row=row), tmp_path) == [sure]


@pytest.mark.parametrize(("loop", "sure"), [("found in minibatch", "high"), ("found in spectra(batch=32)", "medium")])
def test_a_batch_size_that_a_generator_is_told_says_nothing_of_single_rows(
    loop: str, sure: str, tmp_path: Path
) -> None:
    source = (
        f"from tensorflow import keras\nmodel = keras.models.load_model('m')\nfor {loop}:\n    model.predict(found)\n"
    )
    assert sure_of("predict-in-loop", source, tmp_path) == [sure]
