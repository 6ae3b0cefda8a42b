"""`hotloop fix --run`: candidates for a program that was measured, tried on copies; what is proved is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hotloop import words
from hotloop.check import check
from hotloop.fix import Wanted, change, in_order, refused, written
from hotloop.mending import Contents, Key, Mended, diff, key, mend, read_project
from hotloop.model import Finding, Fix, HotloopError, Refusal, Report, Trial
from hotloop.rules import Rule, all_rules
from hotloop.workshop import Workshop


def fix_program(argv: Sequence[str], wanted: Wanted) -> Report:
    """Measure the program, mend what costs, try it on a copy, show it, and write if asked."""
    from hotloop.diagnose import diagnose_recording, project_files, ran
    from hotloop.laps import loop_seconds
    from hotloop.record import record

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
    project = read_project(contents, contents)
    static, _ = check(project, all_rules())
    allowed = {key(finding, project): finding for finding in static if ran(recording, finding)}
    measured = [finding for finding in report.findings if finding.place.path in contents]
    allowed |= {key(finding, project): finding for finding in measured}
    mended, trials = _proved(Workshop(root, argv), contents, allowed)
    proved = bool(trials) and trials[-1].verdict == "faster"
    whole = loop_seconds(recording) or recording.seconds
    notes = [*report.notes, *_summary(report, whole, mended, trials, proved)]
    if proved and wanted.write:
        notes += written(root, contents, mended.contents, wanted.backup)
    state = "written" if wanted.write else "proved"
    changes = [change(finding, fix, state) for finding, fix in mended.done] if proved else []
    return replace(
        report,
        command="fix",
        trials=tuple(trials),
        changes=in_order(changes),
        refusals=refused(mended, contents),
        diff=diff(contents, mended.contents) if proved else "",
        notes=tuple(notes),
    )


def _proved(workshop: Workshop, contents: Contents, allowed: Mapping[Key, Finding]) -> tuple[Mended, list[Trial]]:
    """All fixes together; where that is not proved, rule by rule, and what held alone together again."""

    def attempt(rules: Sequence[Rule], name: str) -> tuple[Mended, Trial | None]:
        mended = mend(contents, rules, allowed)
        return mended, _trial(workshop, contents, mended.contents, name) if mended.done else None

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


def _trial(workshop: Workshop, before: Contents, after: Contents, name: str) -> Trial:
    from hotloop.verify import Contender, trial

    with workshop.bench(before) as one, workshop.bench(after) as two:
        return trial(
            Contender("before", one.argv, one.cwd, one.folder, own=True),
            Contender(name, two.argv, two.cwd, two.folder, own=True),
        )


def _in_vain(
    contents: Contents, allowed: Mapping[Key, Finding], trials: Sequence[Trial]
) -> list[tuple[Finding, Refusal]]:
    """Nothing was proved: for each finding of the source as it is, why there is no fix, or how its trial ended."""
    project = read_project(contents, contents)
    by_name = {rule.name: rule for rule in all_rules()}
    told: list[tuple[Finding, Refusal]] = []
    for finding in check(project, by_name.values())[0]:
        make = by_name[finding.rule].fix
        if make is None or key(finding, project) not in allowed:
            continue
        answer = make(finding, project)
        if isinstance(answer, Fix):
            trial = next((t for t in trials if t.after == finding.rule), trials[0])
            answer = Refusal(f"{answer.title}: tried, {trial.verdict}. {' '.join(trial.notes)}".strip(), finding.place)
        told.append((finding, answer))
    return told


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
