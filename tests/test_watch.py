"""What a probe looks at does not change."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hotloop.record.frames import Frames
from hotloop.record.log import Log
from hotloop.record.probes.sessions import _elements
from hotloop.record.probes.watch import FAILED, watch


class Layer:
    def __init__(self, units: int, *, name: str = "") -> None:
        """Makes a layer."""
        self.units, self.name = units, name

    @functools.cache  # noqa: B019
    def fails(self) -> None:
        raise ValueError


def test_a_watched_function_looks_like_itself_and_is_seen(tmp_path: Path) -> None:
    before, plain = inspect.getfullargspec(Layer.__init__), inspect.signature(Layer.__init__)
    seen: list[object] = []
    log = Log(Frames(tmp_path / "main.py", tmp_path), 0)
    for name in ("__init__", "fails"):
        watch(log, Layer, name, lambda args, kwargs: True, lambda state, seconds, result: seen.append(result))

    layer = Layer(3, name="first")
    assert inspect.getfullargspec(Layer.__init__) == before  # Keras asks a layer's constructor for its arguments
    assert inspect.signature(Layer.__init__) == plain
    assert Layer.__init__.__doc__ == "Makes a layer."
    assert (layer.units, layer.name, seen) == (3, "first", [None])
    try:
        layer.fails()
    except ValueError:
        seen.append("raised")
    assert seen == [None, FAILED, "raised"]


def test_a_warning_meant_for_the_caller_of_what_is_watched_still_names_it(tmp_path: Path) -> None:
    text = "import warnings\nclass Layer:\n    def __init__(self):\n        warnings.warn('Old.', stacklevel=2)\n"
    names: dict[str, Any] = {}
    exec(compile(text, "/lib/site-packages/keras/src/layers/layer.py", "exec"), names)
    watch(
        Log(Frames(tmp_path / "main.py", tmp_path), 0),
        names["Layer"],
        "__init__",
        lambda a, k: True,
        lambda s, t, r: None,
    )
    with pytest.warns(UserWarning, match="Old") as caught:
        names["Layer"]()
    assert caught[0].filename == __file__


def test_what_is_fed_has_a_size_only_where_it_says_a_number() -> None:
    class Picture:
        size = (640, 480)

    class Other:
        def size(self) -> int:
            return 6

    fed = {"a": SimpleNamespace(size=12), "b": Picture(), "c": Other(), "d": 1.0}
    assert _elements(fed) == 13
    assert _elements(None) == 0
