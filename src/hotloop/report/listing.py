"""The program's own source with what each line cost in the margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hotloop import words
from hotloop.model import LineCost, Place, Report
from hotloop.report import charts, phrases
from hotloop.report.excerpt import Sources
from hotloop.report.markup import e

FILES = 6
LINES = 400  # of one file
AROUND = 3
WORTH = 0.002  # of the run: below, a line's cost is not written


def listings(report: Report, sources: Sources) -> Iterator[str]:
    """One for each file that took time, the costliest first; none for a file that is gone."""
    by_file: dict[str, list[LineCost]] = {}
    for cost in report.lines:
        by_file.setdefault(cost.place.path, []).append(cost)
    heaviest = sorted(by_file, key=lambda path: -max(cost.seconds for cost in by_file[path]))
    for path in [path for path in heaviest if path][:FILES]:
        yield from _listing(path, by_file[path], report, sources)


def _listing(path: str, costs: Sequence[LineCost], report: Report, sources: Sources) -> Iterator[str]:
    lines = sources.lines(Place(path, 1))
    seconds = float(report.meta.get("seconds") or 0.0) or max(cost.seconds for cost in costs)
    paid = {cost.place.line: cost for cost in costs if cost.seconds >= WORTH * seconds}
    causes: dict[int, list[int]] = {}
    for number, finding in enumerate(report.findings):
        if finding.place.path == path and finding.place.cell is None:
            causes.setdefault(finding.place.line, []).append(number)
    wanted = sorted({*paid, *causes} & set(range(1, len(lines) + 1)))
    shown = sorted(
        {n for line in wanted for n in range(line - AROUND, line + AROUND + 1)} & {*range(1, len(lines) + 1)}
    )
    if not shown:
        return
    rows, before = "", 0
    for number in shown[:LINES]:
        if number != before + 1 and before:
            rows += '<tr class="gap"><td></td><td></td><td></td><td>⋯</td></tr>'
        rows += _line(number, lines[number - 1], paid.get(number), causes.get(number, []), seconds, report)
        before = number
    titles = (("cost", ' class="number"'), ("phases", ""), ("line", ' class="number"'), ("source", ""))
    head = "".join(f'<th scope="col"{css}>{name}</th>' for name, css in titles)
    yield (
        f'<div class="card"><h3><span class="place">{e(path)}</span></h3><div class="wide"><table class="source">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def _line(number: int, text: str, cost: LineCost | None, causes: Sequence[int], seconds: float, report: Report) -> str:
    said = words.duration(cost.seconds) if cost else ""
    chips = "".join(
        f' <a class="chip rule" href="#cause-{index}">{e(report.findings[index].rule)}</a>' for index in causes
    )
    css = ' class="hot"' if causes else ""
    code = e(text.expandtabs(4).rstrip())
    return (
        f'<tr{css}><td class="number">{said}</td><td>{bar(cost, seconds) if cost else ""}</td>'
        f'<td class="number soft">{number}</td><td class="code">{code}{chips}</td></tr>'
    )


def bar(cost: LineCost, seconds: float) -> str:
    """As long as the line's share of the run, in the colors of its phases."""
    parts = "".join(
        f'<i class="{charts.phase_class(name)}" style="width:{100 * min(1.0, spent / seconds):.2f}%"></i>'
        for name, spent in sorted(cost.phases.items(), key=lambda item: _rank(item[0]))
        if spent > 0
    )
    told = ", ".join(f"{name} {words.duration(spent)}" for name, spent in cost.phases.items())
    return f'<span class="bar" role="img" aria-label="{e(told)}" title="{e(told)}">{parts}</span>'


def _rank(phase: str) -> int:
    return phrases.PHASES.index(phase) if phase in phrases.PHASES else len(phrases.PHASES)
