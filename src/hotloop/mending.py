"""Findings -> changed texts: every fix that can be made, each on top of the one before, and why the rest is left."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hotloop.check import check, suppressed
from hotloop.model import Finding, Fix, Place, Refusal
from hotloop.rules import Rule
from hotloop.source import Files, Project
from hotloop.source.cells import Unwritable, edited
from hotloop.source.notebooks import SUFFIX, CellMap, cell_lines, in_cell, to_python
from hotloop.source.rewrite import apply_edits

Contents = dict[str, bytes]
Key = tuple[str, str, bytes]  # rule, path and text of the line: a finding is still itself when lines have moved
Told = list[tuple[Finding, Refusal]]

TOP = Path("/-hotloop-")  # of files that are in memory only: a folder that is there could be a link, as `/lib` is
ROUNDS = 200  # each patches a file once at most; more than that is a patch that does not settle
PATCHES: tuple[str, ...] = ("safe", "verify")  # what is put in; advice is for people


@dataclass
class Mended:
    """Files after every fix that could be made, what was done to them, and why the rest was left."""

    contents: Contents
    done: list[tuple[Finding, Fix]] = field(default_factory=list)  # their places are those of the files as they were
    refusals: Told = field(default_factory=list)
    advice: list[tuple[Finding, Fix]] = field(default_factory=list)


def mend(
    contents: Contents,
    rules: Iterable[Rule],
    allowed: Mapping[Key, Finding] | None = None,
    *,
    safeties: Collection[str] = PATCHES,
    chosen: Mapping[str, Collection[str]] | None = None,
) -> Mended:
    """Apply fixes in rounds, reading the source again after each: one patch may clear the way for the next.

    `allowed`: only these, with what was observed of them. `chosen`: only what these rules find in these files; the
    other files are there to be looked into.
    """
    work = _Work(contents, [rule for rule in rules if rule.fix is not None], allowed, safeties, chosen)
    watched: Collection[str] = contents if chosen is None else chosen
    for _ in range(ROUNDS):
        watched = work.round(watched)
        if not watched:
            break
    told = [pair for pairs in work.refusals.values() for pair in pairs]
    advice = [pair for pairs in work.advice.values() for pair in pairs]
    return Mended(work.contents, [(patch.finding, patch.fix) for patch in work.done], told, advice)


def apply_fixes(contents: Contents, rules: Iterable[Rule]) -> Contents:
    """The files with every available fix of these rules."""
    return mend(contents, rules).contents


def read_project(contents: Contents, chosen: Collection[str]) -> Project:
    files = Files({TOP / name: data for name, data in contents.items()}, TOP)
    return Project(files, sorted(TOP / name for name in chosen))


def key(finding: Finding, project: Project) -> Key:
    lines = project.modules[finding.place.path].data.splitlines()
    text = lines[finding.place.line - 1].strip() if 1 <= finding.place.line <= len(lines) else b""
    return finding.rule, finding.place.path, text


# -- round by round ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Patch:
    finding: Finding
    fix: Fix
    key: Key
    files: frozenset[str]  # that it changes, or speaks of
    read: frozenset[str]  # of those, what its rule was asked about
    before: Contents  # what it changed
    count: int  # findings of its rule in `read` until then


class _Work:
    def __init__(
        self,
        contents: Contents,
        rules: Sequence[Rule],
        allowed: Mapping[Key, Finding] | None,
        safeties: Collection[str],
        chosen: Mapping[str, Collection[str]] | None,
    ) -> None:
        self._original, self.contents = contents, dict(contents)
        self.done: list[_Patch] = []
        self.refusals: dict[str, Told] = {}  # by file, as of when it was read last
        self.advice: dict[str, list[tuple[Finding, Fix]]] = {}
        self._makers = {rule.name: rule.fix for rule in rules}
        self._rules, self._allowed, self._safeties, self._chosen = rules, allowed, safeties, chosen
        self._in_vain: dict[Key, str] = {}
        self._trying: list[_Patch] = []

    def round(self, watched: Collection[str]) -> set[str]:
        """Patch each file at most once. Returns the files to look at again: what was patched or put off."""
        project = read_project(self.contents, watched)
        findings, _ = check(project, self._rules)
        failed = self._settle(findings)
        if failed:
            return {*watched, *failed}
        for path in watched:
            self.refusals.pop(path, None)
            self.advice.pop(path, None)
        busy: set[str] = set()
        again: set[str] = set()
        for finding in (*findings, *self._measured_alone(project, findings)):
            known = self._known(finding, project)
            if known is None:
                continue
            involved = _involved(known)
            answer = None if involved & busy else self._answer(known, project)
            if isinstance(answer, Fix):
                involved |= {edit.path for edit in answer.edits}
            if involved & busy:
                again |= involved & set(self.contents)
            elif answer and (patch := self._patch(known, answer, project, findings)):
                busy |= patch.files
        return again | (busy & set(self.contents))

    def _known(self, finding: Finding, project: Project) -> Finding | None:
        """The finding with what was observed of it; None where it is not to be mended."""
        if suppressed(finding, project) or self._makers.get(finding.rule) is None:
            return None
        if self._chosen is not None and finding.rule not in self._chosen.get(finding.place.path, ()):
            return None
        if self._allowed is None:
            return None if finding.confidence == "low" else finding
        seen = self._allowed.get(key(finding, project))
        if seen is None or finding.basis == "measured":
            return finding if seen else None
        return replace(finding, basis=seen.basis, cost=seen.cost, evidence=seen.evidence, observed=seen.observed)

    def _measured_alone(self, project: Project, findings: Sequence[Finding]) -> Iterator[Finding]:
        """What only the run showed, on the line where it is by now."""
        static = {key(finding, project) for finding in findings}
        for one, seen in (self._allowed or {}).items():
            if seen.basis != "measured" or one in static or one in self._in_vain or one[1] not in project.modules:
                continue
            lines = project.modules[one[1]].data.splitlines()
            found = [number for number, line in enumerate(lines, 1) if line.strip() == one[2]]
            if found:
                line = min(found, key=lambda number: abs(number - seen.place.line))
                down = line - seen.place.line
                end = seen.place.end_line + down if seen.place.end_line else 0
                yield replace(seen, place=replace(seen.place, line=line, end_line=end))

    def _patch(
        self, finding: Finding, answer: Fix | Refusal, project: Project, findings: Sequence[Finding]
    ) -> _Patch | None:
        if isinstance(answer, Fix) and answer.safety not in self._safeties:
            self.advice.setdefault(finding.place.path, []).append((finding, answer))
            return None
        outcome = self._applied(finding, answer, project, findings) if isinstance(answer, Fix) else answer
        if isinstance(outcome, _Patch):
            return outcome
        self.refusals.setdefault(finding.place.path, []).append((finding, outcome))
        return None

    def _answer(self, finding: Finding, project: Project) -> Fix | Refusal:
        make, one = self._makers[finding.rule], key(finding, project)
        if make is None or one in self._in_vain:
            return Refusal(self._in_vain.get(one, "there is no fix"), finding.place)
        try:
            return make(finding, project)
        except Exception as error:  # noqa: BLE001 - our defect in one fix must not cost the user the others
            return Refusal(f"a defect of hotloop, please report it: {type(error).__name__}: {error}", finding.place)

    def _applied(self, finding: Finding, fix: Fix, project: Project, findings: Sequence[Finding]) -> _Patch | Refusal:
        try:
            changed = applied(self.contents, fix, project)
        except Unwritable as error:
            return Refusal(str(error), finding.place)
        except SyntaxError:
            changed = {}
        if not changed:
            return Refusal("a defect of hotloop, please report it: the change is not Python, or is none", finding.place)
        files = frozenset({*_involved(finding), *changed})
        read = files & set(project.modules)
        before = {path: self.contents[path] for path in changed}
        count = _count(finding.rule, read, findings)
        place = in_original(finding.place, self._original, self.contents)
        patch = _Patch(replace(finding, place=place), fix, key(finding, project), files, read, before, count)
        self.contents |= changed
        self._trying.append(patch)
        return patch

    def _settle(self, findings: Sequence[Finding]) -> set[str]:
        """Keep the last round's patches that removed their finding; take the others back, and say which files."""
        failed: set[str] = set()
        for patch in self._trying:
            alone = patch.finding.basis == "measured"  # then nobody can say whether it is gone: once is enough
            if alone or _count(patch.finding.rule, patch.read, findings) < patch.count:
                self.done.append(patch)
            else:
                self.contents |= patch.before
                failed |= patch.files & set(self.contents)
            if alone or patch.files & failed:
                self._in_vain[patch.key] = "the change would not remove the finding"
        self._trying = []
        return failed


