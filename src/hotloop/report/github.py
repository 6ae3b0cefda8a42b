"""The Report as workflow commands, which GitHub Actions turns into annotations on the changed lines."""

from __future__ import annotations

from hotloop.model import Finding, Place, Report, Symptom
from hotloop.report import phrases

LEVELS = {"high": "error", "medium": "warning", "low": "notice"}


def render(report: Report) -> str:
    lines = [_annotation(finding) for finding in report.findings]
    lines += [_symptom(symptom) for symptom in report.symptoms]
    lines += [_command("warning", {"title": "hotloop"}, note) for note in report.notes]
    lines += [_command("warning", {"title": "hotloop"}, f"defect {said}") for said, _ in phrases.defects(report)]
    return "".join(line + "\n" for line in lines)


def _annotation(finding: Finding) -> str:
    around = phrases.where(finding) if finding.chain else ""
    message = f"{finding.message} ({around})" if around else finding.message
    return _at(finding.place, LEVELS[finding.confidence], finding.rule, message)


def _symptom(symptom: Symptom) -> str:
    first_line = Place(symptom.loop.path, symptom.loop.line, symptom.loop.col, cell=symptom.loop.cell)
    return _at(first_line, "warning", symptom.kind, symptom.message)


def _at(place: Place, level: str, title: str, message: str) -> str:
    where: dict[str, object] = {"title": f"hotloop: {title}", "file": place.path}
    if place.cell is None:
        end = max(place.line, place.end_line)
        where |= {"line": place.line, "endLine": end, "col": place.col + 1}
        if place.end_col and end == place.line:
            where["endColumn"] = place.end_col + 1
    else:  # lines of a cell are not lines of the file
        where["line"] = 1
        message = f"cell {place.cell}, line {place.line}: {message}"
    return _command(level, where, message)


def _command(name: str, properties: dict[str, object], message: str) -> str:
    said = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {said}::{_data(phrases.clean(message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(phrases.clean(text)).replace(":", "%3A").replace(",", "%2C")
