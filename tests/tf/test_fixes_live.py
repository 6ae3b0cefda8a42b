"""Mended programs really run, and print the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hotloop.mending import mend
from hotloop.rules import find_rule

HEAD = """
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)
x = tf.random.stateless_normal([64, 4], seed=(1, 2))
data = tf.data.Dataset.from_tensor_slices(x).batch(8)
"""

PROGRAMS = {
    "a step in a function that runs once per epoch": (
        "eager-training-step",
        """
seen = []

def run_epoch(model, batches):
    state = tf.zeros([1])
    for x in batches:
        x = x / 2.0
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
            state = state * 0.9 + loss
        grads = tape.gradient(loss, model.trainable_variables)
        seen.append(float(loss))
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss, state

for epoch in range(10):
    loss, state = run_epoch(net, data)
print(f"{float(loss):.5f} {float(state[0]):.5f} {sum(seen):.4f}")
""",
    ),
    "a counter among floats, and a function in a comprehension": (
        "python-number-argument, function-in-loop",
        """
@tf.function
def scale(x, i):
    return x * i + tf.cast(i, tf.float32)

total = 0.0
for i in range(20):
    total += float(tf.reduce_sum(scale(x, i)))
outs = [tf.function(lambda v: v * 2)(x) for _ in range(20)]
print(f"{total:.3f} {float(outs[-1][0][0]):.5f}")
""",
    ),
    "a pipeline out of order, outputs that are kept, and a tape around a loop": (
        "python-in-pipeline, map-before-batch, pipeline-order, tensors-kept, wide-tape",
        """
import numpy as np

rows = np.arange(400).reshape(100, 4)
labels = (np.arange(100) % 3).astype(np.int64)

def examples():
    for row, label in zip(rows, labels):
        yield row, label

def scale(row, label):
    return tf.cast(row, tf.float32) / 255.0, tf.one_hot(label, 3)

kinds = (tf.TensorSpec([4], tf.float32), tf.TensorSpec([], tf.int64))
shuffled = tf.data.Dataset.from_generator(examples, output_signature=kinds).shuffle(50, seed=3)
shuffled = shuffled.map(scale).batch(8)
repeated = tf.data.Dataset.from_tensor_slices(x).map(lambda row: row * 2).repeat(3).cache().batch(7)

classes = 0
outputs = []
for batch, hot in shuffled:
    outputs.append(net(batch))
    classes += float(tf.reduce_sum(hot[:, 1]))
means = [float(tf.reduce_mean(output)) for output in outputs]

w = tf.Variable(1.0)
with tf.GradientTape(persistent=True) as tape:
    for batch in repeated:
        loss = tf.reduce_mean(w * batch)
        w.assign_sub(0.1 * tape.gradient(loss, w))
print(" ".join(f"{mean:.5f}" for mean in means), classes, f"{float(w):.5f}")
""",
    ),
    "rows, examples and parts that come one at a time": (
        "growing-concat, row-by-row, unrolled-loop, example-loop-in-step, python-object-argument, predict-in-loop",
        """
import numpy as np

labels = tf.reduce_sum(x, axis=1, keepdims=True)
mse = tf.keras.losses.MeanSquaredError()

@tf.function
def swing(state, damp):
    return damp(state), tf.reduce_sum(state)

@tf.function
def summed(v):
    total = tf.zeros([4])
    for t in range(64):
        total += v[t] * 0.5
    return total

@tf.function
def spread(v):
    return tf.map_fn(lambda row: tf.reduce_max(row) - tf.reduce_min(row) + tf.reduce_mean(row * row), v)

@tf.function
def loss_of(v, y):
    loss = 0.0
    for i in range(64):
        loss += mse(y[i : i + 1], net(v[i : i + 1])) / 64
    return loss

found, largest = None, np.array([])
state = tf.ones([2])
for batch in data:
    y = net(batch)
    if found is None:
        found = y
    else:
        found = tf.concat([found, y], 0)
    largest = np.append(largest, y.numpy().max())
    state, total = swing(state, lambda s: s * 0.99)
rows = np.asarray(x[:20])
means = []
for i, row in enumerate(rows):
    means.append(float(net.predict(row[None], verbose=0).mean()))
print(found.shape, f"{float(tf.reduce_sum(found)):.4f} {largest.sum():.4f} {float(total):.3f} {sum(means):.4f}")
print(f"{float(tf.reduce_sum(spread(x))):.4f} {float(loss_of(x, labels)):.4f} {float(summed(x)[0]):.4f}")
""",
    ),
    "models that are built, compiled and fitted in a loop": (
        "compile-in-loop, fit-in-loop, model-built-in-loop",
        """
import numpy as np

rows = np.asarray(x)
sums = rows.sum(axis=1, keepdims=True)

def last(batch):
    metric = tf.keras.metrics.MeanSquaredError()
    metric.update_state(sums[:8], net(batch))
    return float(metric.result())

for step in range(8):
    net.compile(optimizer=tf.keras.optimizers.SGD(0.1 / (step + 1)), loss="mse", metrics=["mae"])
    history = net.fit(rows[step : step + 1], sums[step : step + 1], epochs=1, verbose=0)
    loss, error = net.evaluate(rows[step : step + 1], sums[step : step + 1], verbose=0)
    print(f"{history.history['loss'][0]:.4f} {loss:.4f} {error:.4f} {last(rows[:8]):.4f}")
""",
    ),
    "sessions that are kept, and fetches one by one": (
        "session-kept-open, fetch-per-step",
        """
import tensorflow.compat.v1 as v1

with tf.Graph().as_default():
    v = v1.placeholder(tf.float32, [None, 4])
    total, largest = v1.reduce_sum(v * 2), v1.reduce_max(v)
    kept = []
    for i in range(12):
        sess = v1.Session()
        kept.append(sess)
        a = sess.run(total, {v: [[i, 2, 3, 4]]})
        b = sess.run(largest, {v: [[i, 2, 3, 4]]})
        print(a, b)
""",
    ),
}


def answer(source: bytes, folder: Path) -> str:
    (folder / "program.py").write_bytes(source)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("title", PROGRAMS, ids=list(PROGRAMS))
def test_a_mended_program_prints_the_same(title: str, tmp_path: Path) -> None:
    names, body = PROGRAMS[title]
    before = (HEAD + body).encode()
    result = mend({"program.py": before}, [find_rule(name) for name in names.split(", ")])
    assert {finding.rule for finding, _ in result.done} == set(names.split(", "))
    assert result.refusals == []
    assert answer(result.contents["program.py"], tmp_path) == answer(before, tmp_path)
