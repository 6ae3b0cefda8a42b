"""The Report for people at a terminal: the verdict first, then each cause with its line, then the rest."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import TYPE_CHECKING

from hotloop import series, words
from hotloop.model import Change, Finding, LoopSummary, Report, Symptom, Trial
from hotloop.report import phrases
from hotloop.report.excerpt import Line, Sources
from hotloop.report.trials import facts, results

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.table import Table
    from rich.text import Text

NARROWEST, WIDEST = 60, 120
NOTES = 5  # of what a project's files are passed over for, before they are only counted
NEGLIGIBLE = 0.015  # of a loop: a phase below is not named
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


def render(
    report: Report, color: bool = False, width: int | None = None, texts: Mapping[str, bytes] | None = None
) -> str:
    if report.command == "check" and not (report.findings or report.notes or report.problems):
        return ""  # before Rich is loaded: most checks of a healthy project end here
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
    _print(console, report, Sources(report, texts))
    return "".join(line.rstrip() + "\n" for line in buffer.getvalue().splitlines())


def _print(console: Console, report: Report, sources: Sources) -> None:
    blocks: list[list[RenderableType]] = []
    if report.command == "run":
        blocks.append([_text(f"hotloop run {phrases.program(report)}", "bold"), _text(phrases.headline(report), "dim")])
        blocks.append([_text(phrases.summary(report), _mood(report))])
    if report.command != "fix":  # whose changes and refusals say what was found
        blocks += [list(_loop(summary, report, sources, console.width)) for summary in report.loops]
        blocks += [[_symptom(symptom, 0)] for symptom in _homeless(report)]
        together = zip(report.findings, (None, *report.findings), strict=False)
        blocks += [list(_finding(finding, above, report, sources, console.width)) for finding, above in together]
    if report.diff:
        blocks.append(list(_diff(report.diff)))
    if report.trials:
        blocks.append([_trials(report.trials), *_trial_notes(report.trials)])
    if report.changes:
        blocks.append([_changes(report.changes)])
    if report.refusals:
        blocks.append([_labelled("not fixed", said, "yellow") for said in phrases.refused(report)])
    if report.notes:
        blocks.append([_labelled("note", note, "dim") for note in _few(report.notes)])
    blocks += [list(_defect(said, trace)) for said, trace in phrases.defects(report)]
    if report.command == "check" and (last := phrases.summary(report)):
        counts = phrases.by_rule(report)
        blocks.append([_text(last, "bold"), *([_text(counts, "dim")] if counts else [])])
    if then := phrases.what_next(report):
        blocks.append([_labelled(f"{label:<6}", text, "cyan") for label, text in then])
    for number, block in enumerate(blocks):
        if number:
            console.print()
        for part in block:
            whole = bool(getattr(part, "no_wrap", False))
            console.print(part, crop=False, no_wrap=whole, overflow="ignore" if whole else None)


def _mood(report: Report) -> str:
    return "bold green" if _well(report) and report.loops else "bold"


def _well(report: Report) -> bool:
    return not (report.findings or report.symptoms)


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
        grid.add_row("", _bar(phases), _text("") if _well(report) else _legend(phases, width - VIZ - 4))
    yield grid
    if _well(report):
        yield _phase_table(phases)
    for symptom in report.symptoms:
        if symptom.loop == run.place:
            yield _symptom(symptom, 2)
    for remark in summary.remarks:
        grid = _grid(2, 1, None)
        grid.add_row("", _text("△", "cyan"), _text(remark))
        yield grid


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
        if share < NEGLIGIBLE:
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


def _phase_table(phases: list[tuple[str, float, float]]) -> RenderableType:
    """Where the time of a loop went that nothing is wrong with, in full."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=4, justify="right")
    columns: tuple[JustifyMethod, ...] = ("left", "right", "right")
    for justify in columns:
        table.add_column(justify=justify, no_wrap=True)
    table.add_column()
    for name, seconds, share in sorted(phases, key=lambda phase: -phase[1]):
        if share >= NEGLIGIBLE:
            fill, style = FILLS.get(name, OTHER)
            about = _text(phrases.MEANING.get(name, ""), "dim")
            table.add_row(_text(fill, style), _text(name), words.duration(seconds), words.percent(share), about)
    return table


def _symptom(symptom: Symptom, indent: int) -> RenderableType:
    place = "" if indent else f"{symptom.loop}: "
    grid = _grid(indent, 1, None)
    grid.add_row("", _text("▲", "bold red"), _text(place + symptom.message, "red"))
    return grid


def _homeless(report: Report) -> list[Symptom]:
    shown = {summary.run.place for summary in report.loops}
    return [symptom for symptom in report.symptoms if symptom.loop not in shown]


# -- findings ------------------------------------------------------------------------------------------------


