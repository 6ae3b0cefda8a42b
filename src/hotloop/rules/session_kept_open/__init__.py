"""Sessions are made again and again and kept open: each holds its copy of the graph until the program ends.

**Why**

An open session owns its executors, the optimised copies of its graph and the variables in it: some 30 MB for a graph of
a thousand nodes. A session that is dropped gives that back; one that stands in a list, a dict or an attribute does not,
nor does an `InteractiveSession`, which makes itself the default and stays so. Memory grows with every step.

**Instead**

Keep one session and run everything in it; sessions of one graph differ in their variables alone. Where each needs
variables of its own, take out what is needed with `sess.run`, then leave the `with` block or call `close()`.

**Not when**

There are a handful of them, or something closes them all later. Open sessions do not slow each other down: this is
about memory. The fix closes each session at the end of its step, where nothing reads what kept it; it is tried before
it is written. That each step opens one of its own is another matter, of time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named
from hotloop.rules.loops import InLoop, each, in_loop
from hotloop.rules.names import SESSIONS
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.guards import is_guarded
from hotloop.source.module import Call, Context, Scope, names_read, names_stored, place_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
MEASURED = "memory"

KEEPERS = {"append", "add", "insert", "extend", "setdefault", "put", "appendleft"}
WAY_OUT = "each holds its graph and its variables until the program ends. Keep one session, or close each after use."


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call, name in named(module, project, SESSIONS):
            found = in_loop(project, call.where)
            if found is None or is_guarded(call.where):
                continue
            kept = _Kept(call, found, project).by(name == "tf.InteractiveSession")
            if kept is not None:
                node, where = kept
                place = place_of(where.scope.module, node)
                message = f"A session is made {each(found, call.place)} and kept open: {WAY_OUT}"
                yield RULE.finding(place, message, **found.where)


class _Kept:
    """What keeps a session that a step has made, followed outwards through the functions that return it."""

    def __init__(self, call: Call, found: InLoop, project: Project) -> None:
        self.call, self.found, self.project = call, found, project

    def by(self, interactive: bool) -> tuple[ast.AST, Context] | None:
        node: ast.expr = self.call.node
        where, chain = self.call.where, self.found.chain
        while True:
            names = _names(node, where)
            if self._is_closed(node, names, where):
                return None
            keeper = self._keeper(node, names, where, chain)
            if keeper is not None:
                return (keeper, where)
            if not chain:
                return (node, where) if interactive else None
            passed_on = self._is_returned(node, names, where) or self._is_set(where, chain[-1])
            if not passed_on:
                return (node, where) if interactive else None
            node, where, chain = chain[-1].node, chain[-1].where, chain[:-1]

    def _keeper(self, node: ast.expr, names: set[str], where: Context, chain: tuple[Call, ...]) -> ast.AST | None:
        """The statement or call of the step that puts it where it stays."""
        step = where.scope.node if chain else self.found.loop.node
        if isinstance(step, ast.ListComp | ast.DictComp):
            element = step.elt if isinstance(step, ast.ListComp) else step.value
            return node if node is element and self._is_stored(where) else None
        for other in ast.walk(step):
            if isinstance(other, ast.Call) and isinstance(other.func, ast.Attribute) and other.func.attr in KEEPERS:
                if any(self._is_it(a, node, names) for a in other.args) and self._outlives(
                    other.func.value, where, chain
                ):
                    return other
            if isinstance(other, ast.Assign) and isinstance(other.targets[0], ast.Subscript):
                if self._is_it(other.value, node, names) and self._outlives(other.targets[0].value, where, chain):
                    return other
        return None

    @staticmethod
    def _is_it(expr: ast.expr, node: ast.expr, names: set[str]) -> bool:
        """The session itself, or a tuple or object display that holds it."""
        if expr is node or (isinstance(expr, ast.Name) and expr.id in names):
            return True
        parts = expr.elts if isinstance(expr, ast.Tuple | ast.List) else []
        return any(_Kept._is_it(part, node, names) for part in parts)

    def _outlives(self, container: ast.expr, where: Context, chain: tuple[Call, ...]) -> bool:
        """Whether the list or dict is there before the step, so that it grows, and nobody closes what is in it."""
        spelled = ast.unparse(container)
        if isinstance(container, ast.Name):
            bindings = self.project.bindings(container.id, where.scope)
            if any(b.where.scope is where.scope and stands_in(b.where, self.found.loop) for b in bindings):
                return False
            if chain and any(b.where.scope is where.scope and b.kind == "assign" for b in bindings):
                return False
        return not self._is_emptied(spelled, where.scope)

    def _is_stored(self, where: Context) -> bool:
        statement = where.statement
        if isinstance(statement, ast.Return):
            return True
        if not isinstance(statement, ast.Assign):
            return False
        return not any(self._is_emptied(ast.unparse(target), where.scope) for target in statement.targets)

    def _is_emptied(self, container: str, scope: Scope) -> bool:
        """`for s in sessions: s.close()`, or a session taken out again, anywhere in the file."""
        for call in scope.module.calls:
            func = call.node.func
            if not isinstance(func, ast.Attribute):
                continue
            if func.attr in ("pop", "popleft", "clear", "popitem") and ast.unparse(func.value) == container:
                return True
            loop = call.where.loop
            if func.attr == "close" and loop is not None and loop.iterable is not None:
                if container in ast.unparse(loop.iterable):
                    return True
            if func.attr == "close" and container in ast.unparse(func.value):
                return True
        return False

    def _is_closed(self, node: ast.expr, names: set[str], where: Context) -> bool:
        """In a `with`, or by `close()`."""
        for statement, _ in where.scope.module.withs:
            for item in statement.items:
                if item.context_expr is node or names & names_read(item.context_expr):
                    if not ast.unparse(item.context_expr).endswith("as_default()"):
                        return True
        closers = (c.node.func for c in where.scope.module.calls if c.where.scope is where.scope)
        return any(isinstance(f, ast.Attribute) and f.attr == "close" and names & names_read(f.value) for f in closers)

    def _is_returned(self, node: ast.expr, names: set[str], where: Context) -> bool:
        return any(self._is_it(r, node, names) for r in where.scope.returns)

    def _is_set(self, where: Context, caller: Call) -> bool:
        """`self.sess = tf.Session()` in `__init__`: whoever keeps the object keeps the session."""
        statement = where.statement
        target = self.project.resolve(caller.node.func, caller.where.scope)
        if not (isinstance(statement, ast.Assign) and target is not None and target.kind == "class" and target.scope):
            return False
        attributes = {t.attr for t in statement.targets if isinstance(t, ast.Attribute)}
        closes = any(
            isinstance(c.node.func, ast.Attribute)
            and c.node.func.attr == "close"
            and isinstance(c.node.func.value, ast.Attribute)
            and c.node.func.value.attr in attributes
            for c in target.scope.module.calls
        )
        return bool(attributes) and not closes


def _names(node: ast.expr, where: Context) -> set[str]:
    """The names that its own statement gives it."""
    statement = where.statement
    if isinstance(statement, ast.Assign) and statement.value is node:
        return {name for target in statement.targets for name in names_stored(target)}
    return set()


def diagnose(recording: Recording) -> Iterator[Finding]:
    closed = sum(event.count for event in recording.of_kind("session.close"))
    for at in measured.recurring(recording, recording.of_kind("session")):
        seen = [example for event in at.events for example in event.examples if "alive" in example]
        alive = max((int(example["alive"]) for example in seen), default=0)
        if alive < max(measured.FEW, 0.5 * at.count) or closed >= alive:
            continue
        first, last = seen[0], seen[-1]
        more = int(last["alive"]) - int(first["alive"])
        each = max(0.0, float(last["rss"]) - float(first["rss"])) / max(1, more)
        yield measured.finding(
            RULE, recording, at, 0.0,
            f"{alive} sessions were open at once, {words.size(each)} of memory each: "
            f"{WAY_OUT}",
            evidence=[Evidence("open sessions", alive), Evidence("memory each", each, "bytes")],
            bytes_per_step=each * at.count / at.loop.steps,
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.session_kept_open.mend import close_after_use

    return close_after_use(finding, project)
