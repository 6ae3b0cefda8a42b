"""The Report as one offline page: step times over iterations, memory, phases, findings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from hotloop import series, words
from hotloop.model import Finding, LoopSummary, Report, Series, Trial
from hotloop.report import page, phrases
from hotloop.report.excerpt import Sources
from hotloop.report.json import finite

UNITS = ((1.0, "s"), (1e-3, "ms"), (0.0, "µs"))
SEVERAL_TIMES = 3.0  # warm-up this much above the rest leaves the chart, and is said under it


def render(report: Report) -> str:
    from plotly.offline import get_plotlyjs

    sources = Sources(report)
    charts = _charts(report)
    body = "\n".join(_body(report, sources))
    title = _e(f"hotloop {report.command} {phrases.program(report)}".strip())
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{page.POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{page.STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f'<script type="application/json" id="charts">{_script_json(charts)}</script>\n'
        f"<script>{get_plotlyjs()}</script>\n<script>{page.SCRIPT}</script>\n</body>\n</html>\n"
    )


def _body(report: Report, sources: Sources) -> Iterator[str]:
    yield f"<header><h1>hotloop {_e(report.command)} {_e(phrases.program(report))}</h1>"
    if report.command == "run":
        yield f'<p class="soft">{_e(phrases.headline(report))}</p>'
    yield f'<p class="verdict">{_e(phrases.summary(report))}</p></header>'
    yield from _section("Loops", (_loop(i, s, report, sources) for i, s in enumerate(report.loops)))
    yield from _section("Causes", (_finding(finding, report, sources) for finding in report.findings))
    if len(report.memory.values) > 1:
        yield from _section("Memory", ['<div class="card"><div class="chart" id="memory"></div></div>'])
    if report.diff:
        yield from _section("Change", [f"<pre>{_diff(report.diff)}</pre>"])
    if report.trials:
        yield from _section("Proof", [_trials(report.trials)])
    yield from _section("Not fixed", (_card(f"{r.place}: {r.reason}") for r in report.refusals))
    yield from _section("Notes", (_card(note) for note in report.notes))
    defects = (
        f'<div class="card"><p>A defect {_prose(said)}</p><pre>{_e(trace, lines=True)}</pre></div>'
        for said, trace in phrases.defects(report)
    )
    yield from _section("Defects of hotloop itself", defects)
    yield f"<footer>{_e(_footer(report))}</footer>"


def _section(title: str, parts: Iterable[str]) -> Iterator[str]:
    parts = list(parts)
    if parts:
        yield f"<section><h2>{_e(title)}</h2>"
        yield from parts
        yield "</section>"


def _card(text: str) -> str:
    return f'<div class="card"><p>{_prose(text)}</p></div>'


# -- loops ---------------------------------------------------------------------------------------------------


def _loop(index: int, summary: LoopSummary, report: Report, sources: Sources) -> str:
    run = summary.run
    marked = [line.text.strip() for line in sources.excerpt(run.place) if line.marked]
    symptoms = [s.message for s in report.symptoms if s.loop == run.place]
    alarms = "".join(f'<p class="symptom">▲ {_e(message)}</p>' for message in symptoms)
    warm = _above_chart(run.step_seconds.values)
    note = f'<p class="soft">{words.plural(warm, "warm-up step")} above the chart.</p>' if warm else ""
    return (
        f'<article class="card"><h3><span class="place">{_e(str(run.place))}</span> '
        f"<code>{_e(marked[0] if marked else run.kind)}</code></h3>"
        f"<p>{_e(phrases.facts(summary, report))}</p>{alarms}{_phases(summary)}"
        f'<div class="chart" id="steps-{index}"></div>{note}</article>'
    )


def _phases(summary: LoopSummary) -> str:
    phases = phrases.ordered_phases(summary)
    if not phases:
        return ""
    parts = "".join(f'<i class="{_css(n)}" style="width:{share * 100:.2f}%"></i>' for n, _, share in phases)
    legend = "".join(
        f'<li><i class="{_css(name)}"></i>{_e(name)} {words.percent(share)} · {words.duration(seconds)}'
        f"{_e(': ' + phrases.MEANING[name]) if name in phrases.MEANING else ''}</li>"
        for name, seconds, share in sorted(phases, key=lambda phase: -phase[1])
        if share >= 0.005
    )
    return f'<div class="bar">{parts}</div><ul class="legend">{legend}</ul>'


def _css(phase: str) -> str:
    return phase if phase in phrases.PHASES else "other"


# -- findings ------------------------------------------------------------------------------------------------


def _finding(finding: Finding, report: Report, sources: Sources) -> str:
    cost = phrases.cost(finding, report)
    width = 100 * min(max(finding.cost.share, 0.0), 1.0) if finding.cost else 0.0
    bar = f'<div class="bar"><i class="cost" style="width:{width:.2f}%"></i></div>' if finding.cost else ""
    label, remedy = phrases.remedy(finding)
    details = (("where", phrases.where(finding)), ("seen", phrases.evidence(finding)), (label, remedy))
    rows = "".join(f"<dt>{_e(name)}</dt><dd>{_prose(text)}</dd>" for name, text in details if text)
    return (
        f'<article class="card"><h3><span class="place">{_e(str(finding.place))}</span> '
        f'<span class="rule">{_e(finding.rule)}</span> '
        f'<span class="chip">{_e(finding.confidence)}</span></h3>'
        f"{bar}{f'<p><b>{_e(cost)}</b></p>' if cost else ''}"
        f"<p>{_prose(finding.message)}</p>{_excerpt(finding, sources)}"
        f"{f'<dl>{rows}</dl>' if rows else ''}</article>"
    )


def _excerpt(finding: Finding, sources: Sources) -> str:
    lines = sources.excerpt(finding.place)
    if not lines:
        return ""
    width = len(str(lines[-1].number))
    shown = (
        ("<mark>%s</mark>" if line.marked else "%s") % f"{line.number:>{width}}  {_e(line.text)}" for line in lines
    )
    return "<pre>" + "\n".join(shown) + "</pre>"


# -- the rest ------------------------------------------------------------------------------------------------


def _trials(trials: Sequence[Trial]) -> str:
    rows = ""
    for trial in trials:
        cells = (
            f"{trial.before} → {trial.after}",
            f"{words.duration(trial.before_seconds)} → {words.duration(trial.after_seconds)}",
            phrases.speedup(trial),
            phrases.results(trial),
            phrases.VERDICTS[trial.verdict],
        )
        rows += "<tr>" + "".join(f"<td>{_e(cell)}</td>" for cell in cells) + "</tr>"
        sentences = " ".join((phrases.verdict(trial), *trial.notes))
        rows += f'<tr><td colspan="5">{_prose(sentences)}</td></tr>'
    head = "".join(f"<th>{name}</th>" for name in ("change", "loops take", "speed-up", "results", "verdict"))
    return f'<div class="card"><table><tr>{head}</tr>{rows}</table></div>'


def _diff(diff: str) -> str:
    kinds = {"+": "add", "-": "del"}
    lines = (
        f'<span class="{kinds[line[0]]}">{_e(line)}</span>' if line[:1] in kinds else _e(line)
        for line in diff.rstrip("\n").split("\n")
    )
    return "\n".join(lines)


def _footer(report: Report) -> str:
    versions = report.meta.get("versions") or {}
    machine = report.meta.get("machine") or {}
    about = [f"{name} {version}" for name, version in sorted(versions.items())]
    about += [f"{k} {v}" for k, v in sorted(machine.items())] if isinstance(machine, dict) else [str(machine)]
    return " · ".join(about)


# -- charts: numbers alone. Plotly reads markup in titles, so no text from outside goes there --------------


def _charts(report: Report) -> list[dict[str, Any]]:
    degrading = {symptom.loop for symptom in report.symptoms if symptom.kind == "degrading"}
    charts = [
        _steps(f"steps-{index}", summary.run.step_seconds, summary.run.place in degrading)
        for index, summary in enumerate(report.loops)
    ]
    if len(report.memory.values) > 1:
        levels = [value / 1e6 for value in report.memory.values]
        trace = _trace(report.memory.at, levels, "lines", "series", "%{y:.4~s} MB at %{x:.3~s} s<extra></extra>")
        axes = {"x": {"title": "seconds"}, "y": {"title": "memory (MB)", "rangemode": "tozero"}}
        charts.append({"id": "memory", "traces": [trace], **axes})
    return charts


def _steps(name: str, steps: Series, degrading: bool) -> dict[str, Any]:
    rest = steps.values[series.warm_up(steps.values) :]
    scale, unit = next((s or 1e-6, u) for s, u in UNITS if series.median(rest) >= s)
    mode = "markers" if len(steps.values) <= 400 else "lines"
    hover = f"step %{{x}}: %{{y:.4~s}} {unit}<extra></extra>"
    traces = [_trace(steps.at, [v / scale for v in steps.values], mode, "series", hover)]
    if degrading:
        line = series.trend(steps.at, steps.values)
        last = steps.at[-1]
        ends = [line.end - line.slope * (last - steps.at[0]), line.end]
        fit = _trace([steps.at[0], last], [max(0.0, v) / scale for v in ends], "lines", "alarm", "")
        traces.append({**fit, "hoverinfo": "skip", "line": {"dash": "dash", "width": 2}})
    y: dict[str, Any] = {"title": f"time per step ({unit})", "rangemode": "tozero"}
    if _above_chart(steps.values):
        y["range"] = [0, 1.15 * max(rest) / scale]
    return {"id": name, "traces": traces, "x": {"title": "step"}, "y": y}


def _above_chart(values: Sequence[float]) -> int:
    """How many warm-up steps are so far above the rest that a chart with them would show nothing else."""
    cut = series.warm_up(values)
    rest = values[cut:]
    return sum(value > SEVERAL_TIMES * max(rest) for value in values[:cut]) if rest else 0


def _trace(x: Sequence[float], y: Sequence[float], mode: str, color: str, hover: str) -> dict[str, Any]:
    look = {"marker": {"size": 5, "opacity": 0.75}, "line": {"width": 1.5}}
    return {"x": list(x), "y": list(y), "mode": mode, "color": color, "hovertemplate": hover, **look}


# -- escaping ------------------------------------------------------------------------------------------------


def _e(text: str, lines: bool = False) -> str:
    return escape(phrases.clean_lines(text) if lines else phrases.clean(text), quote=True)


def _prose(text: str) -> str:
    """Sentences, with what stands in backticks set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _e(text))


def _script_json(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it can close the element or open another."""
    text = json.dumps(finite(value), separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
