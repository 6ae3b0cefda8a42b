"""A Report to text: each format is a module with `render`, imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from hotloop.model import HotloopError, Report


def render(
    report: Report,
    format: str,
    color: bool = False,
    texts: Mapping[str, bytes] | None = None,
    width: int | None = None,
) -> str:
    """`texts` are sources that are not on disk as they were read, by path."""
    if format == "terminal":
        from hotloop.report.terminal import render as for_terminal

        return for_terminal(report, color, width, texts)
    if format == "json":
        from hotloop.report.json import render as as_json

        return as_json(report)
    if format == "sarif":
        from hotloop.report.sarif import render as as_sarif

        return as_sarif(report, texts)
    if format == "github":
        from hotloop.report.github import render as as_commands

        return as_commands(report)
    if format == "junit":
        from hotloop.report.junit import render as as_xml

        return as_xml(report)
    if format == "markdown":
        from hotloop.report.markdown import render as as_markdown

        return as_markdown(report)
    if format == "html":
        from hotloop.report.html import render as as_page

        return as_page(report)
    if format == "diff":
        return report.diff
    raise HotloopError(f"there is no format `{format}`: terminal, json, sarif, github, junit, markdown, html, diff.")
