"""Every trace of a tf.function: how long, how large, and what about its arguments was new."""

from __future__ import annotations

import re
import threading
import weakref
from typing import Any

from hotloop.record.frames import Stack, short_path
from hotloop.record.log import Alike, Log, Tally
from hotloop.record.memory import rss_reader
from hotloop.record.probes import doubles
from hotloop.record.probes.compilers import Asked, Tracer, callers, tracer
from hotloop.record.probes.signature import difference, taken
from hotloop.record.probes.unrolled import loop_in
from hotloop.record.probes.watch import FAILED, operations, part, watch

_COMPARED = 4  # comparing with all of a 300-entry cache costs 45%
LONG = 0.1  # seconds of a trace, from which it is asked why
_ARGUMENTS = 8  # of a call, whose size is looked at: what a function captures follows them
_NAME = re.compile(r"^__(?:inference|forward|backward)_(.+?)_\d+$")

CodeKey = tuple[str, int, str]


class _Open(threading.local):
    """Seconds and bytes of the traces inside those that are running, outermost first."""

    def __init__(self) -> None:
        self.inner: list[list[float]] = []


class _Calls:
    """One concrete function's executions."""

    __slots__ = ("alike", "first", "runs", "tally", "trace")

    def __init__(self, tally: Tally, trace: Tally | None) -> None:
        self.alike = Alike()
        self.runs = 0  # that were looked at
        self.first = 0.0
        self.tally = tally
        self.trace = trace


class Traces:
    def __init__(self) -> None:
        self._open = _Open()
        self._rss = rss_reader()
        self._known: set[tuple[CodeKey, str, int]] = set()  # code that was traced, by whichever object
        self._created: dict[int, str] = {}  # by id of what stands for a living function: where it was made
        self._tracer: Tracer | None = None
        self._first_of: dict[int, str] = {}  # likewise: the kind of its first trace
        self._latest: dict[str, Tally] = {}  # by function name, to find the trace that a first execution belongs to
        self._calls: dict[bytes, _Calls] = {}

    # -- functions made ----------------------------------------------------------------------------

    def install_functions(self, log: Log) -> None:
        owner = self._traces_of(log).owner
        function = part("tensorflow.python.eager.polymorphic_function.polymorphic_function:Function")

        def made(state: Any, seconds: float, result: Any) -> None:
            if result is FAILED:
                return
            this = owner(state)
            self._forget(this)
            weakref.finalize(state, self._forget, this).atexit = False
            line = log.frames.nearest_user()
            if line is None:
                return
            self._created[this] = f"{line[0]}:{line[1]}"
            name, defined, is_users = definition(log, state._python_function)
            log.emit(
                "function",
                name,
                seconds,
                example={"function": name, "defined": defined, "user_defined": is_users},
            )

        watch(log, function, "__init__", lambda args, kwargs: args[0], made)

    def _traces_of(self, log: Log) -> Tracer:
        self._tracer = self._tracer or tracer(log)
        return self._tracer

    def _forget(self, owner: int) -> None:
        self._created.pop(owner, None)
        self._first_of.pop(owner, None)

    # -- traces ------------------------------------------------------------------------------------

    def install_traces(self, log: Log) -> None:
        traces = self._traces_of(log)

        def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            asked = traces.asked(args)
            stack = log.frames.here()
            what = self._classify(log, asked, stack)
            self._open.inner.append([0.0, 0.0])
            return what, stack, asked, self._rss()

        def ends(state: Any, seconds: float, result: Any) -> None:
            (kind, again, example), stack, asked, before = state
            inner_seconds, inner_bytes = self._open.inner.pop()
            grown = float(self._rss() - before)
            if self._open.inner:
                self._open.inner[-1][0] += seconds
                self._open.inner[-1][1] += grown
            if result is FAILED:
                return
            own = max(0.0, seconds - inner_seconds)
            log.traced += own
            totals = {
                "ops": float(operations(asked.graph)),
                "trace_seconds": own,
                "first_run_seconds": 0.0,
                "bytes": max(0.0, grown - inner_bytes),
                **doubles.traced(asked.graph),
            }
            name = example["function"]
            tally = log.tally(kind, name, stack)
            tally.add(own, totals, None if again else {**example, "ops": totals["ops"]}, count=0 if again else 1)
            if own > LONG and (unrolled := loop_in(asked.graph, log.frames)):
                log.emit("unrolled", name, stack=stack, example=unrolled)
            self._latest[_base_name(asked.name)] = tally

        watch(log, traces.module, "_create_concrete_function", begins, ends)

    def _classify(self, log: Log, asked: Asked, stack: Stack) -> tuple[str, bool, dict[str, Any]]:
        """Kind; whether it belongs to the trace before (variables made on the first call); what to show."""
        name, defined, is_users = definition(log, asked.function)
        example: dict[str, Any] = {"function": name, "defined": defined, "user_defined": is_users}
        example["created"] = self._created.get(asked.owner, "")
        earlier = _latest_types(asked.cache)
        first = self._first_of.get(asked.owner, "trace.first")
        if not earlier and not (asked.second and asked.owner in self._first_of):
            known = self._code(asked.function, is_users, stack)
            kind = "trace.new-function" if known in self._known else "trace.first"
            self._known.add(known)
            if asked.cache is not None:
                self._first_of[asked.owner] = kind
            return kind, False, example
        kind, argument, now, before = difference(asked.function_type, earlier)
        if kind == "same" and asked.second:
            return first, True, example
        example |= {"argument": argument, "now": now, "before": before}
        if kind == "shape":
            example["taken"] = taken(asked.function_type)
        return f"trace.{'other' if kind == 'same' else kind}", False, example

    def _code(self, function: Any, is_users: bool, stack: Stack) -> tuple[CodeKey, str, int]:
        code = getattr(unwrapped(function), "__code__", None)
        key = (code.co_filename, code.co_firstlineno, code.co_name) if code else ("", 0, repr(type(function)))
        # TensorFlow's and Keras' own functions are the same code for everybody: the user's line tells which.
        path, line = ("", 0) if is_users or not stack else stack[0]
        return key, path, line

    # -- executions --------------------------------------------------------------------------------

    def install_calls(self, log: Log) -> None:
        caller = callers()

        def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            name = caller.called(args)
            if name is None:
                return None
            calls = self._calls.get(name)
            if calls is None:
                calls = self._calls[name] = self._new_calls(log, name)
            if calls.alike.passes():
                return None
            before = log.doing
            if not calls.runs:
                log.doing = "trace"  # the first execution carries TensorFlow's preparation of the function
            log.handed += _elements(args) * calls.alike.stands_for
            return calls, before

        def ends(state: Any, seconds: float, result: Any) -> None:
            calls, log.doing = state
            calls.runs += 1
            calls.alike.add(calls.tally, seconds)
            if calls.runs <= 2 and calls.trace is not None:
                self._charge(log, calls, seconds)

        watch(log, caller.owner, caller.method, begins, ends)

    def _new_calls(self, log: Log, name: bytes) -> _Calls:
        base = _base_name(name.decode("utf-8", "replace"))
        return _Calls(log.tally("call", base, log.frames.here()), self._latest.get(base))

    def _charge(self, log: Log, calls: _Calls, seconds: float) -> None:
        """The first execution belongs to its trace; the second shows how much of it was the work itself."""
        if calls.runs == 1:
            calls.first = extra = seconds
        else:
            extra = -min(calls.first, seconds)
        assert calls.trace is not None
        calls.trace.add(extra, {"first_run_seconds": extra}, count=0)
        log.traced += extra


