"""One program in every spelling that people import TensorFlow and Keras by: `check` names the same lines in each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hotloop.cli import main

# A program's guilty lines end in `# here`. What stands between < and > is TensorFlow's, spelled by a Spelling.
LABELS = """
def load_graph(path):
    graph = <Graph>()
    definition = <GraphDef>()
    with open(path, "rb") as file:
        definition.ParseFromString(file.read())
    with graph.as_default():
        <import_graph_def>(definition, name="")  # here
    return graph


def read_image(path):
    data = <io.read_file>(path)  # here
    image = <image.decode_jpeg>(data, channels=3)
    pixels = <image.resize>(<expand_dims>(<cast>(image, "float32"), 0), [96, 96])
    session = <Session>()  # here
    return session.run(pixels / 255.0)


def classify(path):
    graph = load_graph("graph.pb")
    pixels = read_image(path)
    with <Session>(graph=graph) as session:  # here
        return session.run("scores:0", {"pixels:0": pixels})
"""
LOOP_OVER_FILES = """
import glob

from labels import classify

for path in sorted(glob.glob("images/*.jpg")):
    print(path, classify(path).argmax())
"""
EMBED = """
def embed(rows):
    model = <models.load_model>("model.keras")  # here
    head = <layers.Dense>(8)  # here
    return head(model.predict(rows))  # here
"""
LOOP_OVER_ROWS = """
import numpy as np
from embed import embed

for image in np.load("images.npy"):
    print(embed(image[None]))
"""
GATHER = """
def gather(images, embed):
    rows = <ops.zeros>((0, 8))
    for image in images:
        rows = <ops.concatenate>([rows, embed(image)])  # here
    return rows
