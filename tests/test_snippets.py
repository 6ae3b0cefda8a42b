"""Short programs as people write them: `check` names the lines that end in `# rule-name`, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hotloop.cli import main

SNIPPETS = sorted(Path(__file__).with_name("snippets").glob("*.py"))
MARK = re.compile(r"#\s+((?:[a-z]+-)+[a-z]+)\s*$")


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.stem)
def test_check_names_the_marked_lines_and_no_other(snippet: Path, tmp_path: Path) -> None:
    source = snippet.read_text(encoding="utf-8")
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    output = tmp_path / "report.json"
    main(["check", str(tmp_path / "program.py"), "--format", "json", "--output", str(output)])
    report = json.loads(output.read_text(encoding="utf-8"))
    found = {(f["place"]["line"], f["rule"]) for f in report["findings"]}
    marked = {(at, m[1]) for at, line in enumerate(source.split("\n"), 1) if (m := MARK.search(line))}
    assert found == marked
    assert not report["problems"]
