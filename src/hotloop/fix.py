"""Findings -> patches -> proof -> files: applies only what a trial has shown to be faster with the same results."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hotloop import words
from hotloop.check import check, suppressed
from hotloop.discover import SKIPPED
from hotloop.model import Finding, Fix, HotloopError, Refusal, Report, Trial
from hotloop.rules import MakeFix, Rule, all_rules
from hotloop.source import Project, project_of
from hotloop.source.rewrite import apply_edits

Contents = dict[str, bytes]
ROUNDS = 200  # each applies one patch; more than that in one program is a patch that does not settle
COPIED_AT_MOST = 16 << 20  # bytes of a file that is copied for a trial; a larger one is linked
COPIED_IN_ALL = 512 << 20


@dataclass
class Mended:
    """Files after every fix that could be made, what was done to them, and why the rest was left."""

    contents: Contents
    done: list[tuple[Finding, Fix]] = field(default_factory=list)
    refusals: list[tuple[Finding, Refusal]] = field(default_factory=list)


Key = tuple[str, str, bytes]  # rule, path and text of the line: a finding is still itself when lines have moved


def key(finding: Finding, contents: Contents) -> Key:
    lines = contents[finding.place.path].splitlines()
    return finding.rule, finding.place.path, lines[finding.place.line - 1].strip()


def mend(contents: Contents, rules: Iterable[Rule], allowed: Collection[Key] | None = None) -> Mended:
    """Apply fixes one at a time, reading the source again after each: one patch may clear the way for the next."""
    rules = [rule for rule in rules if rule.fix is not None]
    mended = Mended(dict(contents))
    for _ in range(ROUNDS):
        step = _one(mended, rules, allowed)
        if step is None:
            return mended
        mended.contents = step
    return mended


def _one(mended: Mended, rules: Sequence[Rule], allowed: Collection[Key] | None) -> Contents | None:
    """The contents with one more fix; None when there is none left, with the refusals that remain."""
    project = project_of(mended.contents)
    findings, _ = check(project, rules)
    mended.refusals = []
    by_name = {rule.name: rule for rule in rules}
    for finding in findings:
        make = by_name[finding.rule].fix
        if make is None or (allowed is None and finding.confidence == "low"):
            continue
        if allowed is not None and key(finding, mended.contents) not in allowed:
            continue
        if suppressed(finding, project):
            continue
        answer = _answer(make, finding, project)
        if isinstance(answer, Refusal):
            mended.refusals.append((finding, answer))
        elif answer.safety != "advice" and answer.edits:
            changed = _applied(mended.contents, answer)
            if _helps(changed, finding, findings, rules):
                mended.done.append((finding, answer))
                return changed
            mended.refusals.append((finding, Refusal("the change would not remove the finding", finding.place)))
    return None


def _answer(make: MakeFix, finding: Finding, project: Project) -> Fix | Refusal:
    try:
        return make(finding, project)
    except Exception as error:  # noqa: BLE001 - our defect in one fix must not cost the user the others
        return Refusal(f"a defect of hotloop, please report it: {type(error).__name__}: {error}", finding.place)


def _applied(contents: Contents, fix: Fix) -> Contents:
    changed = dict(contents)
    for path in {edit.path for edit in fix.edits}:
        changed[path] = apply_edits(contents[path], [edit for edit in fix.edits if edit.path == path])
    return changed


def _helps(changed: Contents, finding: Finding, before: Sequence[Finding], rules: Sequence[Rule]) -> bool:
    """The result parses, and says this finding one time less."""
    try:
        after, _ = check(project_of(changed), rules)
    except SyntaxError:
        return False

    def count(findings: Iterable[Finding]) -> int:
        return sum(f.rule == finding.rule for f in findings)

    return count(after) < count(before)


def apply_fixes(contents: Contents, rules: Iterable[Rule]) -> Contents:
    """The files with every available fix of these rules."""
    return mend(contents, rules).contents


# -- with a program to prove it on -------------------------------------------------------------------------------------


def fix_program(argv: Sequence[str], write: bool = False) -> Report:
    """`hotloop fix --run`: measure the program, mend what costs, try it on a copy, show it, and write if asked."""
    from hotloop.diagnose import diagnose_recording, project_files, ran
    from hotloop.record import record
    from hotloop.verify import loop_seconds

    recording, completed = record(list(argv), capture=True)
    if completed.code != 0:
        last = (completed.stderr.decode("utf-8", "replace").strip().splitlines() or [recording.exit.exception])[-1]
        raise HotloopError(f"`{argv[0]}` fails before anything is changed: {last}")
    report = diagnose_recording(recording)
    root = Path(str(recording.meta["root"]))
    files = project_files(recording)
    contents = {str(file.relative_to(root)): file.read_bytes() for file in files if file.is_relative_to(root)}
    if not report.findings:
        return replace(report, command="fix")
    # What did not run here cannot be proved here. What was cheap may stand in the way of what was not.
    static, _ = check(project_of(contents), all_rules())
    allowed = {key(finding, contents) for finding in static if ran(recording, finding)}
    mended, trials = _proved(_Workshop(root, argv, contents), contents, allowed)
    proved = bool(trials) and trials[-1].verdict == "faster"
    whole = loop_seconds(recording) or recording.seconds
    notes = [*report.notes, *_summary(report, whole, mended, trials, proved)]
    if proved and write:
        written = write_files(root, contents, mended.contents)
        notes.append(f"Wrote {', '.join(written)}.")
    return replace(
        report,
        command="fix",
        trials=tuple(trials),
        refusals=tuple(in_original(refusal, contents, mended.contents) for _, refusal in mended.refusals),
        diff=diff(contents, mended.contents) if proved else "",
        notes=tuple(notes),
        meta={
            **report.meta,
            "fixes": [fix.title for _, fix in mended.done] if proved else [],
            "written": proved and write,
        },
    )


def _proved(workshop: _Workshop, contents: Contents, allowed: Collection[Key]) -> tuple[Mended, list[Trial]]:
    """All fixes together; where that is not proved, rule by rule, and what held alone together again."""

    def attempt(rules: Sequence[Rule], name: str) -> tuple[Mended, Trial | None]:
        mended = mend(contents, rules, allowed)
        return mended, workshop.trial(mended.contents, name) if mended.done else None

    together, first = attempt(all_rules(), "all fixes")
    if first is None or first.verdict == "faster":
        return together, [first] if first else []
    trials, kept = [first], []
    names = {finding.rule for finding, _ in together.done}
    for rule in all_rules() if len(names) > 1 else ():
        if rule.name in names:
            _, trial = attempt([rule], rule.name)
            if trial:
                trials.append(trial)
                kept += [rule] if trial.verdict == "faster" else []
    if not kept:
        return Mended(contents, [], _in_vain(contents, allowed, trials)), trials
    if len(kept) == 1:
        best = next(t for t in trials if t.after == kept[0].name)
        trials = [*[t for t in trials if t is not best], best]
        return mend(contents, kept, allowed), trials
    mended, trial = attempt(kept, " + ".join(rule.name for rule in kept))
    return mended, [*trials, trial] if trial else trials


def _in_vain(contents: Contents, allowed: Collection[Key], trials: Sequence[Trial]) -> list[tuple[Finding, Refusal]]:
    """Nothing was proved: for each finding of the source as it is, why there is no fix, or how its trial ended."""
    project = project_of(contents)
    by_name = {rule.name: rule for rule in all_rules()}
    told: list[tuple[Finding, Refusal]] = []
    for finding in check(project, by_name.values())[0]:
        make = by_name[finding.rule].fix
        if make is None or key(finding, contents) not in allowed:
            continue
        answer = _answer(make, finding, project)
        if isinstance(answer, Fix):
            trial = next((t for t in trials if t.after == finding.rule), trials[0])
            answer = Refusal(f"{answer.title}: tried, {trial.verdict}. {' '.join(trial.notes)}".strip(), finding.place)
        told.append((finding, answer))
    return told


def in_original(refusal: Refusal, old: Contents, new: Contents) -> Refusal:
    """A refusal that names a line of the mended text, naming the line of the user's own file instead."""
    path, line = refusal.place.path, refusal.place.line
    before, after = old[path].splitlines(), new[path].splitlines()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if j1 < line <= j2:
            moved = i1 + line - j1 if tag == "equal" else min(i1 + 1, max(1, i2))
            return replace(refusal, place=replace(refusal.place, line=moved, end_line=moved))
    return refusal


