"""Loops that go over rows: what a row comes from, and the same loop beside what was computed of all rows."""

from __future__ import annotations

import ast
from typing import Any

from hotloop.rules.moving import names_in
from hotloop.rules.single_rows import spelled
from hotloop.source.module import Loop, Scope
from hotloop.source.rewrite import Rewriter

Head = ast.For | ast.comprehension


def handed(data: ast.expr, head: Head, scope: Scope) -> tuple[ast.expr | None, bool]:
    """What the model is given, and whether the row's own name is used for it again (`row = row[None]`)."""
    if isinstance(data, ast.Name) and isinstance(head, ast.For):
        made = [s for s in head.body if isinstance(s, ast.Assign) and [ast.unparse(t) for t in s.targets] == [data.id]]
        if len(made) == 1 and data.id in names_in([made[0].value]).reads:
            return made[0].value, True
    return spelled(data, scope), False


def named(name: str, node: ast.AST, kind: type[ast.expr_context]) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, kind)]


def iterated(head: Head, row: str) -> tuple[ast.expr | None, str]:
    """What `row` comes from, and the name that counts it in `enumerate`."""
    target, source, counter = head.target, head.iter, ""
    if isinstance(target, ast.Tuple) and _called(source, "enumerate", 1) and len(target.elts) == 2:
        counter, target, source = ast.unparse(target.elts[0]), target.elts[1], source.args[0]  # type: ignore[attr-defined]
    if isinstance(target, ast.Name) and target.id == row:
        return source, counter
    names = [ast.unparse(part) for part in target.elts] if isinstance(target, ast.Tuple) else []
    if row in names and _called(source, "zip", len(names)):
        return source.args[names.index(row)], counter  # type: ignore[attr-defined]
    return None, ""


def _called(node: ast.expr, name: str, arguments: int) -> bool:
    plain = isinstance(node, ast.Call) and not node.keywords and len(node.args) == arguments
    return plain and ast.unparse(node.func) == name  # type: ignore[attr-defined]


def zipped(rewriter: Rewriter, loop: Loop, head: Head, data: ast.expr, output: str, outputs: str) -> None:
    """`for row, output in zip(rows, outputs)`; without the row where nothing else reads it."""
    said, again = handed(data, head, loop.where.scope)
    single = isinstance(head.target, ast.Name)
    targets = [head.target] if single else list(head.target.elts)  # type: ignore[attr-defined]
    sources = [head.iter] if single else list(head.iter.args)  # type: ignore[attr-defined]
    left = [rewriter.code(rewriter.expression(part)) for part in targets]
    right = [rewriter.code(rewriter.expression(part)) for part in sources]
    at = next(i for i, t in enumerate(targets) if said is not None and ast.unparse(t) in names_in([said]).reads)
    if len(named(ast.unparse(targets[at]), loop.node, ast.Load)) == 1 and not again:
        left[at], right[at] = output, outputs
    else:
        left.append(output)
        right.append(outputs)
    source = right[0] if len(right) == 1 else f"zip({', '.join(right)})"
    header = f"for {', '.join(left)} in {source}:\n    pass"
    made: Any = rewriter.parse_block(header)[0]
    rewriter.replace(rewriter.expression(head.target), made.target)
    rewriter.replace(rewriter.expression(head.iter), made.iter)
