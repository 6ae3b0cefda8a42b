"""What `check` knows of values and of where code runs: one small project for each thing it should know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main

KERAS = "import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n\n"
MODEL = "keras.Sequential([keras.layers.Dense(2)])"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def findings(
    folder: Path, files: Mapping[str, str], capsys: pytest.CaptureFixture[str], *options: str
) -> list[dict[str, Any]]:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    main(["check", "--format", "json", *options, "."])
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == []
    assert report["notes"] == []
    found: list[dict[str, Any]] = report["findings"]
    return found


def at(finding: Mapping[str, Any]) -> str:
    return f"{finding['place']['path']}:{finding['place']['line']}"


def marked(files: Mapping[str, str]) -> list[str]:
    """The lines that end in `# here`."""
    lines = ((path, number, line) for path, text in files.items() for number, line in enumerate(text.splitlines(), 1))
    return sorted(f"{path}:{number}" for path, number, line in lines if line.endswith("# here"))


# -- values ------------------------------------------------------------------------------------------------------------

HELD = {
    "a local": f"""
model = {MODEL}
for image in images:
    print(model.predict(image[None]))  # here
""",
    "an attribute set in __init__": f"""
class Agent:
    def __init__(self):
        self.model = {MODEL}

    def act(self, state):
        return self.model.predict(state[None])  # here

def play(agent, env):
    state = env.reset()
    while True:
        state = env.step(agent.act(state))

play(Agent(), env)
""",
    "an attribute set by another method": f"""
class Agent:
    def __init__(self):
        self.net = self.build()

    def build(self):
        net = {MODEL}
        net.compile("adam", "mse")
        return net

    def play(self, states):
        for state in states:
            print(self.net.predict(state[None]))  # here
""",
    "an attribute of the base class": f"""
class Base:
    def __init__(self):
        self.model = {MODEL}

class Agent(Base):
    def play(self, states):
        for state in states:
            print(self.model.predict(state[None]))  # here
""",
    "a parameter with an obvious caller": f"""
def play(brain, states):
    for state in states:
        print(brain.predict(state[None]))  # here

play({MODEL}, states)
""",
    "a parameter by keyword": f"""
def play(states, brain):
    for state in states:
        print(brain.predict(state[None]))  # here

play(brain={MODEL}, states=states)
""",
    "a default and a global": f"""
MODEL = {MODEL}

def score(image):
    return MODEL.predict(image[None])  # here

scores = [score(image) for image in images]
""",
    "a function's return": """
def build():
    inputs = keras.Input((4,))
    return keras.Model(inputs, keras.layers.Dense(2)(inputs))

brain = build()
for state in states:
    print(brain.predict(state[None]))  # here
""",
    "one of several that are returned": f"""
def build():
    model = {MODEL}
    return model

brain, _ = build(), 1
for state in states:
    print(brain.predict(state[None]))  # here
""",
    "a subclass of Model": """
class Brain(keras.Model):
    def call(self, x):
        return x

brain = Brain()
for state in states:
    print(brain.predict(state[None]))  # here
""",
    "a closure": f"""
def make():
    model = {MODEL}

    def score(image):
        return model.predict(image[None])  # here

    return [score(image) for image in images]
""",
    "a walrus": f"""
if (brain := {MODEL}) is not None:
    for state in states:
        print(brain.predict(state[None]))  # here
""",
    "a session in a with": """
with tf.compat.v1.Session() as session:
    for image in images:
        print(session.run(tf.reduce_sum(image)))  # here
""",
    "a number that the loop changes": """
@tf.function
def step(x, rate):
    return x * rate

rate = 0.1
for batch in batches:
    rate *= 0.99
    step(batch, rate)  # here
""",
    "an optimizer and a tape": """
optimizer = keras.optimizers.Adam()
weights = tf.Variable(tf.ones([8, 8]))
for batch in batches:
    with tf.GradientTape() as tape:  # here
        hidden = tf.nn.relu(batch @ weights)
        loss = tf.reduce_mean(tf.square(tf.nn.tanh(hidden @ weights)))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
""",
}


@pytest.mark.parametrize("source", HELD.values(), ids=HELD)
def test_a_value_is_known_through(source: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"program.py": KERAS + source}
    assert [at(f) for f in findings(project, files, capsys)] == marked(files) != []


def test_a_dataset_that_a_function_of_another_module_returns_is_known(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "data.py": "import tensorflow as tf\n\ndef load(x):\n    return tf.data.Dataset.range(99).batch(8)\n",
        "train.py": "from data import load\nds = load(x)\nfor step in range(1000):\n    x = next(iter(ds))  # here\n",
    }
    assert [at(f) for f in findings(project, files, capsys)] == marked(files)


def test_a_model_that_another_module_builds_is_known(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "zoo.py": f"{KERAS}\n\nclass Zoo:\n    def __init__(self):\n        self.best = {MODEL}\n",
        "play.py": "from zoo import Zoo\nzoo = Zoo()\nfor row in rows:\n    zoo.best.predict(row[None])  # here\n",
    }
    assert [at(f) for f in findings(project, files, capsys)] == marked(files)


NOT_HELD = {
    "a model of another library": """
