"""Project x rules -> findings. Reads source, runs nothing."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from hotloop.model import Finding, Place, Problem, Report
from hotloop.rules import Rule, all_rules
from hotloop.source import Project, discover, load_project
from hotloop.source.notebooks import in_cell, relocated


def check_paths(paths: Sequence[Path], rules: Iterable[Rule] | None = None, low: bool = False) -> Report:
    """What `hotloop check` reports; low-confidence findings only when asked."""
    return check_files(Path.cwd(), discover(paths), rules, low)


def check_files(
    root: Path,
    files: Sequence[Path],
    rules: Iterable[Rule] | None = None,
    low: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    project, unread = load_project(files, root, progress)
    findings, problems = check(project, all_rules() if rules is None else rules)
    kept = [f for f in findings if low or f.confidence != "low"]
    unused = _unused_suppressions(project, findings) if rules is None or set(rules) == set(all_rules()) else []
    shown, more = offered([f for f in kept if not suppressed(f, project)], project)
    cells = {module.path: module.cells for module in project.modules.values() if module.cells}
    return Report(
        "check",
        findings=tuple(relocated(finding, cells) for finding in shown),
        problems=(*problems, *more),
        notes=(*unread.notes, *unused),
        meta={
            "files": len(files),
            "parsed": len(project.modules),
            "root": str(root),
            "unreadable": unread.unreadable,
            "unparsed": unread.unparsed,
        },
    )


def check(project: Project, rules: Iterable[Rule]) -> tuple[list[Finding], list[Problem]]:
    """Every finding of every rule, by place; a rule that crashes is one Problem and the rest goes on."""
    findings: list[Finding] = []
    problems: list[Problem] = []
    for rule in rules:
        if rule.check is None:
            continue
        try:
            findings += rule.check(project)
        except Exception:  # noqa: BLE001 - our defect in one rule must not cost the user the others
            problems.append(Problem("", rule.name, traceback.format_exc()))
    unique = {(f.rule, f.place): f for f in findings}
    return sorted(unique.values(), key=lambda f: (f.place, f.rule)), problems


def offered(findings: Iterable[Finding], project: Project) -> tuple[list[Finding], list[Problem]]:
    """The findings, each with the fix that its rule has for it or the reason why there is none."""
    makers = {rule.name: rule.fix for rule in all_rules()}
    answered: list[Finding] = []
    problems: list[Problem] = []
    for finding in findings:
        make = makers.get(finding.rule)
        if make is not None and finding.fix is None and finding.basis != "measured":
            try:
                finding = replace(finding, fix=make(finding, project))
            except Exception:  # noqa: BLE001 - as above: the finding stands without its fix
                problems.append(Problem(finding.place.path, finding.rule, traceback.format_exc()))
        answered.append(finding)
    return answered, problems


def suppressed(finding: Finding, project: Project) -> bool:
    """Whether the user has excused the line from the rule."""
    module = project.modules.get(finding.place.path)
    return module is not None and finding.rule in module.suppressions.get(finding.place.line, ())


def _unused_suppressions(project: Project, findings: list[Finding]) -> list[str]:
    said = {(f.place.path, f.place.line, f.rule) for f in findings}
    return [
        f"{in_cell(Place(module.path, line), module.cells)}: "
        f"the suppression of `{name}` is not needed: there is no such finding."
        for module in project.modules.values()
        for line, names in module.suppressions.items()
        for name in sorted(names)
        if (module.path, line, name) not in said
    ]
