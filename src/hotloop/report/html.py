"""The Report as one offline page: charts over iterations and over time, causes, the source with its costs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from hotloop import words
from hotloop.model import Change, Finding, LoopSummary, Report, Trial
from hotloop.report import charts, happened, phrases
from hotloop.report.excerpt import Sources
from hotloop.report.listing import listings
from hotloop.report.markup import card, code, e, prose, section, table
from hotloop.report.pipelines import pipelines
from hotloop.report.trials import chart, facts

STYLE, SCRIPT = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))


def render(report: Report) -> str:
    body = "\n".join(_body(report, Sources(report)))
    title = e(f"hotloop {report.command} {phrases.program(report)}".strip())
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def policy() -> str:
    """Nothing is loaded and no script runs but the page's own: what it shows came from someone's program."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _body(report: Report, sources: Sources) -> Iterator[str]:
    yield f"<header><h1>hotloop {e(report.command)} {e(phrases.program(report))}</h1>"
    if report.command == "run":
        yield f'<p class="soft">{e(phrases.headline(report))}</p>'
    yield f'<p class="verdict">{e(phrases.summary(report))}</p></header>'
    about = "Strokes under a chart say when something happened; of many, some are drawn." if report.events else ""
    yield from section("Loops", (_loop(summary, report, sources) for summary in report.loops), about)
    yield from section("Causes", (_finding(i, f, report, sources) for i, f in enumerate(report.findings)))
    yield from section("Over time", _cards(_legend(report) + charts.over_time(report) if report.memory.at else ""))
    about = "Seconds on a line include what it called. The bar is its share of the run, by phase."
    yield from section("Source", listings(report, sources), about)
    yield from section("Traces", _cards(happened.traces(report)), "Why TensorFlow turned Python into graphs, and when.")
    about = "From the source on, as TensorFlow ran them. A loop waits for what its pipeline has not got ready."
    yield from section("Input pipelines", pipelines(report), about)
    if report.diff:
        yield from section("Change", [f"<pre>{_diff(report.diff)}</pre>"])
    yield from section("Changes", _changes(report.changes))
    if report.trials:
        yield from section("Proof", [_trials(report.trials)])
    yield from section("Not fixed", (card(f"<p>{prose(said)}</p>") for said in phrases.refused(report)))
    yield from section("Notes", (card(f"<p>{prose(note)}</p>") for note in report.notes))
    yield from section("Defects of hotloop itself", _defects(report))
    if events := happened.rest(report):
        yield f"<details><summary>Everything that was counted</summary>{card(events)}</details>"
    yield f"<footer>{e(_footer(report))}</footer>"


def _cards(*parts: str) -> list[str]:
    return [card(part) for part in parts if part]


# -- loops ---------------------------------------------------------------------------------------------------


def _loop(summary: LoopSummary, report: Report, sources: Sources) -> str:
    run = summary.run
    marked = [line.text.strip() for line in sources.excerpt(run.place) if line.marked]
    symptoms = [s.message for s in report.symptoms if s.loop == run.place]
    alarms = "".join(f'<p class="symptom">▲ {prose(message)}</p>' for message in symptoms)
    alarms += "".join(f"<p>△ {prose(remark)}</p>" for remark in summary.remarks)
    chart, left_out = charts.steps(summary, report)
    note = "".join(f'<p class="soft">{e(text)}</p>' for text in (phrases.epochs(summary), left_out) if text)
    return (
        f'<article class="card"><h3><span class="place">{e(run.place)}</span> '
        f"{code(marked[0] if marked else run.kind)}</h3>"
        f"<p>{e(phrases.facts(summary, report))}</p>{alarms}{_phases(summary)}{chart}{note}</article>"
    )


def _phases(summary: LoopSummary) -> str:
    phases = phrases.ordered_phases(summary)
    if not phases:
        return ""
    parts = "".join(
        f'<i class="{charts.phase_class(name)}" style="width:{share * 100:.2f}%"></i>' for name, _, share in phases
    )
    told = ", ".join(f"{name} {words.percent(share)}" for name, _, share in phases)
    legend = "".join(
        f'<li><i class="{charts.phase_class(name)}"></i>{e(name)} {words.percent(share)} · {words.duration(seconds)}'
        f"{e(': ' + phrases.MEANING[name]) if name in phrases.MEANING else ''}</li>"
        for name, seconds, share in sorted(phases, key=lambda phase: -phase[1])
        if share >= 0.005
    )
    return f'<div class="bar" role="img" aria-label="{e(told)}">{parts}</div><ul class="legend">{legend}</ul>'


