"""`--fail-on`: what of a report makes the command fail, where a pipeline has to stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hotloop.model import HotloopError, Report
from hotloop.rules import all_rules

SYMPTOMS = ("degrading", "leaking")
# A loop that has become slower at once, and for good, is slower at its end like one that did so by and by.
ALSO = {"degrading": "slowed"}


def conditions(values: Iterable[str]) -> tuple[str, ...]:
    """What the user asked for, each known; before anything runs, for a run may take hours."""
    for value in values:
        if value not in ("any", *SYMPTOMS) and value not in [rule.name for rule in all_rules()]:
            raise HotloopError(f"--fail-on takes any, {', '.join(SYMPTOMS)} or a rule's name: there is no `{value}`.")
    return tuple(dict.fromkeys(values))


def reasons(report: Report, wanted: Sequence[str]) -> list[str]:
    """One sentence for each condition that holds; none: the report passes."""
    found = [(finding.rule, str(finding.place)) for finding in report.findings]
    found += [(symptom.kind, str(symptom.loop)) for symptom in report.symptoms]
    sentences = []
    for name in wanted:
        held = [(what, where) for what, where in found if name == "any" or what in (name, ALSO.get(name))]
        if held:
            what, where = held[0]
            more = f" and {len(held) - 1} more" if len(held) > 1 else ""
            sentences.append(f"fails, as --fail-on {name} asks: {what} at {where}{more}.")
    return sentences
