"""Which files `check` reads: those that can have to do with TensorFlow, told from their imports alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.source.files import Files
from hotloop.source.imports import imports_in


def relevant(texts: dict[str, str]) -> set[str]:
    """Those of the files that are read, without their `.py`."""
    root = Path("/project")
    files = Files({root / f"{name}.py": text.encode() for name, text in texts.items()}, root)
    return {files.path(file).removesuffix(".py") for file in files.relevant()}


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf",
        "import numpy as np, tensorflow as tf",
        "import os; import tensorflow as tf",
        "import segmentation_models as sm  # of keras\nsm.Unet().predict(x)",
        "if True:\n    import tensorflow.compat.v1 as tf",
        "from keras import ops",
        "from tensorflow.keras import (\n    layers,  # all of them\n    models,\n)",
        "import tensorflow_hub as hub",
        "from .lazy import tensorflow as tf",
        "from transformers import TFBertModel\nmodel = TFBertModel.from_pretrained('bert')",
        "from common import tf",
        "\ufeffimport keras",
        "try:\n  import tf_keras as keras\nexcept ImportError:\n  pass",
    ],
)
def test_a_file_that_imports_tensorflow_in_any_spelling_is_read(text: str) -> None:
    assert relevant({"one": text}) == {"one"}


@pytest.mark.parametrize("text", ["import numpy", "import os  # import keras", "import os\n# import tensorflow", ""])
def test_a_file_that_does_not_is_left_alone(text: str) -> None:
    assert relevant({"one": text}) == set()


def test_a_file_that_imports_one_that_does_is_read_however_it_says_so() -> None:
    texts = {"lib/net": "import tensorflow as tf", "lib/plain": "import os"}
    users = {"a": "from lib import net", "b": "import lib.net", "lib/c": "from .net import build", "d": "import json"}
    assert relevant(texts | users) == {"lib/net", "a", "b", "lib/c"}


def test_farther_off_a_file_is_read_that_uses_what_it_was_given() -> None:
    texts = {"net": "import keras", "api": "from net import build"}
    users = {"uses": "from api import build\nbuild().predict(x)", "lists": "import api\nprint(dir(api))"}
    assert relevant(texts | users) == {"net", "api", "uses"}


def test_a_compiled_function_is_followed_through_a_package() -> None:
    texts = {
        "lib/steps": "import tensorflow as tf\n@tf.function\ndef step(x):\n  pass",
        "lib/__init__": "from .steps import step",
    }
    assert "main" in relevant(texts | {"main": "from lib import step\nstep(1)"})


def test_modules_that_go_by_the_name_of_tensorflow_but_are_the_projects_own_do_not_count() -> None:
    texts = {"pkg/backend/keras": "import jax", "pkg/user": "from pkg.backend import keras"}
    assert relevant(texts) == set()


def test_a_folder_that_is_called_like_a_library_is_not_it_unless_it_has_its_parts() -> None:
    texts = {"examples/tensorflow/__init__": "", "examples/tensorflow/train": "import tensorflow as tf"}
    assert relevant(texts) == {"examples/tensorflow/train"}
    texts = {
        "keras/src/ops": "import jax",
        "keras/src/__init__": "",
        "keras/__init__": "",
        "keras/x": "import keras.src.ops",
    }
    assert relevant(texts) == set()


def test_what_an_import_names_is_told_from_the_text() -> None:
    said = imports_in(b"from ..a.b import c as d, e\nimport x.y as z, w\nfrom . import (\n  f,\n  g,\n)\n")
    assert list(said) == [("..a.b", ["c", "e"]), ("x.y", []), ("w", []), (".", ["f", "g"])]
