"""TensorFlow 2.15 with Keras 2: what is recorded there is the same, and what cannot be seen is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from older import older_python

from hotloop.diagnose import diagnose
from hotloop.model import Event, Recording
from hotloop.record import Limit, record
from hotloop.rules import Rule, all_rules
from hotloop.rules.specimens import program, specimen, write

pytestmark = pytest.mark.xdist_group("older")  # one process makes the environment

EVERYTHING = """\
import numpy as np
import tensorflow as tf

class Mine(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
    def call(self, x):
        return self.dense(x)

model = Mine()
model.compile("sgd", "mse")
x = np.ones((96, 8), "float32")
y = x.sum(1)
model.fit(x, y, epochs=2, batch_size=16, verbose=0, validation_split=0.25)
found = [model.predict(row[None], verbose=0)[0, 0] for row in x[:10]]
model.evaluate(x, y, verbose=0)
plain = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
plain.save("plain.keras")
plain.save("plain.h5")
for i in range(2):
    tf.keras.models.load_model("plain.keras")
    tf.keras.models.load_model("plain.h5", compile=False)
w = tf.Variable(tf.random.normal([8, 1]))
optimizer = tf.keras.optimizers.SGD(0.01)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
for epoch in range(2):
    for xb, yb in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((xb @ w - yb) ** 2)
        gradients = tape.gradient(loss, [w])
        optimizer.apply_gradients(zip(gradients, [w]))
@tf.function
def step(x, lr):
    return tf.reduce_sum(x * lr)
for i in range(10):
    step(xb, i * 0.5)
for n in range(1, 6):
    step(tf.ones([n]), tf.constant(0.1))
with tf.Graph().as_default():
    p = tf.compat.v1.placeholder(tf.float32, [4])
    out = p * 2.0
    for i in range(3):
        with tf.compat.v1.Session() as session:
            session.run(out, {p: np.ones(4)})
print(len(found), flush=True)
for i in range(10 ** 9):
    step(xb, tf.constant(0.1))
"""
NAMES = ("compile-in-loop", "example-loop-in-step", "predict-in-loop", "python-in-pipeline", "session-in-loop")


def one(recording: Recording, kind: str, line: int) -> Event:
    (found,) = [event for event in recording.of_kind(kind) if event.place.line == line]
    return found


def test_what_happens_in_tensorflow_2_15_is_counted_as_in_the_newest(tmp_path: Path) -> None:
    (tmp_path / "everything.py").write_text(EVERYTHING, encoding="utf-8")
    command = ["--", str(older_python()), "everything.py"]
    recording, done = record(command, cwd=tmp_path, capture=True, limit=Limit(steps=1000, grace=60.0))
    assert done.stdout == b"10\n", done.stderr
    assert recording.meta["stopped"] == "after 1,000 steps of the loop at everything.py:47, as asked"
    assert recording.meta["tensorflow"].startswith("2.15")
    assert recording.meta["keras"].startswith("2.15")
    (unseen,) = recording.meta["unseen"]
    assert "what each stage of an input pipeline takes" in unseen
    fit, predict = one(recording, "fit", 15), one(recording, "predict", 16)
    assert (fit.totals["rows"], fit.totals["batches"], fit.examples[0]["batch_size"]) == (96, 10, 16)
    assert (predict.count, predict.totals["rows"], predict.totals["batches"]) == (10, 10, 10)
    assert one(recording, "evaluate", 17).totals["batches"] == 3
    assert one(recording, "compile", 12).count == 1
    built = {(event.place.line, event.subject): event.count for event in recording.of_kind("built")}
    assert (built[11, "Mine"], built[18, "Dense"], built[18, "Sequential"]) == (1, 1, 1)
    assert one(recording, "load", 22).count == one(recording, "load", 23).count == 2
    assert one(recording, "gradient", 31).count == one(recording, "apply", 32).count == 24
    values = one(recording, "trace.value", 37)
    assert (values.count, values.examples[0]["argument"], values.examples[0]["now"]) == (9, "lr", "0.5")
    assert one(recording, "trace.shape", 39).count == 4
    assert one(recording, "session", 44).count == one(recording, "session.cold", 45).count == 3
    steps = {(run.place.line, run.kind): (run.runs, run.steps) for run in recording.loops}
    assert steps[15, "fit"] == (1, 10)
    assert steps[16, "predict"] == (10, 10)
    assert steps[28, "for"] == (2, 24)
    phases = {sample.phase for sample in recording.samples}
    assert phases >= {"trace", "compute", "setup", "library"}  # its own Python is too short to be sure of a sample


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.name in NAMES], ids=lambda rule: rule.name)
def test_the_same_is_wrong_with_a_program_under_tensorflow_2_15(rule: Rule, tmp_path: Path) -> None:
    write(specimen(rule, "slow"), tmp_path)
    recording, done = record(["--", str(older_python()), program(rule, "slow")], cwd=tmp_path, capture=True, seed=0)
    assert done.code == 0, done.stderr
    assert [finding.rule for finding in diagnose(recording, all_rules()).findings][:1] == [rule.name]
