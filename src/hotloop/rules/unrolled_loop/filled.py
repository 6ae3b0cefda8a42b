"""A list that the loop fills and that is stacked after it, as a `tf.TensorArray`: what a loop of the graph can fill."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.rules.moving import put_before, statements_around, tensorflow_name
from hotloop.rules.vectors import is_tensor
from hotloop.source.module import Loop, Scope
from hotloop.source.rewrite import Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project


@dataclass(frozen=True)
class Filled:
    """`outs = []`, `outs.append(h)` in each step, and `tf.stack(outs)` after the loop."""

    name: str
    made: ast.Assign
    append: ast.Expr
    part: str  # what is appended: a name that there is before the loop
    stack: ast.Call

    def rewrite(self, rewriter: Rewriter, node: ast.For, scope: Scope) -> None:
        counted, index = node.iter, node.target
        assert isinstance(counted, ast.Call)
        assert isinstance(index, ast.Name)
        size = rewriter.code(rewriter.expression(counted.args[0]))
        counter = index.id if index.id != "_" else rewriter.new_name("t", scope)
        if counter != index.id:
            rewriter.replace(rewriter.expression(index), rewriter.parse_expression(counter))
        line = f"{self.name} = {tensorflow_name(scope)}.TensorArray({self.part}.dtype, size={size})"
        begin, old = rewriter.parse_block(line)[0], rewriter.statement(self.made)
        if _is_there(self.part, self.made, scope):
            rewriter.replace(old, old.with_changes(body=begin.body))
        else:
            rewriter.replace(old)
            put_before(rewriter, node, begin)
        append = rewriter.statement(self.append)
        written = rewriter.parse_block(f"{self.name} = {self.name}.write({counter}, {self.part})")[0]
        rewriter.replace(append, append.with_changes(body=written.body))
        rewriter.replace(rewriter.expression(self.stack), rewriter.parse_expression(f"{self.name}.stack()"))


def filled_list(node: ast.For, loop: Loop, project: Project) -> Filled | None:
    """The one list that the loop fills, where nothing else is done with it."""
    scope = loop.where.scope
    counted = isinstance(node.iter, ast.Call) and len(node.iter.args) == 1 and isinstance(node.target, ast.Name)
    found = [(s, said) for s in node.body if (said := _appended(s))]
    if not counted or len(found) != 1:
        return None
    append, (name, part) = found[0]
    bindings = scope.bindings.get(name, [])
    made = bindings[0].node if len(bindings) == 1 else None
    if not (isinstance(made, ast.Assign) and len(made.targets) == 1 and ast.unparse(made.value) == "[]"):
        return None
    if made not in statements_around(scope.module, node) or not _is_tensor_before(part, node, scope, project):
        return None
    stack = _stacked(name, node, append, scope, project)
    return Filled(name, made, append, part, stack) if stack else None  # type: ignore[arg-type]


def _appended(statement: ast.stmt) -> tuple[str, str] | None:
    """`outs`, `h` of `outs.append(h)`."""
    match statement:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[ast.Name(id=part)])
        ):
            return name, part
    return None


def _is_tensor_before(part: str, node: ast.For, scope: Scope, project: Project) -> bool:
    """It has its type before the loop, and keeps it: the loop carries it."""
    carried = any(isinstance(n, ast.Name) and n.id == part and isinstance(n.ctx, ast.Store) for n in ast.walk(node))
    before = [b for b in scope.bindings.get(part, []) if b.kind == "parameter" or _line(b.node) < node.lineno]
    own = scope.parameters[1:] if scope.is_method else scope.parameters
    return (
        carried
        and bool(before)
        and all(
            (b.value is not None and is_tensor(b.value, b.where, project))
            or (b.kind == "parameter" and part in own and project.is_compiled(scope))
            for b in before
        )
    )


def _stacked(name: str, node: ast.For, append: ast.stmt, scope: Scope, project: Project) -> ast.Call | None:
    """The `tf.stack(outs)` that is all that reads the list, after the loop."""
    inside = {id(n) for n in ast.walk(append)}
    reads = [
        n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]
    reads = [n for n in reads if id(n) not in inside]
    for call in scope.module.calls:
        if call.where.scope is scope and call.node.args[:1] == reads and call.node.lineno > (node.end_lineno or 0):
            axis = [ast.unparse(a) for a in (*call.node.args[1:], *[k.value for k in call.node.keywords])]
            first = axis in ([], ["0"]) and call.where.loop is None
            return call.node if first and project.name_of(call.node.func, scope) == "tf.stack" else None
    return None


def _is_there(part: str, made: ast.stmt, scope: Scope) -> bool:
    """Whether a name has its value where the list is made."""
    return any(b.kind == "parameter" or _line(b.node) < made.lineno for b in scope.bindings.get(part, []))


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
