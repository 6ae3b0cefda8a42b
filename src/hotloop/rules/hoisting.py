"""Code leaves a loop for the place before it: an assignment as it stands, an expression under a name."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from hotloop.rules.moving import names_in, put_before, spaced, statements_around
from hotloop.source.module import Call, Context, Scope
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


def hoist_definition(
    rewriter: Rewriter,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    where: Context,
    anchor: ast.stmt,
    changes: Changes | None = None,
) -> None:
    """Move a function that the body of a loop defines before `anchor`, with the blank lines that belong around it."""
    moved = rewriter.statement(node)
    rewriter.replace(moved)
    define_before(rewriter, substituted(moved, changes or {}), anchor)
    body: list[ast.stmt] = getattr(where.loop.node, "body", []) if where.loop else []
    if body[:1] == [node] and len(body) > 1:
        for line in rewriter.statement(body[1]).leading_lines:
            if line.comment is not None:
                break
            rewriter.replace(line)


def define_before(rewriter: Rewriter, definition: Any, anchor: ast.stmt) -> None:
    before, block = rewriter.statement(anchor), statements_around(rewriter.module, anchor)
    top_level = block is rewriter.module.tree.body
    rewriter.before(before, spaced(definition, before, top_level, first=block[0] is anchor))


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


def free_name(wanted: str, scope: Scope) -> str:
    """`wanted`, or with a number behind it, for a new name in `scope`: what inner functions call their own is free."""
    body = getattr(scope.node, "body", [])
    names = names_in(body if isinstance(body, list) else [body])
    taken = {*names.reads, *names.binds, *scope.bindings, *dir(builtins)}
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
