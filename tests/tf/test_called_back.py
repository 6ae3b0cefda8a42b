"""What a program does in the loops of Keras, makes of data sets and keeps in its objects: with real TensorFlow."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hotloop.diagnose import diagnose
from hotloop.model import Recording
from hotloop.record import record
from hotloop.rules import all_rules

PROGRAM = """\
    import numpy as np
    import tensorflow as tf

    class Watching(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.predict(tf.ones([1, 2]), verbose=0)

    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((tf.ones([32, 2]), tf.ones([32, 1]))).batch(2)
    model.fit(data, epochs=2, callbacks=[Watching()], verbose=0)

    class History:
        def __init__(self):
            self.seen = {}

        def add(self, step, x):
            self.seen[step] = x

    class Runner:
        def __init__(self):
            self.history = History()

        def run(self, steps):
            for step in range(steps):
                x = tf.random.normal([500, 500])
                self.history.add(step, x)

    layer = tf.function(lambda x: tf.matmul(x, x))
    for step in range(10):
        doubles = np.ones((300, 300))
        layer(tf.matmul(doubles, doubles))
        tf.matmul(tf.constant(doubles, tf.float64), tf.constant(doubles.astype("float32"), tf.float64))
        tf.matmul(doubles.astype("float32"), tf.ones([300, 300]))
    runner = Runner()
    runner.run(300)
    for epoch in range(10):
        data = data.map(lambda x, y: (x, y))
        for batch in data:
            pass
    """


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder: Path = tmp_path_factory.mktemp("programs")
    (folder / "called_back.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    return record(["called_back.py"], capture=True, cwd=folder)[0]


def test_what_a_callback_repeats_is_named_in_the_loop_of_its_fit(recording: Recording) -> None:
    (fit,) = [run for run in recording.loops if run.kind == "fit"]
    (finding,) = [f for f in diagnose(recording, all_rules()).findings if f.rule == "predict-in-loop"]
    assert (finding.place.line, finding.loop) == (6, fit.place)
    assert [event.count for event in recording.of_kind("predict")] == [fit.steps] == [32]


def test_an_iterator_tells_through_how_many_stages_its_elements_go(recording: Recording) -> None:
    (iterators,) = [event for event in recording.of_kind("iterator") if event.place.line == 39]
    assert [example["stages"] for example in iterators.examples] == [3, 4, 5, 6, 9, 10, 11, 12]


def test_tensors_that_hang_on_an_object_are_named_with_the_line_that_keeps_them(recording: Recording) -> None:
    (finding,) = [f for f in diagnose(recording, all_rules()).findings if f.rule == "tensors-kept"]
    assert finding.message.startswith("`self.history.seen` held ")
    assert finding.place.line == 18
    assert finding.loop
    assert finding.loop.line == 25


def test_doubles_of_numpy_and_what_multiplies_them_are_seen_at_their_lines(recording: Recording) -> None:
    def seen(kind: str) -> dict[int, int]:
        return {event.place.line: event.count for event in recording.of_kind(kind)}

    assert seen("doubles.array") == {32: 10}
    assert set(seen("doubles.multiplied")) <= {32, 33}
    assert seen("doubles.multiplied")[32] > 0
    (traced,) = [event for event in recording.events if event.kind == "trace.first" and event.subject == "<lambda>"]
    assert traced.totals["doubles.multiplied"] == 1
