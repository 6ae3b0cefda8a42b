"""The fix: `for i in tf.range(n)`, which AutoGraph makes into one loop of the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.moving import names_in, tensorflow_name
from hotloop.rules.tracing import refuse_python
from hotloop.rules.unrolled_loop.counter import refuse_python_counter
from hotloop.rules.unrolled_loop.filled import filled_list
from hotloop.source.module import Binding, Module, Scope
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

LEAVES = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Delete)
GROWS = {"tf.concat", "tf.stack", "tf.pad", "tf.tile", "tf.repeat"}
KERAS = {"call", "train_step", "test_step", "predict_step", "compute_loss"}


def tensor_loop(finding: Finding, project: Project) -> Fix:
    module = project.modules[finding.place.path]
    loop = next((one for one in module.loops if one.place == finding.place), None)
    if loop is None:
        raise Refused("the source is no longer what was checked")
    node, scope = loop.node, loop.where.scope
    if isinstance(node, ast.While):
        raise Refused("it counts in Python: start from a tensor (`tf.constant(0)`), and it becomes one loop", node)
    if not isinstance(node, ast.For):
        raise Refused("it makes a list: write it with `tf.vectorized_map`, or with a `tf.TensorArray` in a loop", node)
    counted = node.iter
    if not isinstance(counted, ast.Call) or project.name_of(counted.func, scope) != "range":
        raise Refused("it goes over Python values: put them into one tensor and loop over that", counted)
    _refuse_unconverted(scope, module, project)
    filled = filled_list(node, loop, project)
    body = [line for line in node.body if filled is None or line is not filled.append]
    _refuse_body(node, body, scope, project)
    refuse_python_counter(node, loop, project)
    for name in sorted(_carried(node, scope)):
        _refuse_start(name, node, scope, project)
    rewriter = Rewriter(module)
    if filled is not None:
        filled.rewrite(rewriter, node, scope)
    found = rewriter.expression(counted.func)
    rewriter.replace(found, rewriter.parse_expression(f"{tensorflow_name(scope)}.range"))
    return rewriter.fix("let TensorFlow loop, over `tf.range`", "verify")


def _refuse_unconverted(scope: Scope, module: Module, project: Project) -> None:
    """Where AutoGraph does not look, a loop over a tensor is an error."""
    if scope.is_method and scope.name in KERAS and scope.parent is not None:
        if any(name.startswith("keras.") for name in project.ancestry(scope.parent)):
            raise Refused(f"Keras runs `{scope.name}` without AutoGraph: use `tf.while_loop` there", scope.node)
    # What compiles a helper stands elsewhere: anything in the file may.
    makers: list[ast.AST] = [*scope.decorators] if project.is_compiled(scope) else [module.tree]
    for node in (inner for maker in makers for inner in ast.walk(maker)):
        if isinstance(node, ast.keyword) and node.arg == "autograph" and ast.unparse(node.value) == "False":
            raise Refused("AutoGraph, which makes such loops, is switched off", node.value)


def _refuse_body(node: ast.For, body: list[ast.stmt], scope: Scope, project: Project) -> None:
    for part in (*body, *node.orelse):
        for inner in ast.walk(part):
            if isinstance(inner, LEAVES):
                raise Refused("it leaves the loop by more than `break`", inner)
            grown = isinstance(inner, ast.Call) and project.name_of(inner.func, scope) in GROWS
            if grown and isinstance(inner, ast.Call) and _feeds_back(inner, node):
                raise Refused("what it carries from step to step changes its shape", inner)
    refuse_python(body, scope, scope.name, project)


def _feeds_back(call: ast.Call, loop: ast.For) -> bool:
    """`x = tf.concat([x, y], 0)`."""
    for statement in ast.walk(loop):
        if isinstance(statement, ast.Assign) and statement.value is call:
            return bool(set(names_in([call]).reads) & set(names_in(statement.targets).binds))
    return False


# -- what is carried from step to step ---------------------------------------------------------------------------------


def _carried(node: ast.For, scope: Scope) -> set[str]:
    """Names that the loop binds and that are read in a later step, or after the loop."""
    bound = set(names_in(node.body).binds)
    early: set[str] = set()
    known: set[str] = set(names_in([node.target]).binds)
    for statement in node.body:
        names = names_in([statement])
        plain = isinstance(statement, ast.Assign | ast.AnnAssign)
        reads = names_in([statement.value]).reads if plain and statement.value is not None else names.reads  # type: ignore[attr-defined]
        early |= set(reads) - known
        if plain or isinstance(statement, ast.AugAssign):
            known |= set(names.binds)
    return bound & (early | set(_read_after(node, scope)))


def _read_after(node: ast.For, scope: Scope) -> Iterator[str]:
    end = node.end_lineno or 0
    for inner in ast.walk(scope.node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.lineno > end:
            yield inner.id


def _refuse_start(name: str, node: ast.For, scope: Scope, project: Project) -> None:
    """A value that is carried must be there before the loop, as a tensor or a number of the same kind."""
    before = [b for b in scope.bindings.get(name, []) if _stands_before(b, node)]
    if not before:
        raise Refused(f"`{name}` is first given a value in the loop and is read after it", node)
    value = before[-1].value
    if isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp) and not getattr(value, "elts", None):
        raise Refused(f"`{name}` is a Python container, which a loop of the graph cannot fill", value)
    if isinstance(value, ast.Constant):
        if value.value is None or isinstance(value.value, str):
            raise Refused(f"`{name}` starts as `{ast.unparse(value)}`, not as a tensor", value)
        if type(value.value) is int and not _stays_whole(name, node):
            raise Refused(f"`{name}` starts as a whole number and may not stay one: write `{value.value}.0`", value)


def _stands_before(binding: Binding, node: ast.For) -> bool:
    return binding.kind == "parameter" or getattr(binding.node, "lineno", 0) < node.lineno


def _stays_whole(name: str, node: ast.For) -> bool:
    """`count += 1` and nothing else."""
    changes = [n for n in ast.walk(node) if isinstance(n, ast.Assign | ast.AugAssign) and name in names_in([n]).binds]
    return all(
        isinstance(n, ast.AugAssign) and isinstance(n.value, ast.Constant) and type(n.value.value) is int
        for n in changes
    )
