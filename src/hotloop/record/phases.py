"""Which phase a stack is in, told by the functions of TensorFlow and Keras that stand on it."""

from __future__ import annotations

import os
import types

from hotloop.record.frames import HERE, Frames, Stack

CODES = 10_000  # remembered
_Meaning = tuple[types.CodeType, bool, str, bool]  # the code, held for its id; the user's; which phase it marks; a leaf

# By phase: (end of the file's path, names of functions, or of methods with their class; none: all of the file). The
# first in ORDER wins.
MARKS: dict[str, tuple[tuple[str, frozenset[str]], ...]] = {
    "trace": (
        ("polymorphic_function/tracing_compilation.py", frozenset({"_maybe_define_function"})),
        ("polymorphic_function/tracing_compiler.py", frozenset({"_maybe_define_function"})),  # up to 2.13
        ("framework/func_graph.py", frozenset({"func_graph_from_py_func"})),
        ("framework/op_def_library.py", frozenset({"_apply_op_helper"})),
        ("framework/ops.py", frozenset({"_create_op_internal", "_create_graph_constant"})),
        ("ops/gradients_util.py", frozenset({"_GradientsHelper"})),
    ),
    "setup": (
        (
            "client/session.py",  # whose other constructors are those of each run's own fetches
            frozenset({"BaseSession.__init__", "Session.__init__", "InteractiveSession.__init__", "_extend_graph"}),
        ),
        ("framework/importer.py", frozenset()),
        ("saved_model/load.py", frozenset()),
        ("checkpoint/checkpoint.py", frozenset({"restore", "read"})),
        ("training/saver.py", frozenset({"restore"})),
        ("saving/saving_lib.py", frozenset()),
        ("saving/legacy_h5_format.py", frozenset()),
        ("saving/saving_api.py", frozenset()),
        (
            "tensorflow/trainer.py",
            frozenset(
                {
                    "make_train_function",
                    "make_test_function",
                    "make_predict_function",
                    "_maybe_symbolic_build",
                }
            ),
        ),
        ("trainers/trainer.py", frozenset({"compile", "_symbolic_build"})),
        (
            "engine/training.py",  # Keras 2
            frozenset({"make_train_function", "make_test_function", "make_predict_function", "compile"}),
        ),
        ("legacy/hdf5_format.py", frozenset()),
    ),
    "input": (
        (
            "data/ops/iterator_ops.py",
            frozenset({"__next__", "next", "get_next", "_next_internal", "__init__"}),
        ),
        # From the program's own threads and processes.
        ("queue.py", frozenset({"Queue.get", "_PySimpleQueue.get"})),
        ("multiprocessing/queues.py", frozenset({"Queue.get", "SimpleQueue.get"})),
        ("multiprocessing/pool.py", frozenset({"IMapIterator.next", "ApplyResult.get", "ApplyResult.wait"})),
        ("concurrent/futures/_base.py", frozenset({"Future.result", "as_completed"})),
    ),
    "fetch": (
        (
            "framework/ops.py",
            frozenset({"numpy", "_numpy", "_numpy_internal", "__array__", "__float__", "__int__"}),
        ),
        ("tensorflow/core.py", frozenset({"convert_to_numpy"})),
    ),
}
IDLE = frozenset({"python", "library"})  # in which TensorFlow does nothing
ORDER = ("trace", "setup", "input", "fetch")

# Here the stack ends when C++ is at work.
LEAVES: tuple[tuple[str, frozenset[str]], ...] = (
    ("python/pywrap_tfe.py", frozenset()),
    ("eager/execute.py", frozenset({"quick_execute", "execute_with_cancellation"})),
    ("client/session.py", frozenset({"_call_tf_sessionrun", "_run_fn"})),
    ("eager/context.py", frozenset({"call_function"})),
    ("eager/imperative_grad.py", frozenset({"imperative_grad"})),
    ("framework/constant_op.py", frozenset({"convert_to_eager_tensor"})),
)


class Phases:
    """Reads stacks. What a code object means is decided once, by its file and name."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._known: dict[int, _Meaning] = {}  # by id of the code

    def read(self, frame: types.FrameType | None, doing: str) -> tuple[str, Stack]:
        """The phase, and the user's lines innermost first."""
        marks: set[str] = set()
        leaf = ""
        known = self._known
        while frame is not None and frame.f_code.co_filename.startswith(HERE):
            frame = frame.f_back  # our own bookkeeping is the caller's time
        users: types.FrameType | None = None
        while frame is not None:
            code = frame.f_code
            _, is_users, mark, is_leaf = known.get(id(code)) or self._look_up(code)
            if is_users and users is None:
                users = frame
            if users is None:
                leaf = leaf or ("compute" if is_leaf else "library")
                marks.add(mark)
            elif mark == "trace" or "trace" in marks:  # the user's own code may be running inside a trace
                marks.add(mark)
                break
            frame = frame.f_back
        return self._decide(marks, leaf, doing), self._frames.stack(users)

    def _decide(self, marks: set[str], leaf: str, doing: str) -> str:
        if "trace" in marks:
            return "trace"
        if doing:
            return doing
        for phase in ORDER:
            if phase in marks:
                return phase
        return leaf or "python"

    def _look_up(self, code: types.CodeType) -> _Meaning:
        key = (code.co_filename, code.co_qualname)
        mark = next((phase for phase in ORDER if any(_matches(key, mark) for mark in MARKS[phase])), "")
        if len(self._known) >= CODES:
            self._known.clear()
        meaning = code, bool(self._frames.shown(code.co_filename)), mark, _is_leaf(key)
        self._known[id(code)] = meaning
        return meaning


def _is_leaf(key: tuple[str, str]) -> bool:
    name = os.path.basename(key[0])
    return (name.startswith("gen_") and name.endswith("_ops.py")) or any(_matches(key, mark) for mark in LEAVES)


def _matches(key: tuple[str, str], mark: tuple[str, frozenset[str]]) -> bool:
    filename, name = key
    ending, names = mark
    if not filename.replace(os.sep, "/").endswith("/" + ending):
        return False
    return not names or name in names or name.rpartition(".")[2] in names