def _legend(report: Report) -> str:
    """The colors of the phases, where they are drawn over time."""
    seen = [name for name in phrases.PHASES if any(s.name == name and any(s.values) for s in report.phases)]
    items = "".join(f'<li><i class="{name}"></i>{name}: {e(phrases.MEANING[name])}</li>' for name in seen)
    return f'<ul class="legend">{items}</ul>' if items else ""


# -- findings ------------------------------------------------------------------------------------------------


def _finding(index: int, finding: Finding, report: Report, sources: Sources) -> str:
    cost = phrases.cost(finding, report)
    width = 100 * min(max(finding.cost.share, 0.0), 1.0) if finding.cost else 0.0
    bar = f'<div class="bar"><i class="cost" style="width:{width:.2f}%"></i></div>' if finding.cost else ""
    details = [
        ("where", phrases.where(finding)),
        ("seen", phrases.evidence(finding)),
        ("mend", phrases.way_out(finding) if report.command == "run" else ""),
        phrases.remedy(finding),
    ]
    rows = "".join(f"<dt>{e(name)}</dt><dd>{prose(text)}</dd>" for name, text in details if text)
    return (
        f'<article class="card" id="cause-{index}"><h3><span class="place">{e(finding.place)}</span> '
        f'<span class="rule">{e(finding.rule)}</span> '
        f'<span class="chip">{e(finding.confidence)}</span></h3>'
        f"{bar}{f'<p><b>{e(cost)}</b></p>' if cost else ''}"
        f"<p>{prose(finding.message)}</p>{_excerpt(finding, sources)}"
        f"{f'<dl>{rows}</dl>' if rows else ''}</article>"
    )


def _excerpt(finding: Finding, sources: Sources) -> str:
    lines = sources.excerpt(finding.place)
    if not lines:
        return ""
    width = len(str(lines[-1].number))
    shown = (("<mark>%s</mark>" if line.marked else "%s") % f"{line.number:>{width}}  {e(line.text)}" for line in lines)
    return "<pre>" + "\n".join(shown) + "</pre>"


# -- the rest ------------------------------------------------------------------------------------------------


def _trials(trials: Sequence[Trial]) -> str:
    rows = [
        (
            e(f"{trial.before} → {trial.after}"),
            f"{words.duration(trial.before_seconds)} → {words.duration(trial.after_seconds)}",
            e(phrases.speedup(trial)),
            e(phrases.results(trial)),
            e(phrases.VERDICTS[trial.verdict]),
        )
        for trial in trials
    ]
    said = "".join(f"<p>{prose(' '.join((phrases.verdict(trial), *trial.notes)))}</p>" for trial in trials)
    decisive = trials[-1]
    numbers = table(("", "before", "after"), [tuple(map(e, row)) for row in facts(decisive)])
    return card(
        table(("change", "loops take", "speed-up", "results", "verdict"), rows) + said + numbers + chart(decisive)
    )


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    if changes:
        rows = [(e(phrases.STATES[c.state, c.safety]), e(c.place), e(c.rule), prose(c.title)) for c in changes]
        yield card(table(("", "where", "rule", "change"), rows))


def _diff(diff: str) -> str:
    kinds = {"+": "add", "-": "del"}
    lines = (
        f'<span class="{kinds[line[0]]}">{e(line)}</span>' if line[:1] in kinds else e(line)
        for line in diff.replace("\r\n", "\n").rstrip("\n").split("\n")
    )
    return "\n".join(lines)


def _defects(report: Report) -> Iterator[str]:
    for said, trace in phrases.defects(report):
        yield card(f"<p>A defect {prose(said)}</p><pre>{e(trace, lines=True)}</pre>")


def _footer(report: Report) -> str:
    versions = report.meta.get("versions") or {}
    machine = report.meta.get("machine") or {}
    about = [f"{name} {version}" for name, version in sorted(versions.items())]
    about += [f"{k} {v}" for k, v in sorted(machine.items())] if isinstance(machine, dict) else [str(machine)]
    return " · ".join(about)
