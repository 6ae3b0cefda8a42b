"""What `check` says of big public packages, kept beside a person's judgement of each finding of high confidence.

Without `--check`, the snapshot is written anew and keeps the judgements that still apply; a new finding of high
confidence has `"true": null` until somebody has read the source and written true or false and why.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from corpus import add_arguments, pinned, unpacked
from surroundings import HERE

SNAPSHOT = HERE / "crater" / "findings.json"
ENOUGH = 0.9  # of the findings of high confidence must be true
JUDGEMENT = ("true", "why")

Finding = dict[str, Any]


def found(corpus: Path, folders: list[str]) -> tuple[list[Finding], int]:
    """The findings of high and medium confidence, and how often hotloop itself failed."""
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch, "report.json")
        options = ["--format", "json", "--output", str(output)]
        subprocess.run([sys.executable, "-m", "hotloop", "check", *options, *folders], cwd=corpus, check=False)
        report = json.loads(output.read_bytes())
    for problem in report["problems"]:
        print(f"problem: {problem['rule']} in {problem['path']}\n{problem['traceback']}")
    return [_plain(finding) for finding in report["findings"]], len(report["problems"])


def _plain(finding: Finding) -> Finding:
    folder, _, path = finding["place"]["path"].partition("/")
    return {
        "package": next(name for name, version in pinned().items() if folder == f"{name}-{version}"),
        "path": path,
        "line": finding["place"]["line"],
        "rule": finding["rule"],
        "confidence": finding["confidence"],
        "message": finding["message"],
    }


def key(finding: Finding) -> tuple[str, str, int, str]:
    return finding["package"], finding["path"], finding["line"], finding["rule"]


def judged(findings: list[Finding], before: list[Finding]) -> list[Finding]:
    """The findings with what was written beside them before."""
    said = {key(finding): {name: finding[name] for name in JUDGEMENT if name in finding} for finding in before}
    blank = {"true": None, "why": ""}
    return [
        finding | (blank if finding["confidence"] == "high" else {}) | said.get(key(finding), {})
        for finding in findings
    ]


def differences(findings: list[Finding], before: list[Finding]) -> list[str]:
    """What is not as the snapshot says."""
    old, new = ({key(finding): finding for finding in side} for side in (before, findings))
    said = [f"new: {_line(new[one])}" for one in sorted(new.keys() - old.keys())]
    said += [f"gone: {_line(old[one])}" for one in sorted(old.keys() - new.keys())]
    for one in sorted(new.keys() & old.keys()):
        was, now = ({name: side[one][name] for name in ("confidence", "message")} for side in (old, new))
        said += [f"changed: {_line(old[one])}\n     to: {_line(new[one])}"] if was != now else []
    return said


def _line(finding: Finding) -> str:
    place = f"{finding['package']} {finding['path']}:{finding['line']}"
    return f"{place} {finding['rule']} ({finding['confidence']}): {finding['message']}"


def verdict(findings: list[Finding], problems: int) -> tuple[bool, str]:
    """Whether the findings of high confidence are as good as they have to be."""
    high = [finding for finding in findings if finding["confidence"] == "high"]
    true, unread = (sum(finding["true"] is value for finding in high) for value in (True, None))
    good = not unread and not problems and true >= ENOUGH * len(high)
    words = f"{len(high)} of high confidence: {true} true, {len(high) - true - unread} false, {unread} unjudged"
    return good, f"{len(findings)} findings, {words}; {problems} problems"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the snapshot, write nothing")
    add_arguments(parser)
    arguments = parser.parse_args()
    kept = json.loads(SNAPSHOT.read_text(encoding="utf-8"))["findings"] if SNAPSHOT.exists() else []
    before = [finding for finding in kept if finding["package"] in (arguments.only or pinned())]
    plain, problems = found(arguments.corpus, unpacked(arguments.corpus, arguments.only))
    findings = judged(plain, before)
    good, words = verdict(findings, problems)
    print(*differences(findings, before), words, sep="\n")
    if not arguments.check and not arguments.only:
        SNAPSHOT.parent.mkdir(exist_ok=True)
        content = {"packages": pinned(), "findings": findings}
        SNAPSHOT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
