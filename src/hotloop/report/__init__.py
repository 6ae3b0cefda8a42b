"""A Report to text: each format is a module with `render`, imported when it is asked for."""

from __future__ import annotations

from hotloop.model import HotloopError, Report


def render(report: Report, format: str, color: bool = False) -> str:
    if format == "terminal":
        from hotloop.report import terminal

        return terminal.render(report, color)
    if format == "json":
        from hotloop.report import json

        return json.render(report)
    if format == "html":
        from hotloop.report import html

        return html.render(report)
    raise HotloopError(f"there is no format `{format}`: terminal, json, html.")
