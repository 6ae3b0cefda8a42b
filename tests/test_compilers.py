"""Older TensorFlow by stand-ins: up to 2.13 a function has two compilers, each with a cache; 2.12 has other names."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hotloop.record.frames import Frames
from hotloop.record.log import Log
from hotloop.record.probes import built
from hotloop.record.probes.compilers import HOME
from hotloop.record.probes.data import Pipelines
from hotloop.record.probes.keras import KerasLoops
from hotloop.record.probes.switches import Switches
from hotloop.record.probes.traces import Traces
from hotloop.record.probes.unrolled import BIG, install_constants


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


class EagerDefinedFunction:
    """What 2.12 executes a compiled function by, in a trace too."""

    name = b"__inference_step_7"

    def call(self, ctx: Any, args: Any, cancellation_manager: Any = None) -> str:
        return "result"


class _Type:
    def __init__(self, value: float) -> None:
        self.parameters = {"lr": SimpleNamespace(type_constraint=SimpleNamespace(value=value))}


class Function:
    def __init__(self, function: Any) -> None:
        self._python_function = function

    def __call__(self) -> None:
        pass

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


def undo(log: Log) -> None:
    while log.undo:
        log.undo.pop()()


def tensorflow_2_12(monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
    modules: dict[str, Any] = {
        "tensorflow.python.eager.context": SimpleNamespace(Context=object, executing_eagerly=lambda: False),
        f"{HOME}.monomorphic_function": SimpleNamespace(_EagerDefinedFunction=EagerDefinedFunction),
        "tensorflow.python.framework.ops": SimpleNamespace(),
    }
    for name, module in {**modules, **more}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, f"{HOME}.eager_function_run", raising=False)


def test_compiled_calls_of_2_12_are_counted_where_they_run(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    tensorflow_2_12(monkeypatch)
    Traces().install_calls(log)
    try:
        for eagerly in (True, True, False):  # the last inside a trace, where it becomes part of the graph
            context = SimpleNamespace(executing_eagerly=lambda eagerly=eagerly: eagerly)
            assert EagerDefinedFunction().call(context, []) == "result"
    finally:
        undo(log)
    assert [(event.kind, event.subject, event.count) for event in log.events()] == [("call", "step", 2)]
    assert not log.unseen


def test_large_constants_of_2_12_are_seen_in_graphs_alone(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(op=SimpleNamespace(traceback=[]))
    constants = SimpleNamespace(_constant_impl=lambda value, dtype: made)
    tensorflow_2_12(monkeypatch, **{"tensorflow.python.framework.constant_op": constants})
    eagerly = [True, False]
    monkeypatch.setattr(sys.modules["tensorflow.python.eager.context"], "executing_eagerly", lambda: eagerly.pop())
    install_constants(log)
    constants._constant_impl(SimpleNamespace(nbytes=10), None)
    for _ in range(2):
        constants._constant_impl(SimpleNamespace(nbytes=BIG), None)
    assert [(event.kind, event.count, event.totals["bytes"]) for event in log.events()] == [("constant", 1, BIG)]


def test_the_line_that_makes_functions_of_2_12_run_eagerly_is_known(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(Function=Function, run_functions_eagerly=lambda run_eagerly: None)
    tensorflow_2_12(monkeypatch, **{f"{HOME}.polymorphic_function": module})
    switches = Switches()
    switches.install_eagerly(log)
    try:
        module.run_functions_eagerly(True)
        assert switches.eagerly.startswith(f"{Path(__file__).name}:")
        module.run_functions_eagerly(False)
        assert switches.eagerly == ""
    finally:
        undo(log)
    assert not log.unseen


def test_keras_2_beside_keras_3_is_seen_as_well(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    class Layer:
        def __init__(self) -> None:
            pass

    class Model(Layer):
        def compile(self) -> None:
            pass

    places = {
        "layers.layer": "Layer",
        "metrics.metric": "Metric",
        "models.model": "Model",
        "trainers.trainer": "Trainer",
    }
    for place, name in {**places, "optimizers.base_optimizer": "BaseOptimizer"}.items():
        monkeypatch.setitem(sys.modules, f"keras.src.{place}", SimpleNamespace(**{name: type(name, (), {})}))
    older = {"engine.base_layer": ("Layer", Layer), "engine.training": ("Model", Model)}
    for place, (name, kind) in {**older, "optimizers.optimizer": ("Optimizer", type("Optimizer", (), {}))}.items():
        monkeypatch.setitem(sys.modules, f"tf_keras.src.{place}", SimpleNamespace(**{name: kind}))
    built.install(log, "tf_keras")
    KerasLoops([], Switches(), Pipelines()).install_compile(log, "tf_keras")
    Model().compile()
    seen = {(event.kind, event.subject, event.totals.get("models", 0.0)) for event in log.events()}
    assert seen == {("built", "Model", 1.0), ("compile", "", 0.0)}


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
        undo(log)
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


def test_before_2_12_the_absence_is_said(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    older = SimpleNamespace(FunctionCacheKey=object)
    monkeypatch.setitem(sys.modules, "tensorflow.core.function.polymorphism.function_cache", older)
    with pytest.raises(LookupError):
        Traces().install_traces(log)
