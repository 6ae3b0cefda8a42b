"""What `.gitignore` says of a path: git's own rules, without git."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

NOTHING = "(?!)"
CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True)
class Pattern:
    """One line of an ignore file. `regex` is of the whole path below the file's folder, or of the name alone."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool
    whole: bool

    def matches(self, path: str, name: str, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        return self.regex.fullmatch(path if self.whole else name) is not None


@dataclass(frozen=True)
class Ignore:
    """The patterns of one ignore file, which speak of what lies below `folder` (an absolute path, no slash last)."""

    folder: str
    patterns: tuple[Pattern, ...]

    def verdict(self, path: str, name: str, is_folder: bool) -> bool | None:
        """Whether this file ignores the absolute path; None where no line of it says so: the last that does decides."""
        below = path[len(self.folder) :].lstrip("/")
        names, wholes = self._any
        if not (names.fullmatch(name) or wholes.fullmatch(below)):
            return None
        for pattern in reversed(self.patterns):
            if pattern.matches(below, name, is_folder):
                return not pattern.negated
        return None

    @functools.cached_property
    def _any(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """All patterns at once, of names and of whole paths: most files match none, and one look says so."""
        names, wholes = (
            "|".join(f"(?:{p.regex.pattern})" for p in self.patterns if p.whole is whole) for whole in (False, True)
        )
        return re.compile(names or NOTHING, re.DOTALL), re.compile(wholes or NOTHING, re.DOTALL)


def parse(lines: Iterable[str], folder: str) -> Ignore:
    patterns = (_pattern(line) for line in lines)
    return Ignore(folder.rstrip("/"), tuple(pattern for pattern in patterns if pattern))


def read(file: Path) -> Ignore:
    """The patterns of a file; none if it cannot be read."""
    try:
        text = file.read_bytes().decode("utf-8-sig", "replace")
    except OSError:
        text = ""
    return parse((line.removesuffix("\r") for line in text.split("\n")), file.parent.as_posix())


def ignored(path: str, is_folder: bool, files: Iterable[Ignore]) -> bool:
    """What the ignore files say together: the nearest, which is last, has the last word."""
    name = path.rpartition("/")[2]
    for file in reversed(list(files)):
        verdict = file.verdict(path, name, is_folder)
        if verdict is not None:
            return verdict
    return False


def _pattern(line: str) -> Pattern | None:
    line = _without_trailing_spaces(line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line[negated:]
    folders_only = line.endswith("/") and not line.endswith("\\/")
    line = line[:-1] if folders_only else line
    whole = "/" in line
    regex = _regex(line.removeprefix("/"))
    try:
        return Pattern(re.compile(regex, re.DOTALL), negated, folders_only, whole) if line and regex else None
    except re.error:  # a range such as [z-a]: to git, too, it matches nothing
        return None


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 and len(stripped) < len(line) else stripped


def _regex(glob: str) -> str:
    """The regular expression of a pattern; "" for one that matches nothing."""
    out, at = "", 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            piece, at = _stars(glob, at)
        elif char == "?":
            piece, at = "[^/]", at + 1
        elif char == "[":
            piece, at = _bracket(glob, at)
        elif char == "\\":
            piece, at = (re.escape(glob[at + 1]), at + 2) if at + 1 < len(glob) else ("", at)
        else:
            piece, at = re.escape(char), at + 1
        if not piece:
            return ""
        out += piece
    return out


def _stars(glob: str, at: int) -> tuple[str, int]:
    """`*` stays within a name; `**` between slashes crosses folders, and takes the slash behind it along."""
    end = at
    while end < len(glob) and glob[end] == "*":
        end += 1
    # git compares what stands before the first wildcard by itself, so that `**` right behind it counts as a beginning.
    starts = at == 0 or glob[at - 1] == "/" or not re.search(r"[*?[\\]", glob[:at])
    ends = end == len(glob) or glob[end] == "/"
    if end - at < 2 or not (starts and ends):
        return "[^/]*", end
    return (".*", end) if end == len(glob) else ("(?:.*/)?", end + 1)


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """A set such as `[a-z]`, `[!0-9]` or `[[:digit:]]`; without its closing bracket it matches nothing."""
    start = at + 1
    negated = glob[start : start + 1] in ("!", "^")
    start += negated
    out, here = "", start
    while here < len(glob) and (glob[here] != "]" or here == start):
        named = re.match(r"\[:(\w+):\]", glob[here:])
        if named:
            out, here = out + CLASSES.get(named[1], ""), here + named.end()
            continue
        if glob[here] == "\\" and here + 1 < len(glob):
            here += 1
        elif glob[here] == "-" and here > start:
            out, here = out + "-", here + 1
            continue
        out, here = out + re.escape(glob[here]), here + 1
    if here >= len(glob) or not out:
        return "", here
    return f"(?!/)[{'^' if negated else ''}{out}]", here + 1


def names(path: str, file: Ignore) -> bool:
    """Whether a list of patterns names the file at an absolute path, or a folder that it lies in."""
    above = [at for at, char in enumerate(path) if char == "/" and at > len(file.folder)]
    return ignored(path, False, (file,)) or any(ignored(path[:at], True, (file,)) for at in above)
