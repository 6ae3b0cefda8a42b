"""Findings that a project has agreed to live with for now: a file of them, and what is new against it."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

from hotloop.model import Finding, HotloopError, Report
from hotloop.report.excerpt import Sources

VERSION = 1
Key = tuple[str, str, str]  # rule, path from the baseline's folder, the text of the line: its number may change


def write(report: Report, sources: Sources, file: Path) -> None:
    """All findings of the report, as a baseline that reads well in a review."""
    counts = Counter(_key(finding, sources, file) for finding in report.findings)
    findings = [{"rule": r, "path": p, "line": t, "count": n} for (r, p, t), n in sorted(counts.items(), key=_by_path)]
    text = json.dumps({"version": VERSION, "findings": findings}, indent=2, ensure_ascii=False)
    try:
        scratch = file.with_name(file.name + ".tmp")
        scratch.write_bytes(text.encode("utf-8", "replace") + b"\n")
        scratch.replace(file)
    except OSError as error:
        raise HotloopError(f"cannot write the baseline {file}: {error.strerror or error}.") from error


def new(report: Report, sources: Sources, file: Path) -> Report:
    """The report without what the baseline holds; `meta.known` says how many findings that were."""
    known = _read(file)
    kept = []
    for finding in report.findings:
        key = _key(finding, sources, file)
        if known[key] > 0:
            known[key] -= 1
        else:
            kept.append(finding)
    return replace(report, findings=tuple(kept), meta={**report.meta, "known": len(report.findings) - len(kept)})


def _key(finding: Finding, sources: Sources, file: Path) -> Key:
    path = os.path.relpath(sources.root.resolve() / finding.place.path, file.resolve().parent)
    return finding.rule, path.replace(os.sep, "/"), " ".join(sources.line(finding.place).split())


def _by_path(item: tuple[Key, int]) -> tuple[str, str, str]:
    (rule, path, text), _ = item
    return path, text, rule


def _read(file: Path) -> Counter[Key]:
    try:
        plain = json.loads(file.read_bytes())
        if not isinstance(plain, dict) or plain.get("version") != VERSION:
            raise ValueError(f"it does not say version {VERSION}")
        known: Counter[Key] = Counter()
        for item in plain["findings"]:
            known[(str(item["rule"]), str(item["path"]), str(item["line"]))] += int(item.get("count", 1))
    except OSError as error:
        raise HotloopError(
            f"cannot read the baseline {file}: {error.strerror or error}. `--write-baseline` makes one."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HotloopError(f"{file} is not a baseline: {error}. `--write-baseline` makes a new one.") from error
    return known
