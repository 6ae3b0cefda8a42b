"""What a change has done to source besides what it was meant to do; nothing, where all is well."""

from __future__ import annotations

import ast
import difflib
import io
import tokenize
from collections import Counter
from collections.abc import Iterator

COMPOUND = (
    *(ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Match),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)


def harm(before: bytes, after: bytes) -> Iterator[str]:
    """Sentences: it does not parse, a line ending or a comment is lost, a statement whose lines stayed is another."""
    try:
        old, new = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError) as error:
        yield f"it is not Python any more: {error}"
        return
    if before.count(b"\n") == before.count(b"\r\n") > 0 and after.count(b"\n") != after.count(b"\r\n"):
        yield "it has line endings of two kinds"
    if lost := Counter(_comments(before)) - Counter(_comments(after)):
        yield f"comments are lost: {', '.join(lost)}"
    stayed = _stayed(before, after)
    there = {(node.lineno, node.col_offset): ast.dump(node) for node in _simple(new)}
    for node in _simple(old):
        lines = [stayed.get(number) for number in range(node.lineno, (node.end_lineno or 0) + 1)]
        if lines[0] is None or lines != list(range(lines[0], lines[0] + len(lines))):
            continue
        if there.get((lines[0], node.col_offset)) != ast.dump(node):
            yield f"line {node.lineno} stayed and is another statement now: {ast.unparse(node)}"


def _stayed(before: bytes, after: bytes) -> dict[int, int]:
    """Lines that are as they were, and which they are now; from 1."""
    matcher = difflib.SequenceMatcher(a=before.splitlines(), b=after.splitlines(), autojunk=False)
    blocks = matcher.get_matching_blocks()
    return {a + i + 1: b + i + 1 for a, b, size in blocks for i in range(size)}


def _simple(tree: ast.Module) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not isinstance(node, COMPOUND))


def _comments(data: bytes) -> Iterator[str]:
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT:
                yield token.string
    except (tokenize.TokenError, SyntaxError):
        return
