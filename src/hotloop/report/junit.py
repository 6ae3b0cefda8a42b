"""The Report as JUnit XML, which most CI servers show as failed tests: one for each finding and symptom."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from hotloop.model import Finding, Place, Report
from hotloop.report import phrases


def render(report: Report) -> str:
    defects = phrases.defects(report)
    errors = len(defects)
    count = len(report.findings) + len(report.symptoms)
    total = {"tests": str(count + errors or 1), "failures": str(count), "errors": str(errors)}
    root = Element("testsuites", {"name": "hotloop", **total})
    suite = SubElement(root, "testsuite", {"name": f"hotloop {_text(report.command)}", **total})
    for finding in report.findings:
        _failure(suite, finding, report)
    for symptom in report.symptoms:
        _case(suite, symptom.loop, symptom.kind, "symptom", [symptom.message])
    for said, trace in defects:
        case = SubElement(suite, "testcase", {"classname": "hotloop", "name": "defect"})
        error = SubElement(case, "error", {"message": _text(f"defect {said}"), "type": "defect"})
        error.text = phrases.clean_lines(trace)
    if not count and not errors:  # a report without tests is an error to some servers
        SubElement(suite, "testcase", {"classname": "hotloop", "name": "nothing found"})
    if report.notes:
        SubElement(suite, "system-out").text = "\n".join(_text(note) for note in report.notes)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _failure(suite: Element, finding: Finding, report: Report) -> None:
    label, remedy = phrases.remedy(finding)
    cost = phrases.cost(finding, report)
    said = (finding.message, cost, phrases.where(finding), f"{label}: {remedy}" if remedy else "")
    _case(suite, finding.place, finding.rule, finding.confidence, [text for text in said if text])


def _case(suite: Element, place: Place, name: str, kind: str, said: list[str]) -> None:
    name = f"{name} at {'' if place.cell is None else f'cell {place.cell}, '}line {place.line}"
    about = {"classname": _text(place.path), "name": _text(name), "file": _text(place.path), "line": str(place.line)}
    case = SubElement(suite, "testcase", about)
    failure = SubElement(case, "failure", {"message": _text(said[0]), "type": kind})
    failure.text = "\n".join(_text(text) for text in (str(place), *said))


def _text(text: str) -> str:
    return phrases.clean(text)
