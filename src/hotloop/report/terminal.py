"""The Report for people at a terminal: the verdict first, then each cause with its line, then the rest."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

from hotloop import series, words
from hotloop.model import Finding, LoopSummary, Place, Report, Symptom, Trial
from hotloop.report import phrases
from hotloop.report.excerpt import Sources

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

NARROWEST, WIDEST = 60, 120
VIZ = 20  # columns of a sparkline and of a phase bar, which stand under each other
# Each phase has its own fill, so that a bar reads without color too.
FILLS = {
    "setup": ("▓", "red"),
    "trace": ("▒", "magenta"),
    "input": ("╱", "yellow"),
    "compute": ("█", "green"),
    "fetch": ("▞", "cyan"),
    "library": ("░", "blue"),
    "python": ("·", "bright_blue"),
}
OTHER = ("-", "white")
CONFIDENCE = {"high": "red", "medium": "yellow", "low": "blue"}
VERDICTS = {"faster": "bold green", "same": "blue", "inconclusive": "yellow"}


def render(report: Report, color: bool = False, width: int | None = None) -> str:
    from rich.console import Console

    width = width or shutil.get_terminal_size().columns
    buffer = StringIO()
    console = Console(
        file=buffer,
        width=min(max(width, NARROWEST), WIDEST),
        force_terminal=color,
        color_system="standard" if color else None,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    _print(console, report)
    return "".join(line.rstrip() + "\n" for line in buffer.getvalue().splitlines())


def _print(console: Console, report: Report) -> None:
    sources = Sources(report)
    blocks: list[list[RenderableType]] = []
    if report.command == "run":
        blocks.append([_text(f"hotloop run {phrases.program(report)}", "bold"), _text(phrases.headline(report), "dim")])
    blocks += [list(_loop(summary, report, sources, console.width)) for summary in report.loops]
    blocks += [[_symptom(symptom, 0)] for symptom in _homeless(report)]
    blocks += [list(_finding(finding, report, sources, console.width)) for finding in report.findings]
    if report.diff:
        blocks.append(list(_diff(report.diff)))
    if report.trials:
        blocks.append([_trials(report.trials), *_trial_notes(report.trials)])
    if report.refusals:
        blocks.append([_labelled("not fixed", f"{r.place}: {r.reason}", "yellow") for r in report.refusals])
    if report.notes:
        blocks.append([_labelled("note", note, "dim") for note in report.notes])
    for problem in report.problems:
        blocks.append(list(_problem(problem.rule, problem.path, problem.traceback)))
    if last := phrases.summary(report):
        blocks.append([_text(last, "bold")])
    for number, block in enumerate(blocks):
        if number:
            console.print()
        for part in block:
            whole = bool(getattr(part, "no_wrap", False))
            console.print(part, crop=False, no_wrap=whole, overflow="ignore" if whole else None)


# -- loops ---------------------------------------------------------------------------------------------------


def _loop(summary: LoopSummary, report: Report, sources: Sources, width: int) -> Iterator[RenderableType]:
    run = summary.run
    title = _text(str(run.place), "bold cyan")
    header = _text("  " + _header(summary, sources), "dim")
    header.truncate(max(0, width - title.cell_len), overflow="ellipsis")
    yield title.append_text(header)
    grid = _grid(2, VIZ, None)
    grid.add_row(
        "",
        _text(series.sparkline(run.step_seconds.values, VIZ), "cyan"),
        _text(phrases.facts(summary, report)),
    )
    phases = phrases.ordered_phases(summary)
    if phases:
        grid.add_row("", _bar(phases), _legend(phases, width - VIZ - 4))
    yield grid
    for symptom in report.symptoms:
        if symptom.loop == run.place:
            yield _symptom(symptom, 2)


def _header(summary: LoopSummary, sources: Sources) -> str:
    lines = [line for line in sources.excerpt(summary.run.place) if line.marked]
    return lines[0].text.strip() if lines else summary.run.kind


def _bar(phases: list[tuple[str, float, float]]) -> Text:
    bar, drawn, share_so_far = _text(""), 0, 0.0
    for name, _, share in phases:
        share_so_far += share
        fill, style = FILLS.get(name, OTHER)
        until = round(share_so_far * VIZ)
        bar.append(fill * (until - drawn), style)
        drawn = until
    return bar


def _legend(phases: list[tuple[str, float, float]], room: int) -> Text:
    """Name and share, the largest first, broken between entries; what would round to nothing is left out."""
    legend, used = _text(""), 0
    for name, _, share in sorted(phases, key=lambda phase: -phase[2]):
        if share < 0.01:
            continue
        fill, style = FILLS.get(name, OTHER)
        entry = f" {phrases.clean(name)} {words.percent(share)}"
        if used and used + len(entry) + 3 > room:
            legend.append("\n")
            used = 0
        elif used:
            legend.append("  ")
        legend.append(fill, style).append(entry)
        used += len(entry) + 3
    return legend


def _symptom(symptom: Symptom, indent: int) -> RenderableType:
    place = "" if indent else f"{symptom.loop}: "
    grid = _grid(indent, 1, None)
    grid.add_row("", _text("▲", "bold red"), _text(place + symptom.message, "red"))
    return grid


def _homeless(report: Report) -> list[Symptom]:
    shown = {summary.run.place for summary in report.loops}
    return [symptom for symptom in report.symptoms if symptom.loop not in shown]


# -- findings ------------------------------------------------------------------------------------------------


def _finding(finding: Finding, report: Report, sources: Sources, width: int) -> Iterator[RenderableType]:
    title = _text(str(finding.place), "bold")
    title.append("  " + phrases.clean(finding.rule), "bold red")
    title.append(f"  {finding.confidence}", CONFIDENCE[finding.confidence])
    yield title
    if cost := phrases.cost(finding, report):
        bar = _share(finding.cost.share).append("  ") if finding.cost else _text("")
        yield _indented(bar.append(cost, "bold" if finding.cost else "dim"))
    yield _indented(_text(finding.message))
    yield from _excerpt(finding.place, sources, width)
    kind, remedy = phrases.remedy(finding)
    details = [("where", phrases.where(finding), "dim"), ("seen", phrases.evidence(finding), "dim")]
    details.append((kind, remedy, "green" if kind == "fix" else "yellow"))
    for label, text, style in details:
        if text:
            yield _indented(_labelled(f"{label:<6}", text, style))


def _share(share: float) -> Text:
    filled = round(min(max(share, 0.0), 1.0) * VIZ)
    return _text("█" * filled, "yellow").append("░" * (VIZ - filled), "dim")


def _excerpt(place: Place, sources: Sources, width: int) -> Iterator[RenderableType]:
    lines = sources.excerpt(place)
    digits = len(str(lines[-1].number)) if lines else 0
    for line in lines:
        style = "bold" if line.marked else "dim"
        row = _text("   > " if line.marked else "     ", "bold red")
        row.append(f"{line.number:>{digits}} ", style).append("│ ", "dim").append(phrases.clean(line.text), style)
        row.truncate(width, overflow="ellipsis")
        yield row


# -- the rest ------------------------------------------------------------------------------------------------


def _diff(diff: str) -> Iterator[Text]:
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.rstrip("\n").split("\n"):
        style = "bold" if line.startswith(("+++", "---")) else styles.get(line[:1], "")
        yield _whole_line(line, style)


def _trials(trials: tuple[Trial, ...]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("change", "loops take", "speed-up", "results", "verdict"):
        table.add_column(name, overflow="fold")
    for trial in trials:
        before, after = words.duration(trial.before_seconds), words.duration(trial.after_seconds)
        table.add_row(
            _text(f"{trial.before} → {trial.after}"),
            f"{before} → {after}",
            phrases.speedup(trial),
            phrases.results(trial),
            _text(phrases.VERDICTS[trial.verdict], VERDICTS.get(trial.verdict, "bold red")),
        )
    return table


def _trial_notes(trials: tuple[Trial, ...]) -> Iterator[RenderableType]:
    for trial in trials:
        yield _text(phrases.verdict(trial), "bold")
        for note in trial.notes:
            yield _labelled("note", note, "dim")


def _problem(rule: str, path: str, trace: str) -> Iterator[RenderableType]:
    yield _labelled("defect", f"of hotloop itself, in {rule} on {path}. Please report it:", "bold red")
    for line in trace.rstrip("\n").split("\n"):
        yield _whole_line("  " + line, "dim")


def _labelled(label: str, text: str, style: str = "") -> RenderableType:
    grid = _grid(len(label), None)
    grid.add_row(_text(label, style), _text(text))
    return grid


def _indented(part: RenderableType) -> RenderableType:
    from rich.padding import Padding

    return Padding(part, (0, 0, 0, 2))


def _grid(*widths: int | None) -> Table:
    """Columns of the given widths with one or two spaces between; None takes the rest and wraps."""
    from rich.table import Table

    grid = Table.grid()
    for number, width in enumerate(widths):
        last = number == len(widths) - 1
        gap = 0 if last or (number == 0 and width == 0) else 1
        grid.add_column(width=width, overflow="fold", no_wrap=not last)
        grid.columns[-1].width = width if width is None else width + gap
    return grid


def _text(text: str, style: str = "") -> Text:
    """Text from anywhere, harmless."""
    from rich.text import Text

    return Text(phrases.clean(text), style=style, overflow="fold")


def _whole_line(text: str, style: str) -> Text:
    """A line that people copy: neither wrapped nor cut."""
    from rich.text import Text

    return Text(phrases.clean(text), style=style, no_wrap=True, overflow="ignore")
