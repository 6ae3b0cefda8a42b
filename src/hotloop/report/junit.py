"""The Report as JUnit XML, which most CI servers show as failed tests: one for each finding."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from hotloop.model import Finding, Report
from hotloop.report import phrases


def render(report: Report) -> str:
    defects = phrases.defects(report)
    errors = len(defects)
    count = len(report.findings)
    total = {"tests": str(count + errors or 1), "failures": str(count), "errors": str(errors)}
    root = Element("testsuites", {"name": "hotloop", **total})
    suite = SubElement(root, "testsuite", {"name": "hotloop check", **total})
    for finding in report.findings:
        _failure(suite, finding)
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


def _failure(suite: Element, finding: Finding) -> None:
    place = finding.place
    name = f"{finding.rule} at {'' if place.cell is None else f'cell {place.cell}, '}line {place.line}"
    about = {"classname": _text(place.path), "name": _text(name), "file": _text(place.path), "line": str(place.line)}
    case = SubElement(suite, "testcase", about)
    failure = SubElement(case, "failure", {"message": _text(finding.message), "type": finding.confidence})
    label, remedy = phrases.remedy(finding)
    details = (str(place), finding.message, phrases.where(finding), f"{label}: {remedy}" if remedy else "")
    failure.text = "\n".join(_text(detail) for detail in details if detail)


def _text(text: str) -> str:
    return phrases.clean(text)
