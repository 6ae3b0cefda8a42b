"""Runs the user's program as plain Python would, inside the recorder. Run by path, never imported."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCE = str(Path(__file__).resolve().parents[2])  # hotloop itself, whichever way it is installed
if sys.flags.safe_path:
    sys.path.insert(0, SOURCE)
else:
    sys.path[0] = SOURCE

import atexit  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import runpy  # noqa: E402
import signal  # noqa: E402
import types  # noqa: E402
from importlib.machinery import BuiltinImporter, SourceFileLoader  # noqa: E402
from typing import Any  # noqa: E402

from hotloop.model import Exit  # noqa: E402
from hotloop.record.stage import hide_frames, prepare  # noqa: E402
from hotloop.record.whereabouts import of_module  # noqa: E402
from hotloop.uttered import of_exception  # noqa: E402

OPTIONS = json.loads(sys.argv[1])
PROGRAM = sys.argv[2]


def _main_module(path: str) -> types.ModuleType:
    """`__main__` as CPython makes it: for a script, or, without a path, for `runpy` to fill."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__loader__=BuiltinImporter, __builtins__=__builtins__, __annotations__={})
    if path:
        module.__dict__.update(__loader__=SourceFileLoader("__main__", path), __file__=path, __cached__=None)
    return module


def _take_the_stage(path: str) -> types.ModuleType:
    sys.argv[:] = ["-m" if OPTIONS["module"] else PROGRAM, *sys.argv[3:]]
    sys.orig_argv[:] = OPTIONS["original"]
    if sys.flags.safe_path:
        sys.path.remove(SOURCE)
    else:
        sys.path[0] = os.getcwd() if OPTIONS["module"] else os.path.dirname(os.path.realpath(path))
    module = sys.modules["__main__"] = _main_module("" if OPTIONS["module"] else path)
    return module


def _exit_of(error: BaseException) -> Exit:
    if isinstance(error, SystemExit):
        code = error.code
        return Exit(code if isinstance(code, int) else 0 if code is None else 1)
    told = of_exception(f"{type(error).__name__}: {error}")
    return Exit(None, signal.SIGINT, told) if isinstance(error, KeyboardInterrupt) else Exit(1, exception=told)


def _hide_our_frames() -> None:
    """Whoever prints the uncaught exception must not see us. The interpreter itself does the rest as ever."""
    hook = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> Any:
        hide_frames(error)
        sys.last_traceback = error.__traceback__
        return hook(kind, error, error.__traceback__)

    sys.excepthook = excepthook


path = Path(os.path.abspath(PROGRAM))
if OPTIONS["module"]:
    where = of_module(PROGRAM, Path.cwd())
    if where is None:
        Path(OPTIONS["refusal"]).write_text(f"there is no module `{PROGRAM}`. Give one that `python -m` can run.")
        sys.exit(2)
    stage = prepare(where, OPTIONS["given"], OPTIONS)
else:
    stage = prepare(path, OPTIONS["given"], OPTIONS)
program = _take_the_stage(str(path))
atexit.register(stage.close)  # the first registered runs last
try:
    if OPTIONS["module"]:
        stage.begin()
        runpy._run_module_as_main(PROGRAM)  # type: ignore[attr-defined]  # what the interpreter itself calls
    else:
        code = stage.code or compile(path.read_bytes(), str(program.__file__), "exec", dont_inherit=True)
        stage.begin()
        exec(code, program.__dict__)
    stage.end(Exit(0))
except BaseException as error:
    stage.end(_exit_of(error))
    if not (stage.stopped and isinstance(error, KeyboardInterrupt)):  # else it did as we asked
        _hide_our_frames()
        raise
