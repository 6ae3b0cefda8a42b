"""The rules as text: the list, and one rule explained with its own specimens."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from hotloop.rules import SECTIONS, Rule
from hotloop.rules.specimens import diff

WIDTH = 80
PAINT = {"bold": 1, "red": 31, "green": 32, "cyan": 36}
DIFF = {"+": "green", "-": "red", "@": "cyan"}


def listing(rules: Iterable[Rule]) -> str:
    rules = list(rules)
    lines = []
    for rule in rules:
        lines.append(f"{rule.name}  ({', '.join(parts(rule))})")
        lines.append(textwrap.fill(rule.summary, WIDTH, initial_indent="    ", subsequent_indent="    "))
    lines.append("")
    lines.append("`hotloop explain RULE` says why, what to do instead, and when not to.")
    return "\n".join(lines) + "\n"


def explain(rule: Rule, color: bool = False) -> str:
    """Summary, the sections of its docstring, and what the cure looks like."""
    text = [_painted(rule.name, "bold", color), "=" * len(rule.name), "", textwrap.fill(rule.summary, WIDTH), ""]
    for name in SECTIONS:
        if rule.sections.get(name):
            text += [_painted(name, "bold", color), "-" * len(name), _filled(rule.sections[name]), ""]
    text += [_painted("Slow and fast", "bold", color), "-------------"]
    text += [_painted(line, DIFF.get(line[:1], ""), color) for line in diff(rule).split("\n")]
    return "\n".join(text).rstrip("\n") + "\n"


def _filled(text: str) -> str:
    """Paragraphs at the same width as the summary; what is indented or a list keeps its lines."""
    parts = text.split("\n\n")
    kept = re.compile(r"^(\s|[-*] |```)", re.MULTILINE)
    return "\n\n".join(part if kept.search(part) else textwrap.fill(" ".join(part.split()), WIDTH) for part in parts)


def _painted(text: str, style: str, color: bool) -> str:
    return f"\x1b[{PAINT[style]}m{text}\x1b[0m" if color and style else text


def parts(rule: Rule) -> list[str]:
    """What a rule can do, in the words of the commands."""
    have = (("check", rule.check), ("run", rule.diagnose), ("fix", rule.fix))
    return [name for name, part in have if part]