def _involved(finding: Finding) -> set[str]:
    return {place.path for place in (finding.place, finding.loop, *finding.chain) if place}


def _count(rule: str, files: Collection[str], findings: Iterable[Finding]) -> int:
    return sum(finding.rule == rule and finding.place.path in files for finding in findings)


def applied(contents: Contents, fix: Fix, project: Project) -> Contents:
    """The files that a fix changes, changed. Raises SyntaxError where they would not be Python any more."""
    changed: Contents = {}
    for path in sorted({edit.path for edit in fix.edits}):
        edits = [edit for edit in fix.edits if edit.path == path]
        data = apply_edits(project.modules[path].data, edits)
        ast.parse(data)
        new = edited(contents[path], edits) if path.endswith(SUFFIX) else data
        if new != contents[path]:
            changed[path] = new
    return changed


# -- what is different -------------------------------------------------------------------------------------------------


def diff(old: Contents, new: Contents) -> str:
    """Unified; of a notebook, of its code cells."""
    lines: list[str] = []
    for path in sorted(new):
        if old[path] != new[path]:
            before, after = (_shown(path, side[path]).splitlines(keepends=True) for side in (old, new))
            lines += difflib.unified_diff(before, after, f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _shown(path: str, data: bytes) -> str:
    if not path.endswith(SUFFIX):
        return data.decode("utf-8", "replace")
    cells = ([f"# cell {number}", *lines] for number, lines in cell_lines(data).items())
    return "".join(f"{line}\n" for lines in cells for line in lines)


def in_original(place: Place, old: Contents, new: Contents) -> Place:
    """A line of the mended text as a line of the user's own file; in a notebook, of its cell."""
    path, line = place.path, place.line
    if path not in old:
        return place
    before, after = (_module(path, side[path])[0].splitlines() for side in (old, new))
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if j1 < line <= j2:
            line = i1 + line - j1 if tag == "equal" else min(i1 + 1, max(1, i2))
            break
    return in_cell(replace(place, line=line, end_line=line), _module(path, old[path])[1])


def _module(path: str, data: bytes) -> tuple[bytes, list[CellMap]]:
    return to_python(data) if path.endswith(SUFFIX) else (data, [])
