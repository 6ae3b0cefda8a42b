"""What a message of `check` says to do, where that depends on what the loop does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotloop.cli import main

COMPILED = """
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
weight = keras.Variable(1.0)

def set_trainable(net, value):
    net.trainable = value

def train(batches):
    for step, batch in enumerate(batches):
        {before}
        model.compile({arguments})
        model.train_on_batch(batch, batch)
"""


def said(rule: str, source: str, tmp_path: Path) -> str:
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    output = tmp_path / "report.json"
    main(["check", str(tmp_path / "program.py"), "--format", "json", "--output", str(output)])
    (message,) = (f["message"] for f in json.loads(output.read_text())["findings"] if f["rule"] == rule)
    assert isinstance(message, str)
    return message


@pytest.mark.parametrize(
    ("before", "arguments", "advice"),
    [
        ("pass", '"adam", "mse"', "Compile once, before the loop."),
        ("pass", 'keras.optimizers.Adam(0.1 / (step + 1)), "mse"', "change the learning rate in `model.optimizer`."),
        ("model.trainable = step % 2 == 0", '"adam", "mse"', "Instead of switching `trainable`"),
        ("set_trainable(model, True)", '"adam", "mse"', "Instead of switching `trainable`"),
        ("pass", '"adam", loss=lambda y, p: (y - p) ** 2 * step', "keep what changes in a `keras.Variable`."),
    ],
)
def test_what_to_do_instead_of_compiling_again_depends_on_what_the_step_changes(
    before: str, arguments: str, advice: str, tmp_path: Path
) -> None:
    message = said("compile-in-loop", COMPILED.format(before=before, arguments=arguments), tmp_path)
    assert advice in message


PLAYED = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()

def train(env, episodes):
    for episode in range(episodes):
        state = env.reset()
        with tf.GradientTape() as tape:
            loss, done = 0.0, False
            while not done:
                loss += tf.reduce_sum(model(state))
                {played}
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""


@pytest.mark.parametrize(
    ("played", "advice"),
    [
        ("state, done = world(state)", "Put the step into a `@tf.function`."),
        ("state, reward, done, _ = env.step(1)", "Put what it computes between two calls of `env.step` into"),
    ],
)
def test_what_to_compile_depends_on_whether_the_step_plays_a_game(played: str, advice: str, tmp_path: Path) -> None:
    assert advice in said("eager-training-step", PLAYED.format(played=played), tmp_path)
