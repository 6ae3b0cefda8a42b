"""A function that makes a `tf.function` of its own work and calls it at once: it is compiled itself, instead."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.model import Fix
from hotloop.rules.moving import refuse_stale_attributes
from hotloop.rules.stale import refuse_new_function_per_step, refuse_stale_names
from hotloop.rules.tracing import refuse_python
from hotloop.source.module import Scope
from hotloop.source.rewrite import Rewriter, body_of, with_body

if TYPE_CHECKING:
    from hotloop.source import Project


def unwrap(inner: Scope, project: Project) -> Fix | None:
    """`def step(x): @tf.function def run(x): ...; return run(x)`; None where the function does more than that."""
    outer = inner.parent
    if outer is None or not _only_wraps(outer, inner):
        return None
    refuse_python(inner.node.body, inner, inner.name, project)  # type: ignore[arg-type]
    refuse_new_function_per_step(outer, project)
    refuse_stale_names(outer, project)
    refuse_stale_attributes([inner.node], outer, project)
    rewriter = Rewriter(outer.module)
    found: Any = rewriter.statement(outer.node)  # type: ignore[arg-type]
    *docstring, made, _ = body_of(found)
    first, *rest = body_of(made)
    remarks = [line for line in made.leading_lines if line.comment is not None]
    first = first.with_changes(leading_lines=[*remarks, *first.leading_lines])
    new = with_body(found, [*docstring, first, *rest])
    decorators = [one.with_changes(leading_lines=[]) for one in made.decorators]
    rewriter.replace(found, new.with_changes(decorators=decorators))
    return rewriter.fix(f"compile `{outer.name}` itself, once", "verify")


def _only_wraps(outer: Scope, inner: Scope) -> bool:
    node, made = outer.node, inner.node
    if not isinstance(node, ast.FunctionDef) or not isinstance(made, ast.FunctionDef) or node.decorator_list:
        return False
    described = [s for s in node.body[:1] if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)]
    rest = node.body[len(described) :]
    if len(rest) != 2 or rest[0] is not made or len(made.decorator_list) != 1 or inner.yields:
        return False
    match rest[1]:
        case ast.Return(value=ast.Call(func=ast.Name(id=called), args=given, keywords=[])):
            same = [ast.unparse(argument) for argument in given] == inner.parameters
            return called == made.name and same and _is_plain(made) and {*inner.parameters} <= {*outer.parameters}
    return False


def _is_plain(made: ast.FunctionDef) -> bool:
    """Parameters and nothing else; no remark on its first line or docstring of its own that would get lost."""
    spec = made.args
    named = not (spec.vararg or spec.kwarg or spec.defaults or spec.kwonlyargs or spec.posonlyargs)
    return named and made.name not in {n.id for part in made.body for n in ast.walk(part) if isinstance(n, ast.Name)}
