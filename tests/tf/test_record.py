"""Recording real TensorFlow: what happened is counted exactly, at the user's line, and the program is unharmed."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hotloop.diagnose import diagnose
from hotloop.model import Event, LoopRun, Recording
from hotloop.record import Completed, record
from hotloop.rules import all_rules

Made = tuple[Recording, Completed]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


def run(folder: Path, name: str, text: str, **options: bool | int) -> Made:
    (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return record([name], capture=True, cwd=folder, **options)  # type: ignore[arg-type]


def one(recording: Recording, kind: str, line: int, subject: str | None = None) -> Event:
    (found,) = [
        event
        for event in recording.of_kind(kind)
        if event.place.line == line and (subject is None or event.subject == subject)
    ]
    return found


def loop_at(recording: Recording, line: int, kind: str = "for") -> LoopRun:
    (found,) = [run for run in recording.loops if run.place.line == line and run.kind == kind]
    return found


def phases(recording: Recording) -> dict[str, float]:
    found: dict[str, float] = {}
    for sample in recording.samples:
        found[sample.phase] = found.get(sample.phase, 0.0) + sample.seconds
    return found


# -- sessions ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sessions(folder: Path) -> Made:
    return run(
        folder,
        "sessions.py",
        """\
        import numpy as np
        import tensorflow.compat.v1 as tf
        tf.disable_v2_behavior()

        def classify(x):
            with tf.Graph().as_default():
                p = tf.placeholder(tf.float32, [4])
                y = tf.reduce_sum(p * 2.0)
                with tf.Session() as session:
                    return session.run(y, {p: x})

        total = 0.0
        for i in range(12):
            total += classify(np.full(4, i))

        p = tf.placeholder(tf.float32, [4])
        y = p * 3.0
        session = tf.Session()
        for i in range(15):
            session.run(y, {p: np.ones(4)})
        for i in range(8):
            total += session.run(tf.reduce_sum(y), {p: np.ones(4)})
        frozen = tf.get_default_graph().as_graph_def()
        for i in range(3):
            tf.import_graph_def(frozen, name="again")
        print(total)
        """,
    )


def test_sessions_graphs_and_their_operations_are_counted_at_the_users_line(sessions: Made) -> None:
    recording, completed = sessions
    assert completed.stdout == b"624.0\n"
    assert not recording.meta["unseen"]
    assert one(recording, "graph", 6).count == 12
    assert [str(place) for place in one(recording, "session", 9).stack] == ["sessions.py:9", "sessions.py:14"]
    assert one(recording, "session", 9).count == one(recording, "session.close", 9).count == 12
    assert one(recording, "session", 18).count == 1
    assert one(recording, "ops", 7).count == 12
    assert one(recording, "ops", 8).count == 12 * 4
    assert one(recording, "import", 25).count == 3
    assert one(recording, "import", 25).totals["ops"] == 3 * 19


def test_a_run_is_cold_when_the_session_is_new_or_its_graph_grew(sessions: Made) -> None:
    recording, _ = sessions
    assert one(recording, "session.cold", 10).count == 12
    assert one(recording, "session.cold", 20).count == 1
    warm = one(recording, "session.run", 20)
    assert (warm.count, warm.totals.get("grown", 0)) == (14, 0)
    grown = one(recording, "session.cold", 22)
    assert (grown.count, grown.totals["grown"], grown.examples[-1]["graph_ops"]) == (8, 16, 3 + 16)
    assert not [event for event in recording.of_kind("session.run") if event.place.line == 22]


def test_runs_that_are_all_alike_are_counted_without_a_look_at_each(folder: Path) -> None:
    recording, completed = run(
        folder,
        "steady.py",
        """\
        import time
        import numpy as np
        import tensorflow.compat.v1 as tf
        tf.disable_v2_behavior()
        p = tf.placeholder(tf.float32, [None, 300])
        y = tf.reduce_sum(p * 3.0)
        z = tf.reduce_max(p)
        session = tf.Session()
        rows = np.ones((200, 300), "float32")
        started = time.perf_counter()
        for i in range(3001):
            session.run([y], {p: rows})
        print(time.perf_counter() - started)
        for i in range(5):
            session.run([z], {p: rows})
        for i in range(4):
            session.run([y + i], {p: rows})
        """,
    )
    assert not recording.meta["unseen"]
    steady = one(recording, "session.run", 12)
    assert one(recording, "session.cold", 12).count + steady.count == 3001
    assert 0.5 < steady.seconds / float(completed.stdout) < 1.5
    assert len(steady.times) >= 32
    assert (one(recording, "session.cold", 15).count, one(recording, "session.run", 15).count) == (1, 4)
    assert one(recording, "session.cold", 17).count == 4


def test_the_time_of_tensorflows_import_is_set_apart(sessions: Made) -> None:
    recording, _ = sessions
    assert recording.meta["import_seconds"] > 0.5 * recording.meta["seconds"]
    assert recording.seconds == pytest.approx(sum(phases(recording).values()), rel=0.3)
    assert phases(recording)["setup"] > 0.1 * recording.seconds  # some thirty samples in all
    assert recording.meta["tensorflow"].startswith("2.")


# -- compiled functions ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def functions(folder: Path) -> Made:
    return run(
        folder,
        "functions.py",
        """\
        import tensorflow as tf

        @tf.function
        def step(x, lr):
            return tf.reduce_sum(x * lr)

        class Model:
            def __init__(self):
                self.v = None

            @tf.function
            def call(self, x):
                if self.v is None:
                    self.v = tf.Variable(1.0)
                return x * self.v

        x = tf.ones([4])
        for i in range(10):
            step(x, i * 0.5)
        for n in range(1, 6):
            step(tf.ones([n]), tf.constant(0.1))
        step(tf.ones([5], tf.float64), tf.constant(0.1, tf.float64))
        for i in range(6):
            g = tf.function(lambda a: a + 1)
            g(x)
        for i in range(4):
            model = Model()
            model.call(x)
        for i in range(20):
            model.call(x)
        """,
    )


def test_a_retrace_names_the_argument_and_its_values(functions: Made) -> None:
    recording, _ = functions
    assert not recording.meta["unseen"]
    assert one(recording, "trace.first", 19).count == 1
    values = one(recording, "trace.value", 19)
    assert (values.subject, values.count) == ("step", 9)
    first, last = values.examples[0], values.examples[-1]
    assert (first["argument"], first["now"], first["before"]) == ("lr", "0.5", "0.0")
    assert (last["now"], last["before"]) == ("4.5", "4.0")
    assert (first["defined"], first["created"], first["user_defined"]) == ("functions.py:3", "functions.py:3", True)
    assert values.totals["ops"] == 9 * 6
    assert values.seconds == pytest.approx(values.totals["trace_seconds"] + values.totals["first_run_seconds"])
    shapes = one(recording, "trace.shape", 21)
    assert (shapes.count, shapes.examples[0]["argument"], shapes.examples[-1]["now"]) == (4, "x", "(5,)")
    assert one(recording, "trace.structure", 21).count == 1
    assert one(recording, "trace.dtype", 22).count == 1


def test_a_function_made_anew_is_told_from_one_that_retraces(functions: Made) -> None:
    recording, _ = functions
    assert one(recording, "function", 24).count == 6
    assert one(recording, "trace.first", 25).count == 1
    anew = one(recording, "trace.new-function", 25)
    assert (anew.count, anew.examples[0]["created"]) == (5, "functions.py:24")


def test_variables_made_on_the_first_call_do_not_count_as_a_second_trace(functions: Made) -> None:
    recording, _ = functions
    assert one(recording, "trace.first", 28, "call").count == 1
    assert one(recording, "trace.new-function", 28, "call").count == 3
    assert not [event for event in recording.events if event.kind.startswith("trace") and event.place.line == 30]
    assert sum(event.count for event in recording.of_kind("call") if event.subject == "call") == 24


def test_tracing_shows_as_tracing(functions: Made) -> None:
    recording, _ = functions
    assert phases(recording)["trace"] > 0.5 * recording.seconds


# -- Keras -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keras(folder: Path) -> Made:
    return run(
        folder,
        "trains.py",
        """\
        import keras
        import numpy as np

        class Mine(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(1)
            def call(self, x):
                return self.dense(x)

        model = Mine()
        model.compile("sgd", "mse")
        x = np.ones((96, 8), "float32")
        y = x.sum(1)
        model.fit(x, y, epochs=2, batch_size=16, verbose=0, validation_split=0.25)
        found = [model.predict(row[None], verbose=0)[0, 0] for row in x[:10]]
        model.evaluate(x, y, verbose=0)
        plain = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
        plain.save("plain.keras")
        for i in range(2):
            keras.models.load_model("plain.keras")
        print(len(found))
        """,
        observe=True,
        seed=0,
    )


def test_keras_loops_are_counted_in_batches_and_rows(keras: Made) -> None:
    recording, completed = keras
    assert completed.stdout == b"10\n"
    assert not recording.meta["unseen"]
    fit = one(recording, "fit", 15)
    assert (fit.count, fit.totals["rows"], fit.totals["batches"], fit.examples[0]["batch_size"]) == (1, 96, 10, 16)
    predict = one(recording, "predict", 16)
    assert (predict.count, predict.totals["rows"], predict.totals["batches"]) == (10, 10, 10)
    assert not list(recording.of_kind("option"))  # Keras sets some on its own pipelines: no doing of the program's
    assert one(recording, "evaluate", 17).totals["batches"] == 3
    assert [event.place.line for event in recording.of_kind("evaluate")] == [17], "validation belongs to its fit"
    assert fit.totals["trace_seconds"] > 0


def test_keras_loops_are_loops_with_a_step_per_batch(keras: Made) -> None:
    recording, _ = keras
    fit, predict = loop_at(recording, 15, "fit"), loop_at(recording, 16, "predict")
    assert (fit.runs, fit.steps, len(fit.step_seconds.values)) == (1, 10, 10)
    epochs = one(recording, "epoch", 15)
    assert epochs.count == len(epochs.times) == 2
    assert epochs.times[0] <= fit.clock.values[0] < epochs.times[1] <= fit.clock.values[5]
    assert (predict.runs, predict.steps) == (10, 10)
    assert [str(place) for place in predict.stack] == ["trains.py:16"]
    assert predict.seconds <= loop_at(recording, 16, "comprehension").seconds


def test_phases_over_time_are_those_of_the_samples(keras: Made) -> None:
    recording, _ = keras
    over_time = {one.name: sum(one.values) for one in recording.phases}
    for phase in {sample.phase for sample in recording.samples}:
        seconds = sum(sample.seconds for sample in recording.samples if sample.phase == phase)
        assert over_time[phase] == pytest.approx(seconds, abs=0.01)
    assert max(one.at[-1] for one in recording.phases) <= recording.meta["seconds"]


STARVED = """\
    import time
    import numpy as np
    import tensorflow as tf

    def rows():
        for number in range(150):
            time.sleep(0.004)
            yield np.full(8, number, "f"), np.zeros(1, "f")

    kinds = (tf.TensorSpec((8,)), tf.TensorSpec((1,)))
    data = tf.data.Dataset.from_generator(rows, output_signature=kinds)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data.batch(5), epochs=2, verbose=0)
    model.evaluate(data.batch(5), verbose=0)
    tf.function(model)(np.ones((1, 8), "f"))
