"""Module -> changed Module by cutting and pasting its bytes: what is not touched cannot change."""

from __future__ import annotations

import ast
import bisect
import re

from hotloop.model import Fix, Safety
from hotloop.source.module import Module
from hotloop.source.rewrite import UTF8, Refused, edits_between

LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
COMMENT = re.compile(rb"[ \t]*#[^\r\n]*")
OWN_LINE = re.compile(rb",[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)")
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BOM = b"\xef\xbb\xbf"

Span = tuple[int, int]  # bytes of the file


class Splice:
    """One file being changed by its text. Spans are those of `ast` nodes, as bytes."""

    def __init__(self, module: Module) -> None:
        self.module, self.data = module, module.data
        self._starts = [match.start() for match in LINE.finditer(self.data)]
        self._changes: list[tuple[Span, bytes]] = []
        coding = [CODING.match(self._line(number)) for number in (0, 1)]
        named = next((match[1].decode().lower().replace("_", "-") for match in coding if match), "utf-8")
        if named not in UTF8:
            raise Refused("the file is not plain UTF-8")

    # -- finding -------------------------------------------------------------------------------------------------------

    def _line(self, number: int) -> bytes:
        """With its end; empty behind the last."""
        match = LINE.match(self.data, self._starts[number]) if number < len(self._starts) else None
        return match[0] if match else b""

    def at(self, line: int, column: int) -> int:
        mark = len(BOM) if line == 1 and self.data.startswith(BOM) else 0
        return self._starts[line - 1] + column + mark

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> Span:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno or 0, node.end_col_offset or 0)

    def text(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def comment_after(self, at: int) -> int:
        """Where the comment ends that follows on the same line; `at` itself where there is none."""
        match = COMMENT.match(self.data, at)
        return match.end() if match else at

    def lines_of(self, statement: ast.stmt) -> Span:
        """The lines of a statement that has them to itself, with the block of comments right above."""
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *[decorator.lineno for decorator in decorators]]) - 1
        start, end = self._starts[first], self.comment_after(self.span(statement)[1])
        before = self.data[start : self.at(first + 1, statement.col_offset)].removeprefix(BOM)
        if before.strip() or self.data[end : self._end_of_line(end)].strip():
            raise Refused("several statements share a line", statement)
        while first - 1 > self._header() and self._line(first - 1).lstrip().startswith(b"#"):
            first -= 1
        return self._starts[first], self._end_of_line(end)

    def comments_at(self, statement: ast.stmt) -> bool:
        """Whether there are comments right above it or behind it."""
        start, end = self.lines_of(statement)
        own, code = self._starts[statement.lineno - 1], self.span(statement)[1]
        return start < own or b"#" in self.data[code:end]

    @property
    def line_end(self) -> bytes:
        """What the file ends its lines with."""
        return self._line(0)[len(self._line(0).rstrip(b"\r\n")) :] or b"\n"

    def _header(self) -> int:
        """The last line of what stands at the top for the reader or the interpreter: `#!` and the coding."""
        return max([-1, *[n for n in (0, 1) if self._line(n).startswith(b"#!") or CODING.match(self._line(n))]])

    def _end_of_line(self, at: int) -> int:
        return at + len(LINE.match(self.data, at)[0])  # type: ignore[index]

    # -- changing ------------------------------------------------------------------------------------------------------

    def replace(self, span: Span, text: str | bytes) -> None:
        self._changes.append((span, text.encode() if isinstance(text, str) else text))

    def insert(self, at: int, text: str | bytes) -> None:
        self.replace((at, at), text)

    def remove(self, statement: ast.stmt, block: list[ast.stmt]) -> None:
        """A statement with its comments; `pass` stays where it was all there was. Blank lines do not add up."""
        if len(block) == 1:
            self.lines_of(statement)
            self.replace(self.span(statement), b"pass")
            return
        start, end = self.lines_of(statement)
        above, below = self._blank_lines(start, -1), self._blank_lines(end, 1)
        near = block[max(0, block.index(statement) - 1) : block.index(statement) + 2]
        alone = isinstance(statement, DEFINITION) and sum(isinstance(other, DEFINITION) for other in near) == 1
        for _ in range(below if alone else min(above, below)):
            end = self._end_of_line(end)
        for _ in range(above - 1 if alone else 0):
            start = self._starts[bisect.bisect_left(self._starts, start) - 1]
        self.replace((start, end), b"")

    def _blank_lines(self, at: int, step: int) -> int:
        """How many lie next to each other there, upwards (-1) from a line's start or downwards (1)."""
        number, count = bisect.bisect_left(self._starts, at) + min(step, 0), 0
        while 0 <= number < len(self._starts) and self._line(number) and not self._line(number).strip():
            number, count = number + step, count + 1
        return count

    def remove_argument(self, call: ast.Call, gone: ast.expr | ast.keyword) -> None:
        """An argument with the comma that parts it from its neighbour."""
        arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        given = sorted(self.span(argument) for argument in arguments)
        index = given.index(self.span(gone))
        start, end = given[index]
        own = OWN_LINE.match(self.data, end) if not self.data[self._starts[gone.lineno - 1] : start].strip() else None
        if own:
            self.replace((self._starts[gone.lineno - 1], own.end()), b"")
        elif index > 0:
            self.replace((given[index - 1][1], end), b"")
        elif len(given) > 1:
            self.replace((start, given[1][0]), b"")
        else:
            comma = re.compile(rb"\s*,").match(self.data, end)
            self.replace((start, comma.end() if comma else end), b"")

    def add_argument(self, call: ast.Call, text: str) -> None:
        """A keyword behind the other arguments; on a line of its own where the last one has one."""
        arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        if not arguments:
            self.insert(self.span(call)[1] - 1, text)
            return
        start, end = max(self.span(argument) for argument in arguments)
        own = re.search(rb"(?:\r\n|\r|\n)[ \t]*\Z", self.data[:start])
        self.insert(end, b"," + (own[0] if own else b" ") + text.encode())

    # -- the result ----------------------------------------------------------------------------------------------------

    def result(self) -> bytes:
        data = self.data
        for (start, end), new in sorted(self._changes, key=lambda change: change[0], reverse=True):
            data = data[:start] + new + data[end:]
        return data

    def fix(self, title: str, safety: Safety) -> Fix:
        new = self.result()
        try:
            compile(new, self.module.path, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise Refused("the code is written in a way that cannot be rewritten") from error
        return Fix(title, tuple(edits_between(self.module.path, self.data, new)), safety)
