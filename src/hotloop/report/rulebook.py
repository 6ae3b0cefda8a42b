"""The rules as text: the list, and one rule explained with its own specimens."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from hotloop.rules import SECTIONS, Rule

WIDTH = 80
_EXPECT = re.compile(r"[ \t]*# expect:.*$", re.MULTILINE)


def listing(rules: Iterable[Rule]) -> str:
    rules = list(rules)
    lines = []
    for rule in rules:
        lines.append(f"{rule.name}  ({', '.join(parts(rule))})")
        lines.append(textwrap.fill(rule.summary, WIDTH, initial_indent="    ", subsequent_indent="    "))
    lines.append("")
    lines.append("`hotloop explain RULE` says why, what to do instead, and when not to.")
    return "\n".join(lines) + "\n"


def explain(rule: Rule) -> str:
    """Summary, the sections of its docstring, and what the cure looks like."""
    text = [rule.name, "=" * len(rule.name), "", textwrap.fill(rule.summary, WIDTH), ""]
    for name in SECTIONS:
        if rule.sections.get(name):
            text += [name, "-" * len(name), rule.sections[name], ""]
    if diff := specimen_diff(rule):
        text += ["Slow and fast", "-------------", diff.rstrip("\n"), ""]
    return "\n".join(text).rstrip("\n") + "\n"


def parts(rule: Rule) -> list[str]:
    """What a rule can do, in the words of the commands."""
    have = (("check", rule.check), ("run", rule.diagnose), ("fix", rule.fix))
    return [name for name, part in have if part]


def specimen_diff(rule: Rule) -> str:
    """What separates the slow specimen from the fast one; a specimen is a file, or a folder of modules."""
    slow, fast = _specimen(rule.folder, "slow"), _specimen(rule.folder, "fast")
    diffs = []
    for name in sorted(slow.keys() | fast.keys()):
        before, after = slow.get(name, ""), fast.get(name, "")
        label = f"/{name}" if name else ".py"
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), f"slow{label}", f"fast{label}", lineterm="", n=3
        )
        diffs += list(lines)
    return "\n".join(diffs) + "\n" if diffs else ""


def _specimen(folder: Path, name: str) -> dict[str, str]:
    single, several = folder / f"{name}.py", folder / name
    if single.is_file():
        return {"": without_expectations(single.read_text(encoding="utf-8"))}
    return {
        path.relative_to(several).as_posix(): without_expectations(path.read_text(encoding="utf-8"))
        for path in sorted(several.rglob("*.py"))
    }


def without_expectations(source: str) -> str:
    """A specimen as a user would have written it."""
    return _EXPECT.sub("", source)
