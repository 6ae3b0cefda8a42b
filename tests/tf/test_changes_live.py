"""A real loop that slows down for good says so, with what it waits for; the epochs of a real `fit` are kept apart."""

from __future__ import annotations

from pathlib import Path

from hotloop.diagnose import diagnose
from hotloop.epochs import of_keras
from hotloop.record import record

PROGRAM = """\
import time

import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((64, 8)), np.ones(64), epochs=3, batch_size=8, verbose=0)


@tf.function
def step(x):
    return tf.reduce_sum(x)


def read():
    for index in range(320):
        time.sleep(0.02 if index >= 240 else 0.001)
        yield np.ones(4, "float32")


batches = tf.data.Dataset.from_generator(read, output_signature=tf.TensorSpec((4,), tf.float32))
for batch in batches:
    step(batch)
    time.sleep(0.003)
"""


def test_a_loop_whose_input_slows_down_and_the_epochs_of_a_fit_are_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    recording, completed = record(["train.py"], capture=True, cwd=tmp_path)
    assert completed.code == 0
    spent = recording.cpu.values
    assert 0 < spent[0] <= spent[-1]
    found = diagnose(recording, [])
    (slowed,) = [symptom for symptom in found.symptoms if symptom.loop.line == 24]
    assert slowed.kind == "slowed"
    assert 0.01 < slowed.size < 0.1
    assert "instead of" in slowed.message
    assert slowed.message.endswith("more waiting for input")
    (fit,) = [run for run in recording.loops if run.kind == "fit"]
    (ended,) = recording.of_kind("epoch.end")
    (begun,) = recording.of_kind("epoch")
    assert begun.times[-1] < ended.last <= fit.clock.values[-1] + fit.step_seconds.values[-1] + 1e-3
    epochs = of_keras(fit, recording)
    assert epochs is not None
    assert epochs.each.at == (0.0, 8.0, 16.0)