def _elements(args: tuple[Any, ...]) -> int:
    """How many a compiled function is handed; 0 where this TensorFlow does not say."""
    try:
        return sum([tensor._num_elements() for tensor in args[2][:_ARGUMENTS]])
    except (AttributeError, IndexError, TypeError):
        return 0


def unwrapped(function: Any) -> Any:
    """The function as its author wrote it: through decorators, partials and bound methods."""
    for _ in range(20):
        inner = (
            getattr(function, "__wrapped__", None)
            or getattr(function, "__func__", None)
            or getattr(function, "func", None)
            or getattr(function, "_python_function", None)
            or getattr(function, "_func", None)  # what `py_function` makes of one
        )
        if inner is None or inner is function:
            break
        function = inner
    return function


def definition(log: Log, function: Any) -> tuple[str, str, bool]:
    """Name, `path:line`, and whether it is the user's own code."""
    inner = unwrapped(function)
    code = getattr(inner, "__code__", None)
    name = str(getattr(inner, "__name__", None) or type(inner).__name__)
    if code is None:
        return name, "", False
    shown = log.frames.shown(code.co_filename)
    return name, f"{shown or short_path(code.co_filename)}:{code.co_firstlineno}", bool(shown)


def _latest_types(cache: Any) -> list[Any]:
    primary = getattr(cache, "_primary", None) or {}
    found = []
    for _, function_type in reversed(primary):
        found.append(function_type)
        if len(found) == _COMPARED:
            break
    return found


def _base_name(name: str) -> str:
    match = _NAME.match(name)
    return match[1] if match else name
