"""The rules as text: the list, and one rule explained with its own specimens."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from hotloop.rules import SECTIONS, Rule
from hotloop.rules.specimens import diff

WIDTH = 80


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
    text += ["Slow and fast", "-------------", diff(rule), ""]
    return "\n".join(text).rstrip("\n") + "\n"


def parts(rule: Rule) -> list[str]:
    """What a rule can do, in the words of the commands."""
    have = (("check", rule.check), ("run", rule.diagnose), ("fix", rule.fix))
    return [name for name, part in have if part]
