"""Who calls whom: linked module by module, when somebody asks for the callers of a function."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hotloop.source.module import Call, Module, Scope

if TYPE_CHECKING:
    from hotloop.source.project import Project, Value

WRAPS = re.compile(r"(^|_|\.)(tf_)?(function|defun|jit)$")
TRACES = ("tf.data.", "tf.map_fn", "tf.while_loop", "tf.cond", "tf.function", "tf.vectorized_map")
CALLS_ONCE = {
    "run",
    "submit",
    "apply",
    "apply_async",
    "experimental_run_v2",
}  # strategy.run(f), executor.submit(f)
CALLS_EACH = {"map", "imap", "imap_unordered", "starmap"}  # pool.map(f, xs)


class Links:
    def __init__(self, project: Project) -> None:
        self._project = project
        self.linking = False  # while it is, callers are not known, and what hangs on them is left open
        self._callers: dict[Scope, list[Call]] = {}
        self._mapped: dict[Scope, list[Call]] = {}  # `map(f, xs)`: f runs once per x
        self._handed: set[Scope] = set()  # to TensorFlow, which traces it
        self._linked: set[Module] = set()
        self._unclear: dict[str, dict[Module, list[Call]]] = {}  # by method: calls on what only callers can tell
        self._asked: set[Scope] = set()

    def callers(self, scope: Scope) -> Sequence[Call]:
        """The calls of a function of the project, or of a class's `__init__`, wherever they stand."""
        self._ask(scope)
        return self._callers.get(scope, ())

    def mapped(self, scope: Scope) -> Sequence[Call]:
        self._ask(scope)
        return self._mapped.get(scope, ())

    def is_handed(self, scope: Scope) -> bool:
        self._ask(scope)
        return scope in self._handed

    def _ask(self, scope: Scope) -> None:
        """Look wherever the scope's name stands. Who asks meanwhile, in a circle, gets what is known so far."""
        if scope in self._asked or self.linking:
            return
        self._asked.add(scope)
        made = scope.name in ("__init__", "__call__", "call", "<lambda>") and scope.parent is not None
        name = scope.parent.name if made and scope.parent else scope.name
        found = [self._project.files.module(file) for file in self._project.files.speaking_of(name, scope.module.file)]
        for module in found:
            if module is not None and module not in self._linked:
                self._link(module)
        unclear = self._unclear.get(scope.name, {})
        for module in found:
            for call in unclear.pop(module, ()) if module is not None else ():
                self._link_call(call)

    def _link(self, module: Module) -> None:
        """Note whom each call of a module calls. What hangs on the callers of its function waits until it is asked."""
        self._linked.add(module)
        self.linking = True
        try:
            for call in module.calls:
                func = call.node.func
                if isinstance(func, ast.Attribute) and not self._project.files.knows(func.attr):
                    if any(self._may_be_function(argument) for argument in call.node.args):
                        self._link_arguments(call, self._project.resolve(func, call.where.scope))
                elif not self._link_call(call) and isinstance(func, ast.Attribute):
                    self._unclear.setdefault(func.attr, {}).setdefault(module, []).append(call)
        finally:
            self.linking = False
            self._project.forget_open()

    def _link_call(self, call: Call) -> bool:
        target = self._project.resolve(call.node.func, call.where.scope)
        if target and target.scope is not None:
            callee = target.scope
            if target.kind == "class":
                made = self._project.member(callee, "__init__")
                callee = made.scope if made and made.scope else callee
            elif target.kind == "object":
                method = self._project.member(callee, "__call__") or self._project.member(callee, "call")
                callee = method.scope if method and method.scope else callee
            self._callers.setdefault(callee, []).append(call)
        self._link_arguments(call, target)
        return target is not None

    def _link_arguments(self, call: Call, target: Value | None) -> None:
        """Functions that are handed over: `tf.function(step)`, `ds.map(parse)`, `pool.map(classify, paths)`."""
        handed = [argument for argument in call.node.args if self._may_be_function(argument)]
        handed += [k.value for k in call.node.keywords if k.arg == "target" and self._may_be_function(k.value)]
        if not handed:
            return
        name = target.name if target else ""
        attribute = call.node.func.attr if isinstance(call.node.func, ast.Attribute) else ""
        for argument in handed:
            passed = self._project.resolve(argument, call.where.scope)
            if not passed or passed.kind not in ("function", "traced") or passed.scope is None:
                continue
            if (name.startswith(TRACES) and not name.endswith("from_generator")) or WRAPS.search(attribute or name):
                self._handed.add(passed.scope)  # also `common.function(self._train)`: somebody's own tf.function
            elif attribute == "map" and len(call.node.args) == 1:
                self._handed.add(passed.scope)  # a dataset's map: pools and the builtin take two arguments
            elif (isinstance(call.node.func, ast.Name) and call.node.func.id == "map") or attribute in CALLS_EACH:
                self._mapped.setdefault(passed.scope, []).append(call)
            elif attribute in CALLS_ONCE:
                self._callers.setdefault(passed.scope, []).append(call)

    def _may_be_function(self, argument: ast.expr) -> bool:
        match argument:
            case ast.Lambda():
                return True
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return self._project.files.knows(name)
        return False
