"""A file that only names lead to is read function by function, and says what it says when it is read at once."""

from __future__ import annotations

import argparse
import ast
import inspect
import pydoc
import textwrap
from pathlib import Path

import pytest

import hotloop
from hotloop.source import Files, Project
from hotloop.source.building import parse
from hotloop.source.module import Binding, Module, Scope

OURS = sorted(Path(hotloop.__file__).parent.glob("source/*.py"))
OTHERS = [Path(str(inspect.getsourcefile(module))) for module in (argparse, ast, pydoc)]
TEXTS = {
    "a method under a test": "class A:\n    if X:\n        def f(self):\n            g()\n",
    "code in a string": 'X = """\ndef f():\n    g()\n"""\n\ndef h():\n    f()\n',
    "quotes in a string": 'def f():\n    return \'"""\'\n\ndef g():\n    f()\n\nX = \'"""\'\n',
    "quotes in a comment": 'def f():  # """\n    g()\n\ndef g():\n    """x"""\n',
    "nothing but methods": "class A:\n    def f(self):\n        g()\n\n    @property\n    def h(self):\n        f()\n",
    "methods in a nested class": "class A:\n  class B:\n    def f(self):\n      g()\n  def h(self):\n    f()\n",
    "a function that sets a global": "X = None\n\ndef f():\n    global X\n    X = g()\n",
    "names that are defined twice": "def f():\n    g()\n\nf = h(f)\n\ndef f():\n    k()\n",
    "several lines of parameters": "\n@a(\n    b\n)\ndef f(\n    x=g(),\n):\n    h()\n\nasync def k():\n    f()\n",
    "a line that is no line": "X = 1\rdef f():\r    g()\r",
    "another encoding": "# coding: latin-1\ndef f():\n    g('\xe9')\n\ndef h():\n    f()\n",
}


def read(data: bytes, whole: bool) -> Module:
    return parse(data, "m.py", Path("/m.py"), "m", whole)


def noted(module: Module) -> tuple[object, ...]:
    """All that is known of a module, each with where it stands."""
    return (
        ast.dump(module.tree, include_attributes=True),
        {(call.place, call.last, call.where.scope.qualname, len(call.where.tests)) for call in module.calls},
        {(loop.place, loop.kind, loop.where.scope.qualname) for loop in module.loops},
        {scope.qualname: (_bound(scope.bindings), _bound(scope.attributes)) for scope in module.scopes},
        len(module.contexts),
    )


def _bound(bindings: dict[str, list[Binding]]) -> dict[str, list[tuple[str, int]]]:
    return {name: [(one.kind, getattr(one.node, "lineno", 0)) for one in found] for name, found in bindings.items()}


@pytest.mark.parametrize("file", [*OURS, *OTHERS], ids=lambda file: str(file.name))
def test_what_is_read_bit_by_bit_is_in_the_end_what_is_read_at_once(file: Path) -> None:
    parts, whole = read(file.read_bytes(), whole=False), read(file.read_bytes(), whole=True)
    for word in ("self", "name", "return"):
        parts.read_saying(word)
    assert noted(parts) == noted(whole)
    assert not parts.deferred


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_looks_like_a_function_and_is_none_stays_where_it_is(text: str) -> None:
    data = text.encode("latin-1")
    parts = read(data, whole=False)
    assert [call.last for call in parts.calls_of("g")] == ["g"] * len(read(data, whole=True).called.get("g", []))
    assert noted(parts) == noted(read(data, whole=True))


def test_a_function_is_read_when_it_is_asked_for_and_no_other_is() -> None:
    text = """
    import tensorflow as tf

    def load():
        return tf.keras.models.load_model("model.keras")

    def other():
        unknown()

    class Labeller:
        def __init__(self):
            self.model = load()

        def label(self, path):
            return self.model.predict(path)
    """
    files = Files({Path("/m.py"): textwrap.dedent(text).encode()}, Path("/"))
    project = Project(files, [])
    module = files.module(Path("/m.py"))
    assert module is not None

    def unread() -> set[str]:
        return {one.name for one in module.deferred}

    assert unread() == {"load", "other", "__init__", "label"}
    labeller = module.scope.bound("Labeller")[0].scope
    assert isinstance(labeller, Scope)
    value = project.member(labeller, "model")
    assert value is not None
    assert value.name == "keras.models.load_model()"
    assert unread() == {"other"}
    assert [call.last for call in module.calls_of("unknown")] == ["unknown"]
    assert not unread()
