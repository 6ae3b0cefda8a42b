"""Whether a function gives for a batch what it gives for its elements, stacked: shown, or refused with the reason."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from hotloop.source.heat import number
from hotloop.source.module import Scope
from hotloop.source.project import Value
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 4  # of the project's own functions that are followed
PLAIN = ""  # a number, a type, a string: the same for all elements
# Ops whose result has another shape than what they are given: it must not meet that again.
RESHAPES = re.compile(r"(one_hot|expand_dims|decode_raw|TextVectorization\(\))$")
KEEPS = re.compile(r"^(tf|keras)\.|Rescaling\(\)$")
NOT_AS_IT_IS = re.compile(r"Normalization\(\)$|\.shape$")
ENCODES = re.compile(r"(Lookup|Discretization|Hashing|TextVectorization)\(\)$")
TYPE = re.compile(r"^(tf|np)\.(dtypes\.)?\w*(float|int|bool|string|double|complex)\w*$")

Shapes = dict[str, str]  # of names and of what stands under a key: which shape it has, by where it comes from


def require_batchable(function: Scope, project: Project) -> None:
    """Follows the shape of each part of an element through the function; parts of different shapes must not meet."""
    _Follower(project).call(function, {name: name for name in function.parameters}, 0)


class _Follower:
    def __init__(self, project: Project) -> None:
        self.project = project

    def call(self, function: Scope, shapes: Shapes, depth: int) -> str:
        """What a function returns, and what it does on the way."""
        node = function.node
        if depth > DEPTH or function.yields:
            raise Refused("its function calls too many others to be followed", node)
        if isinstance(node, ast.Lambda):
            return self._returned(node.body, shapes, function, depth)
        for statement in getattr(node, "body", []):
            if isinstance(statement, ast.Return):
                return self._returned(statement.value, shapes, function, depth)
            self._statement(statement, shapes, function, depth)
        raise Refused("its function returns nothing at its end", node)

    def _statement(self, node: ast.stmt, shapes: Shapes, scope: Scope, depth: int) -> None:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._assign(node.targets[0], node.value, shapes, scope, depth)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, node.value, shapes, scope, depth)
        elif isinstance(node, ast.AugAssign):
            shapes[ast.unparse(node.target)] = self._met([node.target, node.value], node, shapes, scope, depth)
        else:
            raise Refused("its function does more than compute", node)

    def _assign(self, target: ast.expr, value: ast.expr, shapes: Shapes, scope: Scope, depth: int) -> None:
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                found = [self.of(part, shapes, scope, depth) for part in value.elts]
            else:
                whole = self.of(value, shapes, scope, depth)
                found = [f"{whole}.{index}" for index in range(len(target.elts))]
            shapes.update({ast.unparse(t): shape for t, shape in zip(target.elts, found, strict=True)})
            return
        shapes[ast.unparse(target)] = self.of(value, shapes, scope, depth)

    def _returned(self, value: ast.expr | None, shapes: Shapes, scope: Scope, depth: int) -> str:
        if isinstance(value, ast.Tuple | ast.List | ast.Dict):
            parts = value.values if isinstance(value, ast.Dict) else value.elts
            return "(" + ",".join(self._returned(part, shapes, scope, depth) for part in parts) + ")"
        shape = self.of(value, shapes, scope, depth) if value is not None else PLAIN
        if shape == PLAIN and depth == 0:
            raise Refused("its function returns a value that is the same for all: a batch would have it once", value)
        return shape

    # -- expressions ---------------------------------------------------------------------------------------------------

    def of(self, expr: ast.expr, shapes: Shapes, scope: Scope, depth: int) -> str:
        """The shape of an expression."""
        spelled = ast.unparse(expr)
        if spelled in shapes:
            return shapes[spelled]
        match expr:
            case ast.Constant():
                return PLAIN
            case ast.Name() | ast.Attribute():
                return self._outside(expr, scope)
            case ast.Subscript():
                return self._part(expr, shapes, scope, depth)
            case ast.BinOp():
                return self._met([expr.left, expr.right], expr, shapes, scope, depth)
            case ast.UnaryOp():
                return self.of(expr.operand, shapes, scope, depth)
            case ast.Compare():
                return self._met([expr.left, *expr.comparators], expr, shapes, scope, depth)
            case ast.Tuple() | ast.List():
                return self._met(expr.elts, expr, shapes, scope, depth)
            case ast.Call():
                return self._call(expr, shapes, scope, depth)
        raise Refused(f"`{spelled[:60]}` is not plain arithmetic", expr)

    def _met(self, parts: list[ast.expr], at: ast.AST, shapes: Shapes, scope: Scope, depth: int) -> str:
        found = {self.of(part, shapes, scope, depth) for part in parts} - {PLAIN}
        if len(found) > 1:
            raise Refused(
                f"`{ast.unparse(at)[:60]}` combines two parts of an element, whose shapes may not fit in a batch", at
            )
        return min(found, default=PLAIN)

    def _outside(self, expr: ast.Name | ast.Attribute, scope: Scope) -> str:
        if number(expr, scope, self.project) is not None or TYPE.match(self.project.name_of(expr, scope)):
            return PLAIN
        value = self.project.resolve(expr, scope)
        if value is not None and value.kind == "constant":
            return PLAIN
        raise Refused(f"`{ast.unparse(expr)}` may be an array, whose shape may not fit a batch", expr)

    def _part(self, expr: ast.Subscript, shapes: Shapes, scope: Scope, depth: int) -> str:
        """`x["image"]` is a part of its own; `x[..., None]` has another shape."""
        whole, index = self.of(expr.value, shapes, scope, depth), expr.slice
        if isinstance(index, ast.Tuple):
            return f"{whole}[{ast.unparse(index)}]"
        key = self.project.resolve(index, scope)
        if key is None or not isinstance(key.constant, str):
            raise Refused(f"`{ast.unparse(expr)}` may take one of the elements of a batch", expr)
        return f"{whole}[{key.constant!r}]"

    def _call(self, expr: ast.Call, shapes: Shapes, scope: Scope, depth: int) -> str:
        given = [*expr.args, *[k.value for k in expr.keywords]]
        target = self.project.resolve(expr.func, scope)
        if target is not None and target.kind == "function" and target.scope is not None:
            return self._followed(expr, target.scope, shapes, scope, depth)
        return self._op(expr, target, given, shapes, scope, depth)

    def _op(
        self, expr: ast.Call, target: Value | None, given: list[ast.expr], shapes: Shapes, scope: Scope, depth: int
    ) -> str:
        name = target.name if target else ""
        if not KEEPS.search(name) or NOT_AS_IT_IS.search(name):
            shape = self._met(given, expr, shapes, scope, depth) if given else PLAIN
            if shape == PLAIN:
                return PLAIN  # `float(size)`
            raise Refused(f"`{ast.unparse(expr.func)}` may mean something else of a batch", expr)
        if ENCODES.search(name) and not self._gives_numbers(expr.func, scope):
            raise Refused(f"`{ast.unparse(expr.func)}` may encode a batch as one element", expr)
        if name.endswith(".where") and len(given) < 3:
            raise Refused("`tf.where` with one argument gives positions", expr)
        shape = self._met(given, expr, shapes, scope, depth)
        return f"{name}({shape})" if RESHAPES.search(name) and shape != PLAIN else shape

    def _gives_numbers(self, layer: ast.expr, scope: Scope) -> bool:
        """Whether a layer that looks words up gives the number of each, as it does unless told otherwise."""
        found = self.project.literal(layer.id, scope) if isinstance(layer, ast.Name) else None
        if found is None or not isinstance(found[0], ast.Call):
            return False
        modes = [k.value for k in found[0].keywords if k.arg in ("output_mode", None)]
        return all(isinstance(mode, ast.Constant) and mode.value == "int" for mode in modes)

    def _followed(self, expr: ast.Call, function: Scope, shapes: Shapes, scope: Scope, depth: int) -> str:
        if any(isinstance(a, ast.Starred) for a in expr.args) or any(k.arg is None for k in expr.keywords):
            raise Refused("its arguments are not spelled out", expr)
        names = function.parameters
        inner = {n: self.of(a, shapes, scope, depth) for n, a in zip(names, expr.args, strict=False)}
        inner |= {str(k.arg): self.of(k.value, shapes, scope, depth) for k in expr.keywords}
        missing = set(names) - set(inner)
        return self.call(function, {**dict.fromkeys(missing, PLAIN), **inner}, depth + 1)
