"""What an exception says, of all that stands around it: Keras and AutoGraph tell where first, and with what last."""

from __future__ import annotations

import re

TRACEBACK = "Traceback (most recent call last):"
INNER = re.compile(r"\s+((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning): )")  # within the message of another
HANDED = re.compile(r"\s*(Arguments received by |Call arguments received by )")
COLORS = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 300


def of_exception(text: str) -> str:
    """Of `Name: message`, in one line."""
    lines = COLORS.sub("", text).splitlines()
    begin = max((i for i, line in enumerate(lines) if INNER.match(line)), default=0)
    lines = lines[begin:]
    end = next((i for i, line in enumerate(lines) if i and HANDED.match(line)), len(lines))
    said = " ".join(" ".join(lines[:end]).split()).rstrip(":")
    return said if len(said) <= LONGEST else said[: LONGEST - 3] + "..."


def of_stderr(text: str) -> str:
    """Of the last traceback that a program printed, or its last line; "" if it printed nothing."""
    lines = [line for line in text.splitlines() if line.strip()]
    begin = max((i for i, line in enumerate(lines) if line.startswith(TRACEBACK)), default=len(lines))
    ended = next((i for i in range(begin + 1, len(lines)) if not lines[i][0].isspace()), None)
    if ended is None:
        return lines[-1].strip() if lines else ""
    return of_exception("\n".join(lines[ended:]))
