"""What a function does: the canonical names of all that it calls, through the project's own functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hotloop.source.module import Call, Module, Scope
from hotloop.source.noted import Noted
from hotloop.source.project import Project, Value

DEPTH = 6  # of calls that are followed
PYTHON_OPS = {"tf.py_function", "tf.numpy_function", "tf.py_func"}  # TensorFlow calls back into Python


@dataclass(frozen=True)
class Work:
    """`calls`: canonical names, and for what is not known its last name after a `?`.

    `inside` are the names of the project's own functions that were followed; `python` the Python functions that
    TensorFlow calls back, with `python_calls` for what they do.
    """

    calls: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()
    python: tuple[Call, ...] = ()
    python_calls: frozenset[str] = frozenset()
    operators: bool = False  # it computes with + - * /

    @property
    def words(self) -> frozenset[str]:
        """Every name there is, for those who search by meaning."""
        return self.calls | self.inside | self.python_calls


def work_of(scope: Scope, project: Project) -> Work:
    """What runs when a function of the project is called."""
    followed: set[Scope] = set()
    calls: set[str] = set()
    python: list[Call] = []
    python_calls: set[str] = set()
    queue = [(scope, 0, False)]
    while queue:
        at, depth, in_python = queue.pop()
        if at in followed or depth > DEPTH:
            continue
        followed.add(at)
        for call in calls_in(at):
            target = project.resolve(call.node.func, call.where.scope)
            if target is not None and target.scope is not None and target.kind in ("function", "traced"):
                queue.append((target.scope, depth + 1, in_python))
                continue
            name = target.name if target is not None and target.name else f"?{call.last}"
            (python_calls if in_python else calls).add(name)
            calls.update(_layers(call, name, project))
            if name in PYTHON_OPS:
                python.append(call)
                handed = _handed(call, project)
                if handed is not None and handed.scope is not None and handed.kind in ("function", "traced"):
                    queue.append((handed.scope, depth + 1, True))
                elif handed is not None and handed.kind == "name":  # `np.load` itself
                    python_calls.add(handed.name)
    inside = frozenset(s.name for s in followed)
    return Work(frozenset(calls), inside, tuple(python), frozenset(python_calls), _computes(scope))


def calls_in(scope: Scope) -> Iterator[Call]:
    """The calls in a function, with those of the functions and lambdas that are written in it."""
    return iter(_CALLS.of(scope.module, lambda: _ByScope(scope.module)).of(scope))


class _ByScope:
    """The calls of a module by function. What was read of it since the last time is looked at when somebody asks."""

    def __init__(self, module: Module) -> None:
        self._index = module.index
        self._seen = 0
        self._found: dict[Scope, list[Call]] = {}

    def of(self, function: Scope) -> Sequence[Call]:
        for call in self._index.calls[self._seen :]:
            scope: Scope | None = call.where.scope
            while scope is not None and scope.is_function:
                self._found.setdefault(scope, []).append(call)
                scope = scope.parent
        self._seen = len(self._index.calls)
        return self._found.get(function, ())


_CALLS: Noted[_ByScope] = Noted()


def _handed(call: Call, project: Project) -> Value | None:
    """The Python function that an op is to call."""
    function = call.argument(0, "func")
    return project.resolve(function, call.where.scope) if function is not None else None


def _layers(call: Call, name: str, project: Project) -> Iterator[str]:
    """The layers of a `keras.Sequential([...])` that is called: they are what it does."""
    if name != "keras.Sequential()" or not isinstance(call.node.func, ast.Name):
        return
    found = project.literal(call.node.func.id, call.where.scope)
    if found is None:
        return
    for node in ast.walk(found[0]):
        if isinstance(node, ast.Call):
            yield project.name_of(node.func, found[1])


def _computes(scope: Scope) -> bool:
    return any(isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp) for node in ast.walk(scope.node))