def _summary(report: Report, whole: float, mended: Mended, trials: Sequence[Trial], proved: bool) -> Iterator[str]:
    """What was foretold from the first run, as a share of its loops: two runs on a busy machine differ in seconds."""
    if not trials:
        yield "There is no fix for what was found: the reasons are listed."
        return
    if not proved:
        yield "No change was proved to be faster with the same results, so none is offered."
        return
    rules = {finding.rule for finding, _ in mended.done}
    predicted = sum(f.cost.seconds for f in report.findings if f.cost and f.rule in rules) / whole
    proof = trials[-1]
    saved = (proof.before_seconds - proof.after_seconds) / proof.before_seconds
    yield (
        f"Predicted to save {words.percent(predicted)} of the time in loops; the trial saved {words.percent(saved)} "
        f"({words.duration(proof.before_seconds)} to {words.duration(proof.after_seconds)})."
    )


def diff(old: Contents, new: Contents) -> str:
    lines: list[str] = []
    for path in sorted(new):
        before, after = (side[path].decode("utf-8", "replace").splitlines(keepends=True) for side in (old, new))
        lines += difflib.unified_diff(before, after, f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


# -- on a copy ---------------------------------------------------------------------------------------------------------


@dataclass
class _Workshop:
    """Copies of a project to try changes on: what the program writes lands in the copy. Large files are links."""

    root: Path
    argv: Sequence[str]
    contents: Contents

    def trial(self, after: Contents, name: str) -> Trial:
        from hotloop.verify import trial

        with self._copy(self.contents) as one, self._copy(after) as two:
            return trial(
                self._command(one),
                self._command(two),
                before_cwd=self._cwd(one),
                after_cwd=self._cwd(two),
                names=("before", name),
            )

    def _command(self, copy: Path) -> list[str]:
        program = Path(self.argv[0]).resolve().relative_to(self.root.resolve())
        return [str(copy / program), *self.argv[1:]]

    def _cwd(self, copy: Path) -> Path:
        here = Path.cwd().resolve()
        return copy / here.relative_to(self.root.resolve()) if here.is_relative_to(self.root.resolve()) else here

    @contextmanager
    def _copy(self, contents: Contents) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="hotloop-") as folder:
            copy = Path(folder) / self.root.name
            _mirror(self.root, copy, {self.root / path: data for path, data in contents.items()})
            yield copy


