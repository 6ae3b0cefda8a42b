"""What a function does with a number: whether a tensor can take its place, and of which kind."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hotloop.rules.moving import names_in
from hotloop.source.module import Scope
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 4  # of following a number into the project's own functions
ASSIGNS = {"assign", "assign_add", "assign_sub"}
COLLECTS = {"tf.stack", "tf.concat", "tf.convert_to_tensor", "tf.constant"}
# Argument names, and functions, whose numbers say what a tensor looks like.
SHAPES = {
    "axis", "ksize", "name", "num", "num_or_size_splits", "perm", "rank", "seed", "shape", "size", "strides",
}  # fmt: skip
SHAPED = (
    "tf.broadcast_to", "tf.expand_dims", "tf.eye", "tf.fill", "tf.ones", "tf.random.", "tf.reshape",
    "tf.split", "tf.squeeze", "tf.tile", "tf.unstack", "tf.zeros",
)  # fmt: skip
COUNTED = {"tf.range", "tf.one_hot", "tf.gather", "tf.math.top_k", "tf.equal"}  # these want a whole number
SUMMARIES, STEP = "tf.summary.", 2  # all take a step, as their third argument or by name: a tensor must be `int64`
FREE = {"tf.cast", "tf.print", "tf.summary.scalar", "tf.identity"}  # these take any


@dataclass
class Uses:
    """What a function does with a number: `mixed` with what may be floats, `counted`, or the `step` of a summary."""

    mixed: bool = False
    counted: bool = False
    stepped: bool = False
    seen: set[tuple[Scope, str]] = field(default_factory=set)


def uses_of(parameter: str, function: Scope, project: Project) -> Uses:
    """Raises Refused where the function needs the number as a Python value."""
    uses = Uses()
    _Reader(function, project, uses).read(parameter)
    return uses


class _Reader:
    def __init__(self, function: Scope, project: Project, uses: Uses) -> None:
        self.function, self.project, self.uses = function, project, uses
        self.parents = {child: node for node in ast.walk(function.node) for child in ast.iter_child_nodes(node)}

    def read(self, name: str) -> None:
        if (self.function, name) in self.uses.seen or len(self.uses.seen) > 4 * DEPTH:
            return
        self.uses.seen.add((self.function, name))
        for node in ast.walk(self.function.node):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                self._use(node, name)

    def _use(self, node: ast.expr, name: str) -> None:
        """Climbs through arithmetic to where the value goes."""
        while True:
            parent = self.parents[node]
            if isinstance(parent, ast.BinOp):
                other = parent.right if parent.left is node else parent.left
                if isinstance(other, ast.List | ast.Tuple | ast.JoinedStr) or _is_text(other):
                    self._refuse(name, parent)
                if not _is_number(other):
                    self.uses.mixed = True  # with a tensor, most likely: the result is one either way
                    return
                if isinstance(other, ast.Constant) and isinstance(other.value, float):
                    self.uses.mixed = True
                node = parent
            elif isinstance(parent, ast.UnaryOp | ast.IfExp) and _carries(parent, node):
                node = parent
            else:
                break
        self._end(node, parent, name)

    def _end(self, node: ast.expr, parent: ast.AST, name: str) -> None:
        if isinstance(parent, ast.Call) and node is not parent.func:
            self._passed(node, parent, "", name)
        elif isinstance(parent, ast.keyword):
            call = self.parents[parent]
            if isinstance(call, ast.Call):
                self._passed(node, call, parent.arg or "", name)
        elif isinstance(parent, ast.Assign) and all(isinstance(t, ast.Name) for t in parent.targets):
            for target in parent.targets:
                if isinstance(target, ast.Name):
                    self.read(target.id)
        elif isinstance(parent, ast.AugAssign) and isinstance(parent.target, ast.Name):
            if parent.target.id != name:
                self.uses.mixed = True
        elif isinstance(parent, ast.List | ast.Tuple) and isinstance(self.parents[parent], ast.Return):
            return
        elif isinstance(parent, ast.Compare) and self._decides(parent, node):
            numbers = (part.value for part in ast.walk(parent) if isinstance(part, ast.Constant))
            self.uses.mixed |= any(isinstance(number, float) for number in numbers)
        elif isinstance(parent, ast.List | ast.Tuple) and self._collected(parent):
            self.uses.mixed = True
        elif not isinstance(parent, ast.Return | ast.Expr | ast.Lambda):
            self._refuse(name, parent)

    def _decides(self, compared: ast.Compare, node: ast.expr) -> bool:
        """`if step > 5:` around plain arithmetic on names that there are before: TensorFlow branches as Python does."""
        others = [side for side in (compared.left, *compared.comparators) if side is not node]
        branch = self.parents[compared]
        if not isinstance(branch, ast.If) or not all(_is_number(side) for side in others):
            return False
        before = {*self.function.parameters, *names_in(self._before(branch)).binds}
        return all(self._is_arithmetic(line, before) for line in (*branch.body, *branch.orelse))

    def _before(self, branch: ast.If) -> list[ast.stmt]:
        body = getattr(self.function.node, "body", [])
        return [line for line in body if line.lineno < branch.lineno] if branch in body else []

    def _is_arithmetic(self, line: ast.stmt, before: set[str]) -> bool:
        if isinstance(line, ast.Expr) and isinstance(line.value, ast.Call):
            return isinstance(line.value.func, ast.Attribute) and line.value.func.attr in ASSIGNS
        target = line.targets[0] if isinstance(line, ast.Assign) and len(line.targets) == 1 else None
        target = line.target if isinstance(line, ast.AugAssign) else target
        if not (isinstance(target, ast.Name) and target.id in before):
            return False
        calls = (n for n in ast.walk(line) if isinstance(n, ast.Call))
        return all(self.project.name_of(call.func, self.function).startswith("tf.") for call in calls)

    def _collected(self, parent: ast.AST) -> bool:
        call = self.parents[parent]
        return isinstance(call, ast.Call) and self.project.name_of(call.func, self.function) in COLLECTS

    def _passed(self, node: ast.expr, call: ast.Call, keyword: str, name: str) -> None:
        called = self.project.resolve(call.func, self.function)
        target = called.name if called else ""
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if called and called.kind in ("function", "traced") and called.scope is not None:
            self._follow(node, call, keyword, called.scope, name)
        elif target.startswith(SUMMARIES) and (keyword == "step" or node in call.args[STEP:]):
            self.uses.stepped = True
        elif target in FREE or method in ASSIGNS:
            self.uses.mixed |= method in ASSIGNS
        elif target in COUNTED:
            self.uses.counted = True
        elif not target.startswith("tf.") or "(" in target or keyword in SHAPES or target.startswith(SHAPED):
            self._refuse(name, call)
        else:
            self.uses.mixed |= len(call.args) + len(call.keywords) > 1

    def _follow(self, node: ast.expr, call: ast.Call, keyword: str, callee: Scope, name: str) -> None:
        names = callee.parameters[1:] if callee.is_method else callee.parameters
        index = next((i for i, argument in enumerate(call.args) if argument is node), len(names))
        parameter = keyword or (names[index] if index < len(names) else "")
        if parameter not in callee.parameters:
            self._refuse(name, call)
        try:
            _Reader(callee, self.project, self.uses).read(parameter)
        except Refused as refused:
            raise Refused(f"{refused.reason} (through `{ast.unparse(call.func)}`)", call) from None

    def _refuse(self, name: str, node: ast.AST) -> None:
        place = node if hasattr(node, "lineno") else self.parents[node]
        text = ast.unparse(place).split("\n")[0]
        line = getattr(place, "lineno", 0)
        shown = text if len(text) <= 50 else text[:47] + "..."
        function = self.function.name
        raise Refused(f"`{function}` needs `{name}` as a Python value: `{shown}` on line {line}", place)


def _carries(parent: ast.UnaryOp | ast.IfExp, node: ast.expr) -> bool:
    """`-n`, and `n if a else b`: still the number."""
    if isinstance(parent, ast.UnaryOp):
        return not isinstance(parent.op, ast.Not)
    return parent.test is not node


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and _is_number(node.operand))
