"""A rule's specimens: the programs that are its example, its test, its fix's answer and its benchmark."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotloop.rules import Rule

_EXPECT = re.compile(rb"[ \t]*# expect: *(?P<names>[a-z0-9, -]+?)[ \t]*(?=\r?$)", re.MULTILINE)


def specimen(rule: Rule, name: str) -> dict[str, bytes]:
    """The files of `slow`, `fast` or `edge` by path in the rule's folder: `slow.py`, or all of `slow/`."""
    folder = rule.folder / name
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    return {path.relative_to(rule.folder).as_posix(): path.read_bytes() for path in paths}


def program(rule: Rule, name: str) -> str:
    """What to run of a specimen: `slow.py`, or `slow/main.py`."""
    return f"{name}/main.py" if (rule.folder / name).is_dir() else f"{name}.py"


def expectations(files: dict[str, bytes]) -> set[tuple[str, int, str]]:
    """What the `# expect: rule-name` comments say: path, line and rule of every finding that should be."""
    return {
        (path, source.count(b"\n", 0, match.start("names")) + 1, rule.strip())
        for path, source in files.items()
        for match in _EXPECT.finditer(source)
        for rule in match["names"].decode().split(",")
    }


def plain(files: dict[str, bytes]) -> dict[str, bytes]:
    """The programs without their `# expect:` comments, as a user would have written them."""
    return {path: _EXPECT.sub(b"", source) for path, source in files.items()}


def renamed(files: dict[str, bytes], name: str) -> dict[str, bytes]:
    """The same files under another specimen's name, so that two specimens can be compared path by path."""
    return {re.sub(r"^\w+", name, path, count=1): source for path, source in files.items()}


def write(files: dict[str, bytes], folder: Path) -> None:
    for path, source in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(source)


def diff(rule: Rule) -> str:
    """From slow to fast, as a unified diff."""
    slow, fast = plain(specimen(rule, "slow")), plain(specimen(rule, "fast"))
    mates = renamed(fast, "slow")
    lines: list[str] = []
    for path in sorted({*slow, *mates}):
        old, new = (side.get(path, b"").decode().splitlines() for side in (slow, mates))
        lines += difflib.unified_diff(old, new, path, re.sub("^slow", "fast", path), lineterm="")
    return "\n".join(lines)
