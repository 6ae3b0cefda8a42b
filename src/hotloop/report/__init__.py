"""A Report to text: each format is a module with `render`, imported when it is asked for."""

from __future__ import annotations

from hotloop.model import HotloopError, Report


def render(report: Report, format: str, color: bool = False) -> str:
    if format == "terminal":
        from hotloop.report.terminal import render as for_terminal

        return for_terminal(report, color)
    if format == "json":
        from hotloop.report.json import render as as_json

        return as_json(report)
    if format == "html":
        from hotloop.report.html import render as as_page

        return as_page(report)
    raise HotloopError(f"there is no format `{format}`: terminal, json, html.")
