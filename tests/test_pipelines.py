"""tf.data chains as source shows them: where they begin, their stages in order, what these do and who reads them."""

from __future__ import annotations

import math
import textwrap

import pytest

from hotloop.source import Project, project_of
from hotloop.source.consumers import Consumer, consumers, consumers_of
from hotloop.source.pipelines import pipelines
from hotloop.source.stages import Pipeline
from hotloop.source.work import Work, work_of

HEAD = "import tensorflow as tf\nimport numpy as np\n"


def project(source: str, **others: str) -> Project:
    texts = {"main.py": HEAD + textwrap.dedent(source)}
    texts |= {f"{name}.py": HEAD + textwrap.dedent(text) for name, text in others.items()}
    return project_of({path: text.encode() for path, text in texts.items()})


def whole(source: str, **others: str) -> Pipeline:
    """The longest chain that ends in the main module."""
    made = project(source, **others)
    return max(pipelines(made.modules["main.py"], made), key=lambda p: len(p.stages))


def shown(source: str, **others: str) -> str:
    pipeline = whole(source, **others)
    return " ".join([pipeline.kind or "?", *(s.name + "?" * s.optional for s in pipeline.stages)])


def work(source: str) -> Work:
    function = next(s.function for s in whole(source).stages if s.name == "map")
    assert function is not None
    return work_of(function, project(source))


def readers(source: str, **others: str) -> list[Consumer]:
    made = project(source, **others)
    return list(consumers(made.modules["main.py"], made))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("ds = tf.data.Dataset.range(9).map(f).batch(4)", "range map batch"),
        ("ds = tf.data.Dataset.range(9)\nds = ds.map(f)\nds = ds.batch(4)\n", "range map batch"),
        ("a = tf.data.TFRecordDataset(p)\nb = a.map(f)\nc = b.batch(2)\n", "TFRecordDataset map batch"),
        ("ds = tf.data.Dataset.list_files(p)\nif shuffle:\n    ds = ds.shuffle(9)\nds = ds.batch(2)\n",
         "list_files shuffle? batch"),
        ("from tensorflow.data import Dataset\nds = Dataset.range(3).repeat()", "range repeat"),
        ("import tensorflow.compat.v1 as tf1\nds = tf1.data.Dataset.range(3).repeat()", "range repeat"),
        ("import tensorflow_datasets as tfds\n(a, b), info = tfds.load('x')\na = a.map(f).batch(3)", "load map batch"),
        ("from tensorflow import keras\nds = keras.utils.image_dataset_from_directory(d).prefetch(1)",
         "image_dataset_from_directory prefetch"),
        ("def go(ds):\n    return ds.map(f).prefetch(1)\n", "? map prefetch"),
        ("ds = tf.data.Dataset.range(3).apply(tf.data.experimental.map_and_batch(f, 4))", "range map batch"),
    ],
)  # fmt: skip
def test_a_chain_is_followed_through_statements_and_spellings(source: str, expected: str) -> None:
    assert shown(source) == expected


def test_a_helper_that_adds_stages_is_part_of_the_chain() -> None:
    source = """
        def prepare(ds, training):
            ds = ds.map(f)
            if training:
                ds = ds.shuffle(100)
            return ds.batch(8)

        train = prepare(tf.data.Dataset.range(100), True).prefetch(1)
    """
    assert shown(source) == "range map shuffle? batch prefetch"


def test_a_function_in_another_file_makes_the_beginning() -> None:
    data = "def load(paths):\n    return tf.data.TFRecordDataset(paths).map(f), tf.data.Dataset.range(3)\n"
    source = "from data import load\ntrain, labels = load(p)\ntrain = train.batch(3)\n"
    assert shown(source, data=data) == "TFRecordDataset map batch"


def test_an_attribute_set_in_one_method_is_known_in_another() -> None:
    source = """
        class Trainer:
            def __init__(self):
                self.ds = tf.data.Dataset.range(10).map(f)
                self.ds = self.ds.batch(2)

            def train(self):
                return self.ds.prefetch(2)
    """
    assert shown(source) == "range map batch prefetch"


def test_the_arms_of_an_if_are_not_one_chain() -> None:
    source = """
        ds = tf.data.Dataset.range(10)
        if training:
            ds = ds.shuffle(5)
        else:
            ds = ds.cache()
        ds = ds.batch(2)
    """
    assert shown(source) == "range cache? batch"


def test_what_others_call_map_is_no_chain() -> None:
    source = (
        "import pandas as pd\nframe = pd.read_csv(p)\na = frame.x.map(f)\nb = np.arange(3).repeat(2)\nc = q.map(f)\n"
    )
    made = project(source)
    assert pipelines(made.modules["main.py"], made) == ()


def test_the_work_of_a_stage_is_found_through_helpers_and_lambdas() -> None:
    source = """
        def decode(path):
            return tf.io.decode_jpeg(tf.io.read_file(path))

        ds = tf.data.Dataset.list_files(p).map(lambda p: tf.image.resize(decode(p), [8, 8]) / 255)
    """
    found = work(source)
    assert {"tf.io.decode_jpeg", "tf.read_file", "tf.image.resize"} <= found.calls
    assert found.operators


def test_python_that_tensorflow_calls_back_is_told_apart() -> None:
    source = """
        def load(path):
            return np.load(path)

        ds = tf.data.Dataset.list_files(p).map(lambda p: tf.numpy_function(load, [p], tf.float32))
    """
    found = work(source)
    assert found.python_calls == {"np.load"}
    assert len(found.python) == 1


def test_a_sequential_model_does_what_its_layers_do() -> None:
    source = """
        import keras
        augment = keras.Sequential([keras.layers.RandomFlip("horizontal")])
        ds = tf.data.Dataset.range(3).map(lambda x: augment(x))
    """
    assert "keras.layers.RandomFlip" in work(source).calls


@pytest.mark.parametrize(
    ("source", "kind", "epochs"),
    [
        ("model.fit(ds, epochs=5)", "fit", 5),
        ("model.fit(ds, epochs=args.epochs)", "fit", math.inf),
        ("model.fit(ds)", "fit", 1),
        ("for i, x in enumerate(ds):\n    step(x)\n", "for", 1),
        ("for epoch in range(7):\n    for x in ds:\n        step(x)\n", "for", 7),
        ("it = iter(ds)", "iter", 1),
    ],
)
def test_readers_say_how_often_they_read(source: str, kind: str, epochs: float) -> None:
    (found,) = readers("ds = tf.data.Dataset.range(9).batch(3)\n" + source)
    assert (found.kind, found.epochs) == (kind, epochs)


def test_a_reader_in_another_file_is_found_from_the_chain() -> None:
    data = "def load(paths):\n    return tf.data.TFRecordDataset(paths).map(f)\n"
    made = project("from data import load\nmodel.fit(load(p).batch(3), epochs=4)\n", data=data)
    (chain,) = pipelines(made.modules["data.py"], made)
    assert [c.epochs for c in consumers_of(chain, made)] == [4]
