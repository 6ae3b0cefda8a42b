"""What becomes of an object that a step makes: kept, part of something larger, used again and again, or used once."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from hotloop.source.flow import in_loop as stands_in
from hotloop.source.flow import varies
from hotloop.source.module import Call, Comprehension, Context, Scope, names_read, names_stored

if TYPE_CHECKING:
    from hotloop.rules.loops import InLoop
    from hotloop.source import Project

KEEPERS = {"append", "extend", "add", "insert", "setattr", "put", "register", "setdefault", "update", "set"}
TRAINS = {"fit", "fit_generator", "train_on_batch"}
ROUNDS = {"fit", "fit_generator", "evaluate"}
SYMBOLIC = {"keras.Input", "keras.layers.Input", "keras.Model", "keras.Sequential", "tf.placeholder"}
DATA_WORDS = re.compile(r"image|img|photo|path|file|frame|batch|sample|example|row|record|dataset|\bds\b|sentence|text")


class Made:
    """One object made by `call`, and the statement of the step that has it: the call's own, or a caller's."""

    def __init__(self, call: Call, found: InLoop, project: Project) -> None:
        self.call, self.found, self.project = call, found, project
        self.node: ast.AST = call.node
        self.where: Context = call.where
        self.chain = found.chain
        self.names = self._bound()
        while self._is_returned() and self.chain:
            self.node, self.where, self.chain = self.chain[-1].node, self.chain[-1].where, self.chain[:-1]
            self.names = self._bound()

    @property
    def scope(self) -> Scope:
        return self.where.scope

    def _bound(self) -> set[str]:
        """The names that the statement binds to it."""
        statement = self.where.statement
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if self.node is statement.value or isinstance(statement.value, ast.Tuple):
                return {name for target in targets for name in names_stored(target)}
        return set()

    def _is_returned(self) -> bool:
        statement = self.where.statement
        if isinstance(statement, ast.Return):
            return True
        return any(self.names & _read_outside_calls(r) for r in self.scope.returns)

    def _holders(self) -> list[ast.AST]:
        """The nodes around it within its statement, outermost first."""
        statement = self.where.statement
        path: list[ast.AST] = []

        def down(node: ast.AST) -> bool:
            if node is self.node:
                return True
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.stmt) and down(child):
                    path.append(node)
                    return True
            return False

        if statement is not None:
            down(statement)
        return path[::-1]

    def _step(self) -> ast.AST:
        """What one step executes of the scope: the loop's body, or a whole function that the loop calls."""
        return self.scope.node if self.chain else self.found.loop.node

    def is_kept(self) -> bool:
        """In a list, a dict or an attribute: there will be many of them."""
        statement = self.where.statement
        if any(isinstance(target, ast.Attribute | ast.Subscript) for target in _targets(statement)):
            return True
        if isinstance(statement, ast.Return) or self._is_returned() or self.scope.yields:
            return True
        for node in ast.walk(self._step()):
            if isinstance(node, ast.Call) and _called(node) in KEEPERS and self.names & _handed(node):
                return True
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets):
                if self.names & _bare(node.value):
                    return True
        return self._is_element()

    def _is_element(self) -> bool:
        """The element of a comprehension, of a list or of a dict."""
        holders = self._holders()
        return bool(holders) and isinstance(holders[-1], Comprehension | ast.List | ast.Tuple | ast.Dict)

    def is_part(self) -> bool:
        """An argument of another call (`model.add(...)`, `compile(optimizer=...)`, a wrapper), now or later."""
        inner: ast.AST = self.node
        for holder in reversed(self._holders()):
            if isinstance(holder, Comprehension):
                break
            if isinstance(holder, ast.Call) and inner is not holder.func:
                result = inner is not self.node and isinstance(inner, ast.Call)  # `f(Dense(1)(x))` hands that on
                return not result and not self._is_function(holder)
            inner = holder
        return any(self.names & _handed(call.node) and self._builds(call) for call in self._calls())

    def _is_function(self, call: ast.Call) -> bool:
        """A function of the project, which uses what it is given."""
        value = self.project.resolve(call.func, self.scope)
        return value is not None and value.kind in ("function", "traced")

    def _builds(self, call: Call) -> bool:
        name = self.project.name_of(call.node.func, call.where.scope)
        return name.startswith("keras.") or _called(call.node) == "compile"

    def _calls(self) -> list[Call]:
        return [c for c in self.scope.module.calls if c.where.scope is self.scope]

    def _uses(self) -> list[Call]:
        """Calls of the object or of its methods, where it has a name."""
        found = []
        for call in self._calls():
            func = call.node.func
            root = func.value if isinstance(func, ast.Attribute) else func
            if isinstance(root, ast.Name) and root.id in self.names:
                found.append(call)
        return found

    def is_used_in_loop(self) -> bool:
        """In a loop inside the step: one object per task, used many times."""
        mine = self.where.loop
        return any(
            call.where.loop is not mine and (mine is None or stands_in(call.where, mine)) for call in self._uses()
        ) or any(self.names & _handed(c.node) and c.where.loop is not mine for c in self._calls() if self.names)

    def is_used(self) -> bool:
        holders = self._holders()
        applied = bool(holders) and any(isinstance(h, ast.Call | ast.Attribute) for h in holders[-1:])
        given = any(isinstance(h, ast.Call) and self._is_function(h) for h in holders)
        return applied or given or bool(self._uses()) or any(self.names & _handed(c.node) for c in self._calls())

    def is_trained(self) -> bool:
        """By the step itself, or by a function of the project that the step hands it to."""
        if trained(self.call, self.found):
            return True
        takers = [call.node for call in self._calls() if self.names & _handed(call.node)]
        takers += [holder for holder in self._holders() if isinstance(holder, ast.Call)]
        values = (self.project.resolve(taker.func, self.scope) for taker in takers)
        return any(
            value is not None and value.kind == "function" and value.scope is not None and _trains(value.scope.node)
            for value in values
        )

    def is_called_on_step(self) -> bool:
        """Called on what the step brings, not on what the last step made of it (`x = Dense(8)(x)`)."""
        direct = [h for h in self._holders() if isinstance(h, ast.Call) and h.func is self.node]
        calls = direct or [u.node for u in self._uses() if isinstance(u.node.func, ast.Name)]
        for call in calls:
            statement = self.scope.module.contexts[call].statement
            made = set(names_stored(statement)) if statement is not None else set()
            given = {name for a in call.args for name in names_read(a)}
            if given & made:
                return False
            if any(varies(a, self.scope, self.found.loop, self.chain, self.project) for a in call.args):
                return True
        return False


