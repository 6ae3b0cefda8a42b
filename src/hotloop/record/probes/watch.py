"""How a probe looks at a function: around each call, without changing it and without ever hurting it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from hotloop.record.log import Log

Enter = Callable[[tuple[Any, ...], dict[str, Any]], Any]
Leave = Callable[[Any, float, Any], None]

FAILED = object()  # what `leave` gets in place of a result when the call raised


def part(*paths: str) -> Any:
    """The first of `module:name.name` that is there, only from what is already imported. None is: a LookupError."""
    for path in paths:
        module, _, names = path.partition(":")
        found: Any = sys.modules.get(module)
        for name in names.split(".") if names else []:
            found = getattr(found, name, None)
        if found is not None:
            return found
    raise LookupError(paths[0])


def keras_part(package: str, three: str, two: str) -> Any:
    """Of the Keras imported as `package` (`keras` or `tf_keras`): where Keras 3 has it, Keras 2, and 2 up to 2.12."""
    return part(f"{package}.src.{three}", f"{package}.src.{two}", f"{package}.{two}")


def operations(graph: Any) -> int:
    """How many a graph has. Before 2.13 it could not be asked, but numbered them."""
    ask = getattr(graph, "num_operations", None)
    return int(ask() if ask is not None else graph.version)


def watch(log: Log, owner: Any, name: str, enter: Enter, leave: Leave) -> None:
    """Call `enter` before and `leave` after each call of `owner.name`; `enter` returns None to pass."""
    original = getattr(owner, name, None)
    if original is None:
        raise LookupError(f"{getattr(owner, '__name__', owner)}.{name}")
    quiet = False

    def fail(error: Exception) -> None:
        nonlocal quiet
        quiet = True
        log.note(f"`{name}` is watched no longer: {type(error).__name__}: {error}.")

    @functools.wraps(original)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if quiet or log.deaf:
            return original(*args, **kwargs)
        try:
            state = enter(args, kwargs)
        except Exception as error:  # noqa: BLE001  our own bookkeeping must never reach the program
            fail(error)
            return original(*args, **kwargs)
        if state is None:
            return original(*args, **kwargs)
        result: Any = FAILED
        started = perf_counter()
        try:
            result = original(*args, **kwargs)
            return result
        finally:
            seconds = perf_counter() - started
            try:
                leave(state, seconds, result)
            except Exception as error:  # noqa: BLE001  as above
                fail(error)

    disguise(watched, original)
    if not hasattr(original, "__wrapped__"):  # Keras reads its classes' signatures, and not through decorators
        with contextlib.suppress(TypeError, ValueError):
            watched.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    put(log, owner, name, watched)


def put(log: Log, owner: Any, name: str, watched: Any) -> None:
    """And remember how it was: a program that is watched for a while only gets everything back."""
    own = vars(owner)
    was = own.get(name)
    log.undo.append(functools.partial(setattr, owner, name, was) if name in own else lambda: delattr(owner, name))
    setattr(owner, name, watched)


def watch_everywhere(log: Log, owner: Any, name: str, enter: Enter, leave: Leave) -> None:
    """Like `watch`, of a module's function that TensorFlow or Keras also export under other modules."""
    original = getattr(owner, name, None)
    watch(log, owner, name, enter, leave)
    watched = getattr(owner, name)
    for key, module in list(sys.modules.items()):
        if (
            key.startswith(("tensorflow", "keras", "tf_keras"))
            and getattr(module, "__dict__", {}).get(name) is original
        ):
            put(log, module, name, watched)


def disguise(wrapper: Any, original: Any, filename: str = "") -> None:
    """Let the wrapper's frames pass for the original's.

    TensorFlow and Keras leave their own files out of the tracebacks they show; ours would look like the user's.
    """
    code = getattr(original, "__code__", None)
    wrapper.__code__ = wrapper.__code__.replace(
        co_filename=_unseen(code.co_filename) if code else filename or wrapper.__code__.co_filename,
        co_firstlineno=code.co_firstlineno if code else 1,
        co_name=original.__name__,
        co_qualname=original.__qualname__,
    )


def _unseen(filename: str) -> str:
    """A name in the same folder that `warnings` counts no frame of, as if it were Python's own import: a warning of
    the original's that is meant for its caller must not name us."""
    folder, name = os.path.split(filename)
    return os.path.join(folder, "importlib_bootstrap", os.pardir, name)


class Depth(threading.local):
    """How deep this thread is inside calls that are counted once."""

    level = 0


def watch_outermost(log: Log, depth: Depth, owner: Any, name: str, enter: Enter, leave: Leave) -> None:
    """Like `watch`, of the outermost call only among all that share `depth`."""

    def enter_once(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        depth.level += 1
        if depth.level > 1:
            return (None,)
        return (enter(args, kwargs),)

    def leave_once(state: Any, seconds: float, result: Any) -> None:
        depth.level -= 1
        if state[0] is not None:
            leave(state[0], seconds, result)

    watch(log, owner, name, enter_once, leave_once)
