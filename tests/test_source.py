"""What the source model knows: names through imports, values through locals, loops through calls, what changes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hotloop.check import check_files
from hotloop.source import Project, project_of
from hotloop.source.flow import changing_number, varies
from hotloop.source.heat import hottest, trips
from hotloop.source.module import Call


def call_of(project: Project, text: str) -> Call:
    """The one call whose source starts like this."""
    found = [c for m in project.modules.values() for c in m.calls if ast.unparse(c.node).startswith(text)]
    assert len(found) == 1, [ast.unparse(c.node) for c in found]
    return found[0]


def name_of(source: str, call: str) -> str:
    project = project_of({"program.py": source.encode()})
    found = call_of(project, call)
    return project.name_of(found.node.func, found.where.scope)


SESSION = [
    ("import tensorflow as tf\ntf.compat.v1.Session()", "tf.compat"),
    ("import tensorflow as tf\ntf.Session()", "tf.Session"),
    ("import tensorflow.compat.v1 as tf\ntf.Session()", "tf.Session"),
    ("from tensorflow.compat import v1\nv1.Session()", "v1."),
    ("from tensorflow.compat.v1 import Session\nSession()", "Session"),
    ("import tensorflow\ntensorflow.compat.v1.Session()", "tensorflow."),
    ("import tensorflow as tf\nmake = tf.compat.v1.Session\nmake()", "make"),
    (
        "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n    import tensorflow as tf\ntf.Session()",
        "tf.S",
    ),
    ("import tensorflow as tf\ndef f():\n    K = tf.compat.v1\n    K.Session()", "K."),
]
LOAD = [
    ("from tensorflow import keras\nkeras.models.load_model('m')", "keras."),
    ("from tensorflow.keras.models import load_model as lm\nlm('m')", "lm"),
    ("import tensorflow as tf\ntf.keras.models.load_model('m')", "tf."),
    ("import keras\nkeras.saving.load_model('m')", "keras."),
    ("import tf_keras as k\nk.models.load_model('m')", "k."),
    ("from tensorflow.keras import models as M\nM.load_model('m')", "M."),
]


@pytest.mark.parametrize(("source", "call"), SESSION)
def test_every_spelling_of_a_session_has_one_name(source: str, call: str) -> None:
    assert name_of(source, call) == "tf.Session"


@pytest.mark.parametrize(("source", "call"), LOAD)
def test_every_spelling_of_a_load_has_one_name(source: str, call: str) -> None:
    assert name_of(source, call) == "keras.models.load_model"


def test_a_name_re_exported_by_a_module_of_the_project_is_followed() -> None:
    files = {
        "pkg/__init__.py": b"from .backend import tf\n",
        "pkg/backend.py": b"import tensorflow.compat.v1 as tf\n",
        "main.py": b"from pkg import tf\ntf.Session()\n",
    }
    project = project_of(files)
    call = call_of(project, "tf.Session")
    assert project.name_of(call.node.func, call.where.scope) == "tf.Session"


VALUES = {
    "a local": "m = keras.Sequential([])\nm.predict(1)",
    "a function's result": "def build():\n    net = keras.Sequential([])\n    return net\nbuild().predict(1)",
    "an attribute": (
        "class A:\n    def __init__(self):\n        self.m = keras.Sequential([])\n"
        "    def f(self):\n        self.m.predict(1)"
    ),
    "a parameter": "def f(m):\n    m.predict(1)\nf(keras.Sequential([]))",
    "a with": "with keras.Sequential([]) as m:\n    m.predict(1)",
    "a conditional": "m = keras.Sequential([]) if x else None\nm.predict(1)",
}


@pytest.mark.parametrize("source", VALUES.values(), ids=VALUES)
def test_a_value_is_followed_through(source: str) -> None:
    project = project_of({"p.py": f"import keras\n{source}\n".encode()})
    found = [c for c in project.modules["p.py"].calls if ast.unparse(c.node.func).endswith(".predict")]
    assert [project.name_of(c.node.func, c.where.scope) for c in found] == ["keras.Sequential().predict"]


def loop_of(files: dict[str, bytes], call: str) -> tuple[str, str, list[str]] | None:
    project = project_of(files)
    found = hottest(call_of(project, call).where, project)
    return (found[0], str(found[1].place), [str(c.place) for c in found[2]]) if found else None


def test_a_function_called_in_a_loop_of_another_file_runs_in_that_loop() -> None:
    files = {
        "main.py": b"from lab import classify\nfor path in paths:\n    classify(path)\n",
        "lab.py": b"import tensorflow as tf\ndef classify(path):\n    return helper(path)\n"
        b"def helper(path):\n    tf.work(path)\n",
    }
    assert loop_of(files, "tf.work") == ("hot", "main.py:2", ["main.py:3", "lab.py:3"])


@pytest.mark.parametrize(
    "source",
    [
        "import functools\n@functools.cache\ndef f():\n    tf.work()\nfor x in images:\n    f()",
        "@tf.function\ndef f():\n    tf.work()\nfor x in images:\n    f()",
        "for x in images:\n    if model is None:\n        tf.work()",
        "for i in range(9):\n    if i % 3 == 0:\n        tf.work()",
        "for i in tf.range(9):\n    tf.work()",
        "def f():\n    tf.work()\nf()",
    ],
)
def test_what_runs_once_or_seldom_is_in_no_loop(source: str) -> None:
    assert loop_of({"p.py": f"import tensorflow as tf\n{source}\n".encode()}, "tf.work") is None


@pytest.mark.parametrize(
    ("header", "steps"),
    [
        ("for i in range(12)", 12),
        ("for i in range(2, 12, 5)", 2),
        ("for i in [1, 2, 3]", 3),
        ("for i, x in enumerate(sorted(SMALL))", 2),
        ("for a, b in zip(SMALL, others)", 2),
        ("for k, v in TABLE.items()", 3),
        ("for i in range(N * 2)", 20),
        ("for x in data", None),
        ("while True", None),
    ],
)
def test_the_steps_of_a_loop_are_counted_where_the_source_says(header: str, steps: int | None) -> None:
    source = f"N = 10\nSMALL = [1, 2]\nTABLE = {{1: 2, 3: 4, 5: 6}}\n{header}:\n    work()\n"
    project = project_of({"p.py": source.encode()})
    assert trips(project.modules["p.py"].loops[0], project) == steps


def test_a_list_that_grows_says_nothing_of_its_length() -> None:
    project = project_of({"p.py": b"xs = []\nxs.append(1)\nfor x in xs:\n    work()\n"})
    assert trips(project.modules["p.py"].loops[0], project) is None


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("use(x)", True),
        ("y = x + 1\n    use(y)", True),
        ("y = CONSTANT\n    use(y)", False),
        ("y, z = split(x)\n    use(y)", True),
        ("use(outside)", False),
        ("n += 1\n    use(n)", True),
    ],
)
def test_what_changes_from_step_to_step_is_known(body: str, answer: bool) -> None:
    project = project_of({"p.py": f"CONSTANT = 1\noutside = g()\nn = 0\nfor x in xs:\n    {body}\n".encode()})
    call = call_of(project, "use")
    assert varies(call.node.args[0], call.where.scope, project.modules["p.py"].loops[0], (), project) is answer


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("use(i)", True),
        ("use(1.0 / (i + 1))", True),
        ("lr *= 0.9\n    use(lr)", True),
        ("lr = lr * 0.9\n    use(lr)", True),
        ("use(float(loss))", True),
        ("use(3)", False),
        ("use(tf.constant(i))", False),
        ("t = t + tf.ones([])\n    use(t)", False),
    ],
)
def test_a_python_number_that_changes_is_told_from_a_tensor(body: str, number: bool) -> None:
    setup = "import tensorflow as tf\nlr = 0.1\nt = tf.ones([])\nfor i in range(100):\n    loss = g(i)\n    "
    project = project_of({"p.py": f"{setup}{body}\n".encode()})
    call = call_of(project, "use")
    assert (changing_number(call.node.args[0], call.where, project) is not None) is number


def test_a_chain_of_a_thousand_elifs_is_read() -> None:
    arms = "".join(f"elif x == {i}:\n    y = {i}\n" for i in range(1000))
    source = f"import tensorflow as tf\nif x is y:\n    pass\n{arms}for p in paths:\n    tf.Session()\n"
    assert loop_of({"p.py": source.encode()}, "tf.Session") is not None


def test_a_file_that_is_not_python_gets_one_sentence_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("import tensorflow\nprint 'hello'\n")
    (tmp_path / "new.py").write_text("import tensorflow as tf\nfor p in paths:\n    s = tf.Session()\n    s.run('x')\n")
    report = check_files(tmp_path, [tmp_path / "old.py", tmp_path / "new.py"])
    assert len(report.notes) == 1
    assert report.notes[0].startswith("old.py is not Python 3.")
    assert [finding.place.path for finding in report.findings] == ["new.py"]


def test_a_suppressed_line_is_silent_and_an_unused_suppression_is_reported(tmp_path: Path) -> None:
    rule = check_rule(tmp_path)
    source = "import tensorflow as tf\nfor p in paths:\n    s = tf.Session()  # hotloop: ignore[{}]\n    s.run('x')\n"
    (tmp_path / "p.py").write_text(source.format(rule))
    report = check_files(tmp_path, [tmp_path / "p.py"])
    assert report.findings == ()
    assert report.notes == ()
    (tmp_path / "p.py").write_text("import tensorflow as tf\nx = 1  # hotloop: ignore[whatever]\n")
    assert "not needed" in check_files(tmp_path, [tmp_path / "p.py"]).notes[0]


def check_rule(tmp_path: Path) -> str:
    (tmp_path / "q.py").write_text("import tensorflow as tf\nfor p in paths:\n    s = tf.Session()\n    s.run('x')\n")
    (finding,) = check_files(tmp_path, [tmp_path / "q.py"]).findings
    return finding.rule


def test_a_large_project_is_checked_in_parts_and_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        folder = tmp_path / f"part{number}"
        folder.mkdir()
        (folder / "model.py").write_text(
            f"import keras\n\ndef load_{number}():\n    return keras.models.load_model('m')\n"
        )
        (folder / "main.py").write_text(
            f"from model import load_{number}\n\nfor path in paths:\n    load_{number}().predict_on_batch(path)\n"
        )
    files = sorted(tmp_path.rglob("*.py"))
    whole = check_files(tmp_path, files)
    monkeypatch.setattr("hotloop.source.files.SMALL", 0)
    heard: list[tuple[int, int]] = []
    in_parts = check_files(tmp_path, files, progress=lambda done, total: heard.append((done, total)))
    assert [f.place.path for f in whole.findings] == [f"part{number}/model.py" for number in range(4)]
    assert in_parts.findings == whole.findings
    assert heard[-1] == (8, 8)
    assert len(heard) == 4


def test_what_was_too_far_away_for_one_question_is_near_enough_for_the_next() -> None:
    """An answer that was cut short is none: who asks from nearer gets the whole one."""
    chain = "".join(f"x{i + 1} = x{i}\n" for i in range(30))
    project = project_of({"p.py": f"import tensorflow as tf\nx0 = tf.Variable\n{chain}".encode()})
    scope = project.modules["p.py"].scope

    def name_of(number: int) -> str:
        value = scope.bindings[f"x{number}"][0].value
        assert value is not None
        return project.name_of(value, scope)

    assert name_of(30) == ""
    assert name_of(5) == "tf.Variable"
