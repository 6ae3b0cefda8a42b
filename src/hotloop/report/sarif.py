"""The Report as SARIF 2.1.0, which code-scanning tools read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from hotloop import __version__
from hotloop.model import Edit, Finding, Fix, Place, Report, Symptom, to_plain
from hotloop.report import phrases
from hotloop.report.excerpt import Sources
from hotloop.report.json import finite
from hotloop.rules import Rule, all_rules

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"high": "error", "medium": "warning", "low": "note"}
SYMPTOMS = {
    "degrading": "Each step of the loop takes longer than the one before.",
    "slowed": "From some step on, each step of the loop takes longer than before.",
    "leaking": "Memory grows with the steps of the loop.",
}
FINGERPRINT = "hotloopLine/v1"


def render(report: Report, texts: Mapping[str, bytes] | None = None) -> str:
    sources = Sources(report, texts)
    rules = all_rules()
    index = {rule.name: number for number, rule in enumerate(rules)}
    seen: dict[str, int] = {}
    notices = [_notification(note, "warning") for note in report.notes]
    notices += [_notification(f"defect {said}", "error") for said, _ in phrases.defects(report)]
    described = [_rule(rule) for rule in rules]
    described += [_kind(kind) for kind in sorted({symptom.kind for symptom in report.symptoms})]
    driver = {"name": "hotloop", "semanticVersion": __version__, "rules": described}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not report.problems, "toolExecutionNotifications": notices}],
        "columnKind": "unicodeCodePoints",
        "results": [
            *(_result(finding, index, sources, seen) for finding in report.findings),
            *(_symptom(symptom, sources) for symptom in report.symptoms),
        ],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    sections = [(name, rule.sections[name]) for name in rule.sections if name != "summary"]
    text = "\n\n".join(f"{name}: {body}" for name, body in sections)
    markdown = "\n\n".join(f"**{name}**\n\n{body}" for name, body in sections)
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": f"{rule.summary}\n\n{text}", "markdown": f"{rule.summary}\n\n{markdown}"},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["performance", "tensorflow"], "precision": "high"},
    }


def _result(finding: Finding, index: dict[str, int], sources: Sources, seen: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": LEVELS[finding.confidence],
        "message": {"text": _message(finding)},
        "locations": [_location(finding.place, sources)],
        "partialFingerprints": {FINGERPRINT: _fingerprint(finding, sources, seen)},
        "properties": {"confidence": finding.confidence, "basis": finding.basis},
    }
    if finding.cost is not None:
        result["properties"]["cost"] = finite(to_plain(finding.cost))
    if finding.evidence:
        result["properties"]["evidence"] = finite(to_plain(finding.evidence))
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    around = [("the loop", finding.loop)] if finding.loop else []
    around += [("called here", place) for place in finding.chain]
    if around:
        result["relatedLocations"] = [
            {"id": number, **_location(place, sources), "message": {"text": said}}
            for number, (said, place) in enumerate(around, 1)
        ]
    if isinstance(finding.fix, Fix) and finding.fix.edits:
        result["fixes"] = [_fix(finding.fix, sources)]
    return result


def _kind(kind: str) -> dict[str, Any]:
    """A symptom's kind, for readers that know results by rules alone."""
    text = {"text": SYMPTOMS.get(kind, kind)}
    return {"id": kind, "shortDescription": text, "fullDescription": text, "help": text}


def _symptom(symptom: Symptom, sources: Sources) -> dict[str, Any]:
    properties: dict[str, Any] = {"size": symptom.size, "unit": symptom.unit}
    if symptom.interval:
        properties["interval"] = list(symptom.interval)
    return {
        "ruleId": symptom.kind,
        "level": "warning",
        "message": {"text": phrases.clean(symptom.message)},
        "locations": [_location(symptom.loop, sources)],
        "properties": finite(properties),
    }


def _message(finding: Finding) -> str:
    place = finding.place
    cell = "" if place.cell is None else f"cell {place.cell}, line {place.line}: "
    return phrases.clean(cell + finding.message)


def _location(place: Place, sources: Sources) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(place.path)}}
    if place.cell is None:
        location["physicalLocation"]["region"] = _region(place, sources)
    else:  # lines of a cell are not lines of the file
        location["physicalLocation"]["region"] = {"startLine": 1}
        location["logicalLocations"] = [{"name": f"cell {place.cell}", "kind": "module"}]
    return location


def _artifact(path: str) -> dict[str, str]:
    if PurePosixPath(path).is_absolute():
        return {"uri": "file://" + quote(phrases.clean(path))}
    return {"uri": quote(phrases.clean(path)), "uriBaseId": "%SRCROOT%"}


def _region(place: Place, sources: Sources) -> dict[str, Any]:
    """Lines and columns from 1, in characters; the end is behind the last one."""
    start = max(1, place.line)
    region: dict[str, Any] = {"startLine": start, "startColumn": sources.characters(place.path, start, place.col) + 1}
    if place.end_line >= start:
        region["endLine"] = place.end_line
        end = sources.characters(place.path, place.end_line, place.end_col) + 1
        if place.end_col and (place.end_line > start or end >= region["startColumn"]):
            region["endColumn"] = end
    return region


def _fingerprint(finding: Finding, sources: Sources, seen: dict[str, int]) -> str:
    """The same for the same line of the same file, wherever it has moved; the second of two equal lines differs."""
    text = sources.line(finding.place).strip()
    key = "\0".join((finding.rule, finding.place.path, text))
    seen[key] = seen.get(key, 0) + 1
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{digest}:{seen[key]}"


def _fix(fix: Fix, sources: Sources) -> dict[str, Any]:
    paths = sorted({edit.path for edit in fix.edits})
    changes = [
        {
            "artifactLocation": _artifact(path),
            "replacements": [_replacement(edit, sources) for edit in fix.edits if edit.path == path],
        }
        for path in paths
    ]
    return {"description": {"text": phrases.clean(fix.title)}, "artifactChanges": changes}


def _replacement(edit: Edit, sources: Sources) -> dict[str, Any]:
    region: dict[str, Any] = {"byteOffset": edit.start, "byteLength": edit.end - edit.start}
    span = sources.span(edit)
    if span is not None:
        line, column, end_line, end_column = span
        region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}


def _notification(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": phrases.clean(text)}}
