"""The Report of `compare` and `fix` as a block for a pull request: the verdict, the numbers, what was changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hotloop import words
from hotloop.model import Report, Trial
from hotloop.report import phrases
from hotloop.report.trials import facts, headline, results


def render(report: Report) -> str:
    return "\n".join(_lines(report)).rstrip("\n") + "\n"


def _lines(report: Report) -> Iterator[str]:
    decisive = report.trials[-1] if report.trials else None
    yield f"### hotloop {report.command}: {headline(decisive) if decisive else 'not proved'}"
    yield ""
    if decisive:
        yield from _table(("", decisive.before, decisive.after), facts(decisive))
        yield f"Runs of each, in turns: {words.count(decisive.runs)}. Results: {results(decisive)}."
        yield ""
        yield from _list(decisive.notes)
    yield from _list(
        [f"{phrases.STATES[c.state, c.safety]}: `{c.place}` ({c.rule}): {c.title}" for c in report.changes]
    )
    if len(report.trials) > 1:
        columns = ("change", "speed-up", "results", "verdict")
        yield from _folded("All trials", _table(columns, map(_trial, report.trials)))
    if report.refusals:
        yield from _folded("Not fixed", _list(phrases.refused(report)))
    if report.diff:
        fence = "`" * max(3, 1 + _longest(report.diff))
        yield from _folded("The change", [f"{fence}diff", *map(phrases.clean, report.diff.splitlines()), fence, ""])
    yield from _list(report.notes if report.command == "fix" else ())


def _trial(trial: Trial) -> tuple[str, ...]:
    return trial.after, phrases.speedup(trial), results(trial), phrases.VERDICTS[trial.verdict]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (columns, ["---"] * len(columns), *rows):
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _list(sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        yield from (f"- {_cell(sentence)}" for sentence in sentences)
        yield ""


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"<details><summary>{title}</summary>", "", *lines, "</details>", "")


def _cell(text: str) -> str:
    """Text from anywhere, that stays in its cell and is no markup but for its backticks."""
    return phrases.clean(text).replace("|", "\\|").replace("<", "&lt;")


def _longest(text: str) -> int:
    """Of the rows of backticks in it."""
    return max((len(part) for line in text.splitlines() for part in line.split() if set(part) == {"`"}), default=0)