"""


def test_data_of_unknown_length_that_a_fit_waits_for(folder: Path) -> None:
    recording, done = run(folder, "starved.py", STARVED)
    assert b"AutoGraph" not in done.stderr, "it reads the code of what it compiles: a model's is as it was"
    assert (loop_at(recording, 14, "fit").steps, loop_at(recording, 15, "evaluate").steps) == (60, 30)
    assert one(recording, "fit", 14).totals["batches"] == 60, "the batch that Keras begins in vain is none"
    found = diagnose(recording, all_rules())
    (fit,) = [loop for loop in found.loops if loop.run.kind == "fit"]
    assert fit.phases["input"] > 0.5 * fit.run.seconds
    (finding,) = [one for one in found.findings if one.loop and one.loop.line == 14]
    assert (finding.rule, finding.place.line, finding.confidence) == ("input-bound", 11, "medium")


CLONED = """\
    import tensorflow as tf

    def copied(model):
        return tf.keras.models.clone_model(model)

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    for _ in range(5):
        copied(model)
"""


def test_a_copy_of_a_model_is_built_by_who_asks_for_it(folder: Path) -> None:
    recording, _ = run(folder, "cloned.py", CLONED)
    copies = [e for e in recording.of_kind("built") if e.place.line == 4 and e.totals.get("models")]
    assert copies
    assert all(event.count >= 5 for event in copies)


def test_models_loaded_are_counted_once_each(keras: Made) -> None:
    recording, _ = keras
    load = one(recording, "load", 21)
    assert (load.subject, load.count) == ("load_model", 2)


def test_what_leaves_tensorflow_is_observed(keras: Made) -> None:
    recording, _ = keras
    predictions = [seen for seen in recording.observables if seen["kind"] == "predict"]
    assert len(predictions) == 10
    assert predictions[0]["shape"] == [1, 1]
    assert predictions[0]["head"] == [pytest.approx(predictions[0]["sum"])]
    assert recording.meta["observed"] == len(recording.observables)


# -- eager -------------------------------------------------------------------------------------------------------------

EAGER = """\
import tensorflow as tf
w = tf.Variable(tf.random.normal([8, 1]))
optimizer = tf.keras.optimizers.SGD(0.01)
x, y = tf.random.normal([64, 8]), tf.ones([64, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
for epoch in range(5):
    for xb, yb in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((xb @ w - yb) ** 2)
        gradients = tape.gradient(loss, [w])
        optimizer.apply_gradients(zip(gradients, [w]))
        last = float(loss)
print(last); last = tf.ones([300_000])
for i in range(2000):
    last = tf.add(last, 1.0)
"""


@pytest.fixture(scope="module")
def eager(folder: Path) -> Made:
    return run(folder, "eager.py", EAGER, observe=True, seed=3)


def test_an_eager_training_step_is_counted(eager: Made) -> None:
    recording, _ = eager
    assert not recording.meta["unseen"]
    assert one(recording, "gradient", 10).count == 40
    assert one(recording, "apply", 11).count == 40
    assert one(recording, "input", 7).count == 40
    assert loop_at(recording, 7).steps == 40
    assert loop_at(recording, 7).runs == 5


def test_taking_down_an_iterator_is_timed_with_the_wait_for_it(eager: Made) -> None:
    waited = one(eager[0], "input", 7)
    assert 0 < waited.totals["ending"] < waited.seconds


def test_eager_operations_are_counted_between_samples(eager: Made) -> None:
    recording, _ = eager
    tiny = [sample for sample in recording.samples if sample.stack and sample.stack[0].line == 15]
    assert 1000 < sum(sample.ops for sample in tiny) < 2600
    assert 0 < sum(sample.op_seconds for sample in tiny) <= sum(sample.seconds for sample in tiny)


def test_a_seed_makes_two_runs_equal(folder: Path, eager: Made) -> None:
    recording, completed = eager
    again, repeated = run(folder, "eager.py", EAGER, observe=True, seed=3, sample=False)
    assert repeated.stdout == completed.stdout
    assert [seen["head"] for seen in again.observables] == [seen["head"] for seen in recording.observables]
    assert len(again.observables) == 40


def test_a_seed_holds_in_the_graphs_that_a_program_makes(folder: Path) -> None:
    text = """\
    import tensorflow.compat.v1 as tf
    for _ in range(2):
        tf.reset_default_graph()
        with tf.Graph().as_default(), tf.Session() as session:
            print(session.run(tf.random.normal([2])))
    """
    _, completed = run(folder, "graphs.py", text, seed=3, sample=False)
    first, second = completed.stdout.splitlines()
    assert first == second


# -- harm --------------------------------------------------------------------------------------------------------------


def without_numbers(text: bytes) -> list[str]:
    lines = text.decode().splitlines()
    kept = [line for line in lines if not re.match(r"^[IWE]0000|^WARNING: All log|^To enable the following", line)]
    return [re.sub(r"__autograph_generated_file\w+", "FILE", re.sub(r"0x[0-9a-f]+", "0x", line)) for line in kept]


def test_an_uncaught_error_inside_tensorflow_looks_as_it_would_alone(folder: Path) -> None:
    recording, completed = run(
        folder,
        "fails.py",
        """\
        import os
        import keras
        import numpy as np
        import tensorflow as tf

        @tf.function
        def bad(x):
            for i in range(2):
                x = tf.reshape(x, [7])
            return x

        def session():
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                session.run("nothing:0")

        def model():
            model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
            model.predict(np.ones((2, 5)), verbose=0)

        def operation():
            for i in range(2):
                tf.reshape(tf.ones([3]), [2])

        for attempt in (session, model, operation):  # each in a process of its own: each may end it
            process = os.fork()
            if not process:
                attempt()
            os.waitpid(process, 0)
        bad(tf.ones([3]))
        """,
    )
    alone = subprocess.run([sys.executable, "fails.py"], cwd=folder, capture_output=True, check=False)
    assert completed.code == alone.returncode == 1
    assert without_numbers(completed.stderr) == without_numbers(alone.stderr)
    assert completed.stderr.count(b"Traceback (most recent call last)") >= 4
    assert recording.exit.code == 1
    assert recording.exit.exception.startswith("ValueError: Cannot reshape")  # not "in user code", which tells nothing
