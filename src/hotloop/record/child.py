"""Runs the user's program as `python program.py` would, inside the recorder. Run by path, never imported."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])  # hotloop itself, whichever way it is installed

import atexit  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import types  # noqa: E402
from importlib.machinery import SourceFileLoader  # noqa: E402
from typing import Any  # noqa: E402

from hotloop.model import Exit  # noqa: E402
from hotloop.record.stage import hide_frames, prepare  # noqa: E402

OPTIONS = json.loads(sys.argv[1])
PROGRAM = sys.argv[2]


def _main_module(path: str) -> types.ModuleType:
    """`__main__` as CPython makes it for a script."""
    module = types.ModuleType("__main__")
    loader = SourceFileLoader("__main__", path)
    module.__dict__.update(
        __file__=path, __loader__=loader, __builtins__=__builtins__, __annotations__={}, __cached__=None
    )
    return module


def _take_the_stage(path: str) -> types.ModuleType:
    sys.argv[:] = sys.argv[2:]
    sys.orig_argv[:] = [sys.executable, *sys.argv]
    if sys.flags.safe_path:
        del sys.path[0]
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    module = sys.modules["__main__"] = _main_module(path)
    return module


def _exit_of(error: BaseException) -> Exit:
    if isinstance(error, SystemExit):
        code = error.code
        return Exit(code if isinstance(code, int) else 0 if code is None else 1)
    told = f"{type(error).__name__}: {error}"[:500]
    return Exit(None, signal.SIGINT, told) if isinstance(error, KeyboardInterrupt) else Exit(1, exception=told)


def _hide_our_frames() -> None:
    """Whoever prints the uncaught exception must not see us. The interpreter itself does the rest as ever."""
    hook = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> Any:
        hide_frames(error)
        sys.last_traceback = error.__traceback__
        return hook(kind, error, error.__traceback__)

    sys.excepthook = excepthook


stage = prepare(Path(PROGRAM), sys.argv[2:], OPTIONS)
program = _take_the_stage(os.path.abspath(PROGRAM))
atexit.register(stage.close)  # the first registered runs last
try:
    code = stage.code or compile(Path(PROGRAM).read_bytes(), str(program.__file__), "exec", dont_inherit=True)
    stage.begin()
    exec(code, program.__dict__)
    stage.end(Exit(0))
except BaseException as error:
    stage.end(_exit_of(error))
    _hide_our_frames()
    raise
