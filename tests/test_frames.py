"""Whose a line is: the user's, TensorFlow's, or somebody else's."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from hotloop.record.frames import Frames, package_of, short_path


def test_a_library_is_known_by_the_folder_that_packages_are_installed_in() -> None:
    assert package_of("/usr/lib/python3/dist-packages/keras/src/trainer.py") == "keras"
    assert short_path("/env/lib/site-packages/tensorflow/python/ops.py") == "tensorflow/python/ops.py"
    assert package_of("/home/me/project/keras/train.py") == ""


def test_tensorflow_is_known_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PYTHONPATH, say, or in a folder of the project itself."""
    folder = tmp_path / "libs" / "tensorflow"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "ops.py").write_text("")
    module = types.ModuleType("tensorflow")
    module.__file__ = str(folder / "__init__.py")
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    assert package_of(str(folder / "ops.py")) == "tensorflow"
    assert short_path(str(folder / "ops.py")) == "tensorflow/ops.py"
    (tmp_path / "train.py").write_text("")
    frames = Frames(tmp_path / "train.py", tmp_path)
    assert frames.shown(str(tmp_path / "train.py")) == "train.py"
    assert frames.shown(str(folder / "ops.py")) == ""


def test_a_jump_that_python_made_up_has_the_line_before_it(tmp_path: Path) -> None:
    """A sample may fall on it: there another thread gets its turn."""
    source = "for i in range(9):\n    if i in ():\n        print(i)\n"
    code = compile(source, str(tmp_path / "train.py"), "exec")
    (tmp_path / "train.py").write_text(source)
    frames = Frames(tmp_path / "train.py", tmp_path)
    made_up = [start for start, _, line in code.co_lines() if line is None]
    for at in made_up or [len(code.co_code) - 2]:
        frame = SimpleNamespace(f_code=code, f_lasti=at, f_lineno=None, f_back=None)
        ((path, line),) = frames.stack(cast(types.FrameType, frame))
        assert (path, line) in {("train.py", number) for number in (1, 2, 3)}
