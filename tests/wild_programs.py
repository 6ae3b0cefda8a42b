"""The programs in tests/wild, and what their `# guilty:` comments expect of hotloop; a good program has none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WILD = Path(__file__).with_name("wild")
PROGRAMS = sorted(main.parent for main in WILD.glob("*/main.py"))
COMMENT = re.compile(r"# guilty: (.+)$")

# The word on a guilty line -> what the name of a rule that points there contains.
WORDS = {
    "session": "session",
    "model-load": "model-load",
    "ops": "ops-in",
    "function": "function-in",
    "number": "number",
    "predict": "predict",
    "eager": "eager",
}

Guilt = Mapping[tuple[str, int], frozenset[str]]


def guilt(folder: Path) -> Guilt:
    """(file, line) -> what the rules that may point there are called, in part."""
    return {
        (path.name, number): frozenset(WORDS[word.strip()] for word in comment[1].split(","))
        for path in folder.glob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (comment := COMMENT.search(line))
    }


def strays(findings: list[dict[str, Any]], guilty: Guilt) -> list[str]:
    """The findings that point at a line which is innocent, or innocent of that."""
    found: list[str] = []
    for finding in findings:
        path, line = finding["place"]["path"], finding["place"]["line"]
        if not any(word in finding["rule"] for word in guilty.get((path, line), ())):
            found.append(f"{path}:{line} {finding['rule']}: {finding['message']}")
    return found
