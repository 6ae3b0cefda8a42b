"""Text from anywhere to HTML that says it and does nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from hotloop.report import phrases


def e(text: object, lines: bool = False) -> str:
    said = str(text)
    return escape(phrases.clean_lines(said) if lines else phrases.clean(said), quote=True)


def prose(text: str) -> str:
    """Sentences, with what stands in backticks set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", e(text))


def section(title: str, parts: Iterable[str], about: str = "") -> Iterator[str]:
    """A heading and what stands under it; nothing at all where there is nothing."""
    parts = list(parts)
    if parts:
        yield f"<section><h2>{e(title)}</h2>"
        if about:
            yield f'<p class="soft">{prose(about)}</p>'
        yield from parts
        yield "</section>"


def card(inner: str) -> str:
    return f'<div class="card">{inner}</div>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """`rows` are markup already. A column whose name begins with `#` holds numbers."""
    number = [name.startswith("#") for name in columns]
    css = [' class="number"' if is_number else "" for is_number in number]
    head = "".join(f'<th scope="col"{c}>{e(name.lstrip("#"))}</th>' for name, c in zip(columns, css, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{c}>{cell}</td>" for cell, c in zip(row, css, strict=True)) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>' if body else ""


def code(text: str) -> str:
    return f"<code>{e(text)}</code>"
