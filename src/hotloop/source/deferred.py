"""Functions that are left out when a file is parsed, to be parsed when somebody asks for them."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

TRIPLE = re.compile(rb'"""|\'\'\'')
BEGINS = rb"[^\s#)\]}]"  # a statement: neither nothing, nor a comment, nor the end of one that began above
HEAD = re.compile(rb"(?:async[ \t]+)?def[ \t]+(?P<function>\w+)|(?P<class>class)\b|(?P<decorator>@)")
METHOD = re.compile(rb"\n([ \t]+)(?:async[ \t]+)?def[ \t]")
DOUBTFUL = re.compile(rb"[\"'#\\\\]")  # before quotes: they may be part of a string or of a comment
OTHER_ENCODING = re.compile(rb"\A(?:.*\n)?[ \t\f]*#.*?coding[:=][ \t]*(?!utf-?8)[-\w.]+", re.IGNORECASE)


@dataclass(eq=False, slots=True)
class Deferred:
    """A function at the top of a file, or a method of a class there: where its text stands, decorators and all."""

    name: str
    start: int
    end: int
    line: int
    indent: bytes

    def text(self, data: bytes) -> bytes:
        """What parses to the function alone, each line where it is."""
        above = b"\n" * (self.line - 2) + b"if True:\n" if self.indent else b"\n" * (self.line - 1)
        return above + data[self.start : self.end]


def cut(data: bytes) -> tuple[bytes, list[Deferred]]:
    """The text with `pass` in place of its functions, and these. What is not sure to be one is left where it is."""
    strings = _strings(data)
    if strings is None or b"\r" in data or b"\f" in data or OTHER_ENCODING.match(data):
        return data, []
    found = list(_functions(data, b"", 0, len(data), strings))
    kept: list[bytes] = []
    done = lines = 0
    for function in found:
        above = data[done : function.start]
        lines += above.count(b"\n")
        function.line = lines + 1
        inside = data.count(b"\n", function.start, function.end)
        kept += [above, function.indent, b"pass", b"\n" * inside]
        lines += inside
        done = function.end
    return b"".join([*kept, data[done:]]), found


def _functions(data: bytes, indent: bytes, start: int, end: int, strings: _Strings) -> Iterator[Deferred]:
    """Those that begin at this depth."""
    begins = [match.start() + 1 for match in re.compile(b"\n" + indent + BEGINS).finditer(data, start, end)]
    begins = [at for at in begins if at not in strings]
    first = None
    for at, following in pairwise([*begins, end]):
        head = HEAD.match(data, at + len(indent))
        if head and head["decorator"]:
            first = at if first is None else first
            continue
        if head and head["function"]:
            yield Deferred(head["function"].decode(), at if first is None else first, following, 0, indent)
        elif head and not indent:
            depths = {method[1] for method in METHOD.finditer(data, at, following) if method.start() not in strings}
            yield from _functions(data, min(depths, key=len), at, following, strings) if depths else ()
        first = None


class _Strings:
    """Which parts of a text are strings of several lines."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._starts, self._ends = [start for start, _ in spans], [end for _, end in spans]

    def __contains__(self, at: int) -> bool:
        before = bisect(self._starts, at) - 1
        return before >= 0 and at < self._ends[before]


def _strings(data: bytes) -> _Strings | None:
    """None: nobody can tell without parsing."""
    spans = []
    opened: re.Match[bytes] | None = None
    for quotes in TRIPLE.finditer(data):
        at = quotes.start()
        if opened is None:
            if DOUBTFUL.search(data, data.rfind(b"\n", 0, at) + 1, at):
                return None
            opened = quotes
        elif quotes[0] == opened[0]:
            if data[at - 1 : at] == b"\\":
                return None
            spans.append((opened.start(), quotes.end()))
            opened = None
    return _Strings(spans) if opened is None else None
