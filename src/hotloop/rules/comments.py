"""What people say beside their code: a set-up that somebody explains is meant."""

from __future__ import annotations

import ast
import re

from hotloop.source.module import Context, Module

ABOVE = 3  # lines above a statement that its comment may take


def said_nearby(module: Module, line: int, words: re.Pattern[bytes]) -> bool:
    """Whether a comment on the line, or just above it, says one of the words."""
    lines = module.data.splitlines()[max(0, line - 1 - ABOVE) : line]
    return any(words.search(line.partition(b"#")[2]) for line in lines)


def is_chosen(where: Context) -> bool:
    """Whether it stands under an `if` that somebody can decide (`if args.double:`); `__name__` decides nothing."""
    return any(not _is_main(test) for test in where.tests)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
