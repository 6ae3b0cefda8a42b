"""Runs generated programs before and after their fixes in this process, and says which print something else."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field

from generated import program
from unharmed import harm

from hotloop.mending import PATCHES, mend
from hotloop.rules import all_rules

_numbers = itertools.count()


@dataclass(frozen=True)
class Outcome:
    number: int
    fixes: tuple[tuple[str, str], ...]  # rule and safety
    refused: tuple[tuple[str, str], ...]  # rule and reason
    wrong: tuple[str, ...] = field(default=())  # sentences


def tried(number: int, safeties: tuple[str, ...] = PATCHES) -> Outcome:
    """One program: mended, run before and after, mended again."""
    source = program(number).encode()
    mended = mend({"program.py": source}, all_rules(), safeties=safeties)
    after = mended.contents["program.py"]
    fixes = tuple((finding.rule, fix.safety) for finding, fix in mended.done)
    refused = tuple((finding.rule, refusal.reason) for finding, refusal in mended.refusals)
    return Outcome(number, fixes, refused, tuple(_wrong(source, after, safeties)) if fixes else ())


def _wrong(source: bytes, after: bytes, safeties: tuple[str, ...]) -> Iterator[str]:
    yield from harm(source, after)
    if mend({"program.py": after}, all_rules(), safeties=safeties).contents["program.py"] != after:
        yield "fixing it again changes it"
    one, two = printed(source), printed(after)
    if one != two:
        yield f"it printed {one!r} and prints {two!r}"


def printed(source: bytes) -> str:
    out = io.StringIO()
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = len(source), None, source.decode().splitlines(keepends=True), name  # AutoGraph reads it
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(source, name, "exec", dont_inherit=True), {"__name__": "__main__"})
    except Exception as error:  # noqa: BLE001 - whatever a program ends with is what it did
        out.write(f"{type(error).__name__}: {error}")
    return out.getvalue()