def _mirror(source: Path, target: Path, files: dict[Path, bytes], room: list[int] | None = None) -> None:
    """`target` looks like `source`, with these files in it as given. What is large, hidden or linked is a link."""
    room = [COPIED_IN_ALL] if room is None else room
    target.mkdir(parents=True)
    folders = {parent for file in files for parent in file.parents}
    for entry in sorted(source.iterdir()):
        copy = target / entry.name
        apart = entry.name.startswith(".") or entry.name in SKIPPED or entry.is_symlink()
        apart = apart or (entry / "pyvenv.cfg").exists()
        if entry in files:
            copy.write_bytes(files[entry])
        elif entry in folders or (entry.is_dir() and not apart and room[0] > 0):
            _mirror(entry, copy, files, room)
        elif entry.is_file() and not apart and entry.stat().st_size <= min(COPIED_AT_MOST, room[0]):
            room[0] -= entry.stat().st_size + 4096
            shutil.copy2(entry, copy)
        elif entry.name != "__pycache__":
            copy.symlink_to(entry)


# -- writing -----------------------------------------------------------------------------------------------------------


def write_files(root: Path, old: Contents, new: Contents) -> list[str]:
    """Write what changed, each file in one step; a file that is no longer as it was read stops everything first."""
    changed = [path for path in sorted(new) if new[path] != old[path]]
    for path in changed:
        if (root / path).read_bytes() != old[path]:
            raise HotloopError(f"{path} was changed while it was being mended; nothing was written. Run again.")
    for path in changed:
        try:
            _write(root / path, new[path])
        except OSError as error:
            raise HotloopError(f"cannot write {path}: {error.strerror or error}; it is as it was.") from error
    return changed


def _write(file: Path, data: bytes) -> None:
    file = file.resolve()  # a link stays a link
    handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        shutil.copymode(file, scratch)
        os.replace(scratch, file)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
