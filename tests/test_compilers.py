"""Traces as TensorFlow 2.13 makes them, by a stand-in for it: a function has two compilers there, each with a cache."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hotloop.record.frames import Frames
from hotloop.record.log import Log
from hotloop.record.probes.compilers import HOME
from hotloop.record.probes.traces import Traces


class TracingCompiler:
    def __init__(self, function: Any) -> None:
        self._python_function, self._name = function, "step"
        self._function_cache = SimpleNamespace(_primary={})

    def _create_concrete_function(self, args: Any, kwargs: Any, func_graph: Any) -> None:
        pass

    def _maybe_define_function(self, value: float) -> None:
        target_func_type = _Type(value)
        self._create_concrete_function((), {}, SimpleNamespace(num_operations=lambda: 3))
        self._function_cache._primary["context", target_func_type] = None


class _Type:
    def __init__(self, value: float) -> None:
        self.parameters = {"lr": SimpleNamespace(type_constraint=SimpleNamespace(value=value))}


class Function:
    def __init__(self, function: Any) -> None:
        self._python_function = function

    def _compiler_with_scope(self, scope: Any) -> TracingCompiler:
        return TracingCompiler(self._python_function)


def invalid_creator_scope() -> None:
    pass


def step() -> None:
    pass


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    cache = "tensorflow.core.function.polymorphism.function_cache"
    modules: dict[str, Any] = {
        cache: SimpleNamespace(),
        f"{HOME}.polymorphic_function": SimpleNamespace(Function=Function),
        f"{HOME}.tracing_compiler": SimpleNamespace(TracingCompiler=TracingCompiler),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, f"{HOME}.tracing_compilation", raising=False)
    here = Path(__file__)
    return Log(Frames(here, here.parent), 0)


def test_the_second_compiler_of_a_function_goes_on_where_the_first_made_variables(log: Log) -> None:
    traces = Traces()
    traces.install_functions(log)
    traces.install_traces(log)
    try:
        for _ in range(2):  # a function, and then another of the same code
            function = Function(step)
            first = function._compiler_with_scope(step)
            first._maybe_define_function(0.1)
            second = function._compiler_with_scope(invalid_creator_scope)
            for value in (0.1, 0.2, 0.3):
                second._maybe_define_function(value)
    finally:
        while log.undo:
            log.undo.pop()()
    assert not log.unseen
    counts: dict[str, int] = {}
    for event in log.events():
        counts[event.kind] = counts.get(event.kind, 0) + event.count
    assert counts == {"function": 2, "trace.first": 1, "trace.new-function": 1, "trace.value": 4}
    again = next(event for event in log.events() if event.kind == "trace.value")
    assert (again.examples[0]["argument"], again.examples[0]["now"], again.examples[0]["before"]) == (
        "lr",
        "0.2",
        "0.1",
    )


def test_before_2_13_the_absence_is_said(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    older = SimpleNamespace(FunctionCacheKey=object)
    monkeypatch.setitem(sys.modules, "tensorflow.core.function.polymorphism.function_cache", older)
    with pytest.raises(LookupError):
        Traces().install_traces(log)