from sklearn.svm import SVC
model = SVC()
for image in images:
    print(model.predict(image[None]))
""",
    "a class of the project": """
class Oracle:
    def predict(self, x):
        return x

model = Oracle()
for image in images:
    print(model.predict(image[None]))
""",
    "a session of another library": """
import requests
session = requests.Session()
for image in images:
    session.run(image)
""",
}


@pytest.mark.parametrize("source", NOT_HELD.values(), ids=NOT_HELD)
def test_what_only_sounds_like_tensorflow_is_silent(
    source: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings(project, {"program.py": KERAS + source}, capsys, "--all") == []


# -- where code runs ---------------------------------------------------------------------------------------------------

WORK = "tf.compat.v1.Session()"  # what no loop should do
HOT = {
    "for": f"for path in paths:\n    {WORK}  # here",
    "while True": f"while True:\n    {WORK}  # here",
    "while": f"while not done():\n    {WORK}  # here",
    "a long range": f"for i in range(1000):\n    {WORK}  # here",
    "a list comprehension": f"xs = [{WORK} for path in paths]  # here",
    "a dict comprehension": f"xs = {{path: {WORK} for path in paths}}  # here",
    "a generator expression": f"total = sum(len({WORK}.run('x')) for path in paths)  # here",
    "epochs and batches": f"for epoch in range(3):\n    for batch in batches:\n        {WORK}  # here",
    "batches and a short loop": f"for batch in batches:\n    for part in range(2):\n        {WORK}  # here",
    "a generator consumed in a loop": (
        f"def read(paths):\n    for path in paths:\n        yield {WORK}.run(path)  # here\n\n"
        "for image in read(paths):\n    print(image)"
    ),
    "a generator's body": (
        f"def read():\n    while True:\n        yield {WORK}  # here\n\n"
        "for _, s in zip(range(100), read()):\n    print(s)"
    ),
    "map": f"def work(path):\n    return {WORK}  # here\n\nxs = list(map(work, paths))",
    "a lambda in map": f"xs = list(map(lambda path: {WORK}, paths))  # here",
    "a pool's map": f"def work(path):\n    return {WORK}  # here\n\npool.map(work, paths)",
    "an async loop": f"async def work():\n    async for path in paths():\n        {WORK}  # here",
    "tqdm and enumerate": f"from tqdm import tqdm\nfor i, path in enumerate(tqdm(paths)):\n    {WORK}  # here",
    "a decorated function": f"@log\ndef work(path):\n    {WORK}  # here\n\nfor path in paths:\n    work(path)",
    "a method": (
        f"class Worker:\n    def work(self, path):\n        {WORK}  # here\n\n"
        "worker = Worker()\nfor path in paths:\n    worker.work(path)"
    ),
    "a constructor": (
        f"class Worker:\n    def __init__(self, path):\n        self.session = {WORK}  # here\n\n"
        "for path in paths:\n    Worker(path).work()"
    ),
    "__call__": (
        f"class Worker:\n    def __call__(self, path):\n        {WORK}  # here\n\n"
        "work = Worker()\nfor path in paths:\n    work(path)"
    ),
}
NOT_HOT = {
    "range(3)": f"for i in range(3):\n    {WORK}",
    "a list of three": f"for i in (1, 2, 3):\n    {WORK}",
    "a constant range": f"FOLDS = 5\nfor i in range(FOLDS):\n    {WORK}",
    "no loop": f"def work():\n    {WORK}\n\nwork()",
    "the iterable": f"for x in {WORK}.run('xs'):\n    print(x)",
    "after the loop": f"for path in paths:\n    print(path)\n{WORK}",
    "else": f"for path in paths:\n    print(path)\nelse:\n    {WORK}",
    "a retry": f"while True:\n    try:\n        {WORK}\n        break\n    except ValueError:\n        pass",
    "a retry by a flag": (
        f"trying = True\nwhile trying:\n    try:\n        {WORK}\n        trying = False\n"
        "    except ValueError:\n        pass"
    ),
    "the first of many": f"for image in images:\n    {WORK}\n    break",
    "once": f"session = None\nfor path in paths:\n    if session is None:\n        session = {WORK}",
    "a cache": (
        f"import functools\n\n@functools.lru_cache(maxsize=None)\ndef session():\n    return {WORK}\n\n"
        "for path in paths:\n    session().run(path)"
    ),
    "a function defined in a loop and not called": f"for path in paths:\n    def work():\n        {WORK}",
}


@pytest.mark.parametrize("source", HOT.values(), ids=HOT)
def test_code_runs_in(source: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"program.py": f"import tensorflow as tf\n{source}\n"}
    assert sorted({at(f) for f in findings(project, files, capsys)}) == marked(files) != []


@pytest.mark.parametrize("source", NOT_HOT.values(), ids=NOT_HOT)
def test_code_is_not_hot_in(source: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(project, {"program.py": f"import tensorflow as tf\n{source}\n"}, capsys) == []


def test_the_chain_of_calls_from_a_loop_to_the_line_is_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "main.py": "from app.run import label\n\nfor path in paths:\n    label(path)\n",
        "app/__init__.py": "",
        "app/run.py": "from . import graphs\n\n\ndef label(path):\n    return graphs.classify(path)\n",
        "app/graphs.py": "import tensorflow as tf\ndef classify(path):\n    return tf.compat.v1.Session().run(path)\n",
    }
    (found,) = findings(project, files, capsys)
    assert at(found) == "app/graphs.py:3"
    assert (found["loop"]["path"], found["loop"]["line"]) == ("main.py", 3)
    assert [(c["path"], c["line"]) for c in found["chain"]] == [("main.py", 4), ("app/run.py", 5)]
    assert main(["check", "."]) == 1
    said = capsys.readouterr().out
    assert "main.py:3" in said
    assert "app/run.py:5" in said


# Where Python runs once, while TensorFlow traces it.
TRACED = {
    "tf.function": (
        "@tf.function\ndef work(xs):\n    for i in range(100):\n        {}\n\nfor batch in batches:\n    work(batch)"
    ),
    "tf.function with options": (
        "@tf.function(jit_compile=True)\ndef work(x):\n    {}\n\nfor batch in batches:\n    work(batch)"
    ),
    "tf.function called": "def work(x):\n    {}\n\nfast = tf.function(work)\nfor batch in batches:\n    fast(batch)",
    "called by a tf.function": (
        "def inner(x):\n    {}\n\n@tf.function\ndef work(x):\n    return inner(x)\n\n"
        "for batch in batches:\n    work(batch)"
    ),
    "a layer's call": "class L(tf.keras.layers.Layer):\n    def call(self, xs):\n        for x in xs:\n            {}",
    "a model's train_step": (
        "class Model(tf.keras.Model):\n    def train_step(self, data):\n        for x in data:\n            {}"
    ),
    "a dataset's map": "def parse(x):\n    {}\nds = tf.data.Dataset.range(9)\nfor i in steps:\n    ds = ds.map(parse)",
}


@pytest.mark.parametrize("source", TRACED.values(), ids=TRACED)
def test_python_that_runs_while_tracing_is_in_no_loop(
    source: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traced = {"program.py": f"import tensorflow as tf\n{source.format(WORK)}\n"}
    lines = [n for n, line in enumerate(traced["program.py"].splitlines(), 1) if WORK in line]
    assert not {f"program.py:{n}" for n in lines} & {at(f) for f in findings(project, traced, capsys, "--all")}


def test_what_a_folder_above_is_called_says_nothing_of_a_project_that_lies_elsewhere(
    project: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "benchmarks" / "tests" / "mine"
    (elsewhere / "tests").mkdir(parents=True)
    for name in ("program.py", "tests/program.py"):
        (elsewhere / name).write_text(f"import tensorflow as tf\n{HOT['for']}\n")
    main(["check", "--format", "json", str(elsewhere)])
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert found["place"]["path"] == (elsewhere / "program.py").as_posix()


@pytest.mark.parametrize(
    "path", ["tests/program.py", "test_program.py", "program_test.py", "benchmarks/program.py", "bench_sessions.py"]
)
def test_findings_in_tests_and_benchmarks_are_low(path: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {path: f"import tensorflow as tf\n{HOT['for']}\n"}
    assert findings(project, files, capsys) == []
    assert {(at(f), f["confidence"]) for f in findings(project, files, capsys, "--all")} == {(f"{path}:3", "low")}


@pytest.mark.parametrize(
    "source",
    [
        f"def test_sessions():\n    for path in paths:\n        {WORK}",
        f"class TestSessions:\n    def check(self):\n        for path in paths:\n            {WORK}",
        f"def benchmark_sessions():\n    for path in paths:\n        {WORK}",
        f"def time_sessions():\n    import timeit\n    return timeit.timeit(lambda: [{WORK} for _ in paths], number=9)",
        f"import time\nstart = time.perf_counter()\nfor _ in range(100):\n    {WORK}\n"
        "print('each', (time.perf_counter() - start) / 100)",
    ],
    ids=["a test function", "a test class", "a benchmark function", "timeit", "a timed loop"],
)
def test_a_test_or_a_timing_benchmark_is_known_in_any_file(
    source: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"program.py": f"import tensorflow as tf\n{source}\n"}
    assert findings(project, files, capsys) == []
    assert {f["confidence"] for f in findings(project, files, capsys, "--all")} == {"low"}
