"""Who turns Python into graphs and runs them: a function with one cache; up to TensorFlow 2.13, two compilers."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes.watch import FAILED, part, watch

HOME = "tensorflow.python.eager.polymorphic_function"


@dataclass(frozen=True)
class Asked:
    """A trace that is asked for."""

    function_type: Any
    graph: Any
    function: Any  # of Python
    name: str
    cache: Any
    owner: int  # id of what stands for the `tf.function`
    second: bool  # variables may not be made: the first trace may have made them


@dataclass(frozen=True)
class Tracer:
    """Where a version of TensorFlow traces, and how to read what it asks there."""

    module: Any  # or class, that has `_create_concrete_function`
    asked: Callable[[tuple[Any, ...]], Asked]
    owner: Callable[[Any], int]  # of a `tf.function` object


def tracer(log: Log) -> Tracer:
    if f"{HOME}.tracing_compilation" in sys.modules:
        return Tracer(part(f"{HOME}.tracing_compilation"), _of_options, lambda function: id(function._function_cache))
    return _of_compilers(log)


def _of_options(args: tuple[Any, ...]) -> Asked:
    function_type, _, graph, options = args
    cache = options.function_cache
    second = getattr(options.scope_type, "name", "") == "NO_VARIABLE_CREATION"
    return Asked(function_type, graph, options.python_function, options.name, cache, id(cache), second)


def _of_compilers(log: Log) -> Tracer:
    if hasattr(part("tensorflow.core.function.polymorphism.function_cache"), "FunctionCacheKey"):
        raise LookupError(f"{HOME}.tracing_compilation")  # before 2.12
    function = part(f"{HOME}.polymorphic_function:Function")
    compiler = part(f"{HOME}.tracing_compiler:TracingCompiler")
    made: weakref.WeakKeyDictionary[Any, tuple[int, bool]] = weakref.WeakKeyDictionary()

    def compiler_made(state: tuple[Any, Any], seconds: float, result: Any) -> None:
        if result is not FAILED:
            made[result] = id(state[0]), getattr(state[1], "__name__", "") == "invalid_creator_scope"

    def asked(args: tuple[Any, ...]) -> Asked:
        this = args[0]
        owner, second = made.get(this, (id(this), False))
        return Asked(_type_asked_for(), args[3], this._python_function, this._name, this._function_cache, owner, second)

    watch(log, function, "_compiler_with_scope", lambda args, kwargs: (args[0], args[1]), compiler_made)
    return Tracer(compiler, asked, id)


@dataclass(frozen=True)
class Caller:
    """Where a version of TensorFlow executes what it compiled: a method whose third argument are the tensors."""

    owner: Any
    method: str
    called: Callable[[tuple[Any, ...]], bytes | None]  # the function's name; None inside a trace, where nothing runs


def callers() -> Caller:
    context = part("tensorflow.python.eager.context:Context")
    if hasattr(context, "call_function"):
        return Caller(context, "call_function", lambda args: args[1])
    function = part(f"{HOME}.monomorphic_function:_EagerDefinedFunction")  # up to 2.12
    return Caller(function, "call", lambda args: args[0].name if args[1].executing_eagerly() else None)


def _type_asked_for() -> Any:
    """Known to the caller alone."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_maybe_define_function":
        frame = frame.f_back
    return frame.f_locals["target_func_type"] if frame is not None else None