def is_set_aside(call: Call) -> bool:
    """Whether its own statement keeps it and gives it no name: whatever loop that runs in, there will be many."""
    targets = _targets(call.where.statement)
    return bool(targets) and all(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)


def _targets(statement: ast.stmt | None) -> list[ast.expr]:
    if isinstance(statement, ast.AugAssign | ast.AnnAssign):
        return [statement.target]
    return statement.targets if isinstance(statement, ast.Assign) else []


def is_single_step(made: Made) -> bool:
    """Whether the loop makes single steps; a round of training, or an epoch, has loops or a `fit` of its own."""
    bodies = [made.found.loop.node, *([made.call.where.scope.node] if made.found.chain else [])]
    inner = [node for body in bodies for node in ast.walk(body) if node is not made.found.loop.node]
    if any(isinstance(n, ast.For | ast.AsyncFor | ast.While) for n in inner):
        return False
    if any(isinstance(n, ast.Attribute) and n.attr in ROUNDS for n in inner):
        return False
    return "epoch" not in made.found.loop.targets


def on_data(made: Made) -> bool:
    """Whether the loop is one over data, in code that computes; code that builds a network has other loops."""
    scope: Scope | None = made.scope
    while scope is not None and scope.is_function:
        if scope.is_method and scope.parent and any(True for _ in made.project.ancestry(scope.parent)):
            return False
        if any(
            made.project.name_of(c.node.func, scope) in SYMBOLIC for c in scope.module.calls if c.where.scope is scope
        ):
            return False
        scope = scope.parent
    loop = made.found.loop
    words = " ".join([*sorted(loop.targets), ast.unparse(loop.iterable) if loop.iterable is not None else ""])
    return isinstance(loop.node, ast.While) or DATA_WORDS.search(words.lower()) is not None


def trained(call: Call, found: InLoop) -> bool:
    """Whether a step trains."""
    return _trains(found.loop.node) or _trains(call.where.scope.node if found.chain else call.node)


def _trains(body: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in TRAINS for node in ast.walk(body))


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _read_outside_calls(expr: ast.AST) -> set[str]:
    """Not `net` of `net(x)[0]`: that is what it computes."""
    if isinstance(expr, ast.Call):
        return set()
    if isinstance(expr, ast.Name):
        return {expr.id}
    return {name for child in ast.iter_child_nodes(expr) for name in _read_outside_calls(child)}


def _handed(node: ast.Call) -> set[str]:
    """Names that are arguments as they are."""
    return {n for a in (*node.args, *[k.value for k in node.keywords]) for n in _bare(a)}


def _bare(expr: ast.expr) -> set[str]:
    if isinstance(expr, ast.Name):
        return {expr.id}
    if isinstance(expr, ast.Tuple | ast.List):
        return {n for e in expr.elts for n in _bare(e)}
    return {n for v in expr.values if v is not None for n in _bare(v)} if isinstance(expr, ast.Dict) else set()