def _finding(
    finding: Finding, above: Finding | None, report: Report, sources: Sources, width: int
) -> Iterator[RenderableType]:
    """`above`: the finding that stands above. Where it is about the same line, that is shown once."""
    title, name = _text(str(finding.place), "bold"), _text(finding.rule, "bold red")
    name.append(f"  {finding.confidence}", CONFIDENCE[finding.confidence])
    if title.cell_len + 2 + name.cell_len <= width:
        yield title.append("  ").append_text(name)
    else:
        yield title
        yield _indented(name)
    if cost := phrases.cost(finding, report):
        bar = _share(finding.cost.share).append("  ") if finding.cost and finding.cost.seconds else _text("")
        yield _indented(bar.append(cost, "bold" if finding.cost else "dim"))
    yield _indented(_text(finding.message))
    again = above is not None and _stands(above) == _stands(finding)
    excerpt = sources.excerpt(finding.place)
    trail = list(_trail(finding, excerpt, sources, width)) if report.command == "check" else []
    if not again:
        yield from _excerpt(excerpt, finding, width)
        yield from trail
    kind, remedy = phrases.remedy(finding)
    where = "" if again or trail or _loop_line(finding, excerpt) else phrases.where(finding)
    details = [("where", where, "dim"), ("seen", phrases.evidence(finding), "dim")]
    details.append(("mend", phrases.way_out(finding) if report.command == "run" else "", "green"))
    details.append((kind, remedy, "green" if kind == "fix" else "yellow"))
    for label, text, style in details:
        if text:
            yield _indented(_labelled(f"{label:<6}", text, style))


def _stands(finding: Finding) -> tuple[object, ...]:
    return finding.place, finding.loop, finding.chain


def _share(share: float) -> Text:
    filled = round(min(max(share, 0.0), 1.0) * VIZ)
    return _text("█" * filled, "yellow").append("░" * (VIZ - filled), "dim")


def _excerpt(lines: list[Line], finding: Finding, width: int) -> Iterator[RenderableType]:
    """The lines around the place: `>` marks it, carets the spot, and the loop's own line has a mark too."""
    digits = len(str(lines[-1].number)) if lines else 0
    loop = _loop_line(finding, lines)
    for line in lines:
        style = "bold" if line.marked else "dim"
        mark = ("> ", "bold red") if line.marked else ("↻ ", "yellow") if line.number == loop else ("  ", "")
        row = _text("   ").append(*mark)
        row.append(f"{line.number:>{digits}} ", style).append("│ ", "dim").append(phrases.clean(line.text), style)
        row.truncate(width, overflow="ellipsis")
        yield row
        if line.spot and 8 + digits + line.spot[1] <= width:
            under = " " * line.spot[0] + "^" * (line.spot[1] - line.spot[0])
            yield _text(" " * (6 + digits)).append("│ ", "dim").append(under, "bold red")


def _loop_line(finding: Finding, lines: list[Line]) -> int:
    """The line of the loop, if the excerpt shows it and nothing more needs to be said; else 0."""
    loop = finding.loop
    if loop is None or (loop.path, loop.cell) != (finding.place.path, finding.place.cell) or finding.chain:
        return 0
    return loop.line if any(line.number == loop.line for line in lines) else 0


def _trail(finding: Finding, lines: list[Line], sources: Sources, width: int) -> Iterator[RenderableType]:
    """The loop's line and the calls that lead from it to the place, where the excerpt does not show them."""
    if finding.loop is None or _loop_line(finding, lines):
        return
    stops = [("loop", finding.loop), *(("call", p) for p in finding.chain if p not in (finding.place, finding.loop))]
    if not all(sources.line(place) for _, place in stops):
        return
    names = phrases.stops(finding, [place for _, place in stops])
    longest = max(len(phrases.clean(name)) for name in names)
    for (label, place), name in zip(stops, names, strict=True):
        row = _text("  ").append(f"{label:<7}", "yellow" if label == "loop" else "dim")
        row.append(f"{phrases.clean(name):>{longest}} ", "dim").append("│ ", "dim")
        row.append(phrases.clean(sources.line(place).strip()))
        row.truncate(width, overflow="ellipsis")
        yield row


# -- the rest ------------------------------------------------------------------------------------------------


def _diff(diff: str) -> Iterator[Text]:
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.replace("\r\n", "\n").rstrip("\n").split("\n"):
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


def _changes(changes: tuple[Change, ...]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    for change in changes:
        style = "green" if change.state in ("written", "proved") else "yellow"
        table.add_row(
            _text(phrases.STATES[change.state, change.safety], style), _text(f"{change.place}: {change.title}")
        )
    return table


def _trial_notes(trials: tuple[Trial, ...]) -> Iterator[RenderableType]:
    """Of the trial that decided."""
    decisive = trials[-1]
    yield _text(phrases.verdict(decisive), "bold")
    if rows := facts(decisive):
        yield _facts(rows)
    if decisive.level:
        yield _labelled("results", f"{results(decisive)}", "green")
    for note in decisive.notes:
        yield _labelled("note", note, "dim")


def _facts(rows: list[tuple[str, str, str]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "before", "after"):
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    return table


def _few(notes: tuple[str, ...]) -> Iterator[str]:
    yield from notes[:NOTES]
    if len(notes) > NOTES:
        yield f"and {words.plural(len(notes) - NOTES, 'note')} more: `--format json` holds them all."


def _defect(said: str, trace: str) -> Iterator[RenderableType]:
    yield _labelled("defect", said, "bold red")
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