"""
SET_UP = """
<backend.set_floatx>("float64")  # here
"""


@dataclass(frozen=True)
class Spelling:
    head: str  # the imports
    prefix: str  # before TensorFlow's or Keras' names ...
    names: Mapping[str, str] = field(default_factory=dict)  # ... except these
    files: Mapping[str, str] = field(default_factory=dict)  # the project's own modules that they come through

    def spell(self, template: str) -> str:
        def name(match: re.Match[str]) -> str:
            own = self.names.get(match[1])
            if own is None and "." in match[1]:
                owner, _, last = match[1].rpartition(".")
                own = f"{self.names[owner]}.{last}" if owner in self.names else None
            return own or f"{self.prefix}.{match[1]}" if self.prefix else own or match[1]

        return f"{self.head}\n{re.sub('<([A-Za-z_.]+)>', name, template)}"


V1 = {
    "tensorflow 1": Spelling("import tensorflow as tf", "tf"),
    "compat.v1 as tf": Spelling("import tensorflow.compat.v1 as tf", "tf"),
    "compat.v1 written out": Spelling("import tensorflow as tf", "tf.compat.v1"),
    "no alias": Spelling("import tensorflow", "tensorflow.compat.v1"),
    "from compat": Spelling("from tensorflow.compat import v1 as tf1", "tf1"),
    "an alias of compat.v1": Spelling("import tensorflow as tf\n\ntf1 = tf.compat.v1", "tf1"),
    "local aliases": Spelling(
        "import tensorflow as tf\n\nsess_cls = tf.compat.v1.Session\nload = tf.graph_util.import_graph_def",
        "tf",
        {"Session": "sess_cls", "import_graph_def": "load", "GraphDef": "tf.compat.v1.GraphDef"},
    ),
    "names by themselves": Spelling(
        "from tensorflow import Graph, cast, expand_dims, image, io\n"
        "from tensorflow.compat.v1 import GraphDef, Session, import_graph_def",
        "",
    ),
    "try, except ImportError": Spelling(
        "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n    import tensorflow as tf", "tf"
    ),
    "try, except, with a flag": Spelling(
        "try:\n    import tensorflow.compat.v1 as tf\n\n    tf.disable_v2_behavior()\n    HAVE_TF = True\n"
        "except ImportError:\n    tf = None\n    HAVE_TF = False",
        "tf",
    ),
    "chosen by version": Spelling(
        "import tensorflow as tf\n\nif tf.__version__.startswith('2'):\n    tf = tf.compat.v1", "tf"
    ),
    "inside TensorFlow": Spelling(
        "import tensorflow as tf\nfrom tensorflow.python.client.session import Session\n"
        "from tensorflow.python.framework.importer import import_graph_def",
        "tf.compat.v1",
        {"Session": "Session", "import_graph_def": "import_graph_def"},
    ),
    "re-exported by a module": Spelling(
        "from backend import tf", "tf", files={"backend.py": "import tensorflow.compat.v1 as tf\n"}
    ),
    "re-exported by a package": Spelling(
        "from lib import tf",
        "tf",
        files={
            "lib/__init__.py": "from .compat import tf\n",
            "lib/compat.py": "try:\n    import tensorflow.compat.v1 as tf\n"
            "except ImportError:\n    import tensorflow as tf\n",
        },
    ),
    "through a module's attribute": Spelling(
        "import backend", "backend.tf", files={"backend.py": "import tensorflow.compat.v1 as tf\n"}
    ),
    "re-exported class": Spelling(
        "import tensorflow as tf\nfrom backend import Session",
        "tf.compat.v1",
        {"Session": "Session"},
        {"backend.py": "import tensorflow as tf\n\nSession = tf.compat.v1.Session\n"},
    ),
}
STARS = {
    "a star of compat.v1": Spelling("from tensorflow.compat.v1 import *", ""),
    "a star of a module": Spelling(
        "from backend import *", "v1", files={"backend.py": "import tensorflow.compat.v1 as v1\n"}
    ),
}
OR_NONE = {
    "re-exported by a package that may lack it": Spelling(
        "from lib import tf",
        "tf",
        files={
            "lib/__init__.py": "from .compat import tf\n",
            "lib/compat.py": "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n    tf = None\n",
        },
    ),
}
KERAS = {
    "tf.keras": Spelling("import tensorflow as tf", "tf.keras"),
    "from tensorflow": Spelling("from tensorflow import keras", "keras"),
    "keras": Spelling("import keras", "keras"),
    "tensorflow.keras as": Spelling("import tensorflow.keras as k", "k"),
    "tf_keras": Spelling("import tf_keras as keras", "keras"),
    "compat.v1.keras": Spelling("import tensorflow.compat.v1 as tf", "tf.keras"),
    "tensorflow.python.keras": Spelling("from tensorflow.python import keras", "keras"),
    "parts": Spelling(
        "from tensorflow.keras import layers as L\nfrom tensorflow.keras import models, backend as K\n"
        "from keras import ops",
        "",
        {"layers": "L", "backend": "K"},
    ),
    "parts of keras": Spelling("from keras import backend, layers, models, ops", ""),
    "names by themselves": Spelling(
        "from tensorflow.keras.backend import set_floatx\nfrom tensorflow.keras.layers import Dense\n"
        "from tensorflow.keras.models import load_model\nfrom keras.ops import concatenate, zeros",
        "",
        {
            "layers.Dense": "Dense",
            "models.load_model": "load_model",
            "backend.set_floatx": "set_floatx",
            "ops.concatenate": "concatenate",
            "ops.zeros": "zeros",
        },
    ),
    "local aliases": Spelling(
        "import tensorflow as tf\n\nkeras = tf.keras\nK = keras.backend\nL = keras.layers",
        "keras",
        {"layers": "L", "backend": "K"},
    ),
    "try, except ImportError": Spelling(
        "try:\n    from tensorflow import keras\nexcept ImportError:\n    import keras", "keras"
    ),
    "try, except, the other way": Spelling(
        "try:\n    import keras\nexcept ImportError:\n    from tensorflow import keras", "keras"
    ),
    "re-exported": Spelling(
        "from backend import keras  # of TensorFlow",
        "keras",
        files={"backend.py": "from tensorflow import keras\n"},
    ),
    "re-exported parts": Spelling(
        "import backend as B  # keras",
        "B",
        files={
            "backend.py": "import tensorflow as tf\nfrom keras import ops\n\nmodels = tf.keras.models\n"
            "layers = tf.keras.layers\nbackend = tf.keras.backend\n"
        },
    ),
}


def guilty(files: Mapping[str, str]) -> set[tuple[str, int]]:
    return {
        (path, number)
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if line.endswith("# here")
    }


def found(folder: Path, files: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> set[tuple[str, int]]:
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    main(["check", "--format", "json", "."])
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == []
    assert report["notes"] == []
    return {(f["place"]["path"], f["place"]["line"]) for f in report["findings"]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def known(spellings: Mapping[str, Spelling]) -> list[object]:
    return [pytest.param(spelling, id=name) for name, spelling in spellings.items()]


@pytest.mark.parametrize(
    "spelling",
    [
        *known(V1),
        *known(STARS),
        *known(OR_NONE),
    ],
)
def test_a_session_ops_and_a_graph_per_image_are_named_however_tensorflow_is_imported(
    spelling: Spelling, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"labels.py": spelling.spell(LABELS), "main.py": LOOP_OVER_FILES, **spelling.files}
    assert len(guilty(files)) == 4
    assert found(project, files, capsys) == guilty(files)


@pytest.mark.parametrize("spelling", KERAS.values(), ids=KERAS)
def test_a_model_a_layer_and_a_predict_per_row_are_named_however_keras_is_imported(
    spelling: Spelling, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"embed.py": spelling.spell(EMBED), "main.py": LOOP_OVER_ROWS, **spelling.files}
    assert len(guilty(files)) == 3
    assert found(project, files, capsys) == guilty(files)


@pytest.mark.parametrize("template", [GATHER, SET_UP], ids=["keras.ops", "keras.backend"])
@pytest.mark.parametrize("spelling", KERAS.values(), ids=KERAS)
def test_keras_ops_and_its_backend_are_known_however_keras_is_imported(
    spelling: Spelling, template: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"program.py": spelling.spell(template), **spelling.files}
    assert len(guilty(files)) == 1
    assert found(project, files, capsys) == guilty(files)
