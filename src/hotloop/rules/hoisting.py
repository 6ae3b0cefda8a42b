"""Code leaves a loop for the place before it: an assignment as it stands, an expression under a name."""

from __future__ import annotations

import ast
from typing import Any

from hotloop.rules.moving import put_before
from hotloop.source.module import Call, Context
from hotloop.source.rewrite import Refused, Rewriter, substituted

Changes = dict[Any, list[Any]]  # syntax -> what takes its place


def assigned_name(call: Call, what: str) -> str:
    """`x` of `x = call(...)`, which stands in each step as it is; "" where the call is part of something else."""
    statement, where = call.where.statement, call.where
    if not (isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is call.node):
        return ""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        shown = " = ".join(ast.unparse(target) for target in targets)
        raise Refused(f"each step keeps its {what} in `{shown}`", statement)
    name = targets[0].id
    require_in_each_step(statement, where, name)
    refuse_second_binding(name, statement, where)
    return name


def require_in_each_step(statement: ast.stmt, where: Context, what: str) -> None:
    if where.loop is None or statement not in getattr(where.loop.node, "body", []):
        raise Refused(f"`{what}` is made in a block within the loop, not in each step", statement)


def refuse_second_binding(name: str, node: ast.AST, where: Context) -> None:
    others = [b for b in where.scope.bindings.get(name, []) if b.node is not node]
    if others:
        line = getattr(others[0].node, "lineno", 0)
        raise Refused(f"`{name}` is also given another value on line {line}", others[0].node)


def hoist_statement(
    rewriter: Rewriter, statement: ast.stmt, anchor: ast.stmt, *instead: Any, changes: Changes | None = None
) -> None:
    """Move a statement, with `changes` to parts of it, before `anchor`; `instead` takes its place."""
    moved = rewriter.statement(statement)
    rewriter.replace(moved, *instead)
    put_before(rewriter, anchor, substituted(moved, changes or {}))


def hoist_expression(rewriter: Rewriter, node: ast.expr, name: str, anchor: ast.stmt) -> None:
    """Give the value of an expression a name before `anchor`, and use the name."""
    import libcst

    expression = rewriter.expression(node)
    line = rewriter.parse_block(f"{name} = None")[0]
    assign = line.body[0].with_changes(value=expression)  # type: ignore[index]
    put_before(rewriter, anchor, line.with_changes(body=[assign]))
    rewriter.replace(expression, libcst.Name(name))


def put_above(rewriter: Rewriter, definition: ast.stmt, line: Any) -> None:
    """Put a plain statement before a top-level definition, with the blank lines that belong around both."""
    import libcst

    block = rewriter.module.tree.body
    index = block.index(definition)
    after_definition = index > 0 and isinstance(block[index - 1], ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    blank = [libcst.EmptyLine(indent=False)] * (2 if after_definition else 1 if index else 0)
    comments = [empty for empty in line.leading_lines if empty.comment is not None]
    rewriter.before(rewriter.statement(definition), line.with_changes(leading_lines=[*blank, *comments]))
