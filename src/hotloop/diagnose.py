"""A recording and the rules to a diagnosis: what is seen of each loop, why, and what it cost."""

from __future__ import annotations

import contextlib
import re
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop import words
from hotloop.loops import Nest, line_costs, summaries
from hotloop.model import (
    Cost,
    Diagnosis,
    Event,
    Exit,
    Finding,
    Place,
    Problem,
    Recording,
    Report,
)
from hotloop.rules import Rule, all_rules
from hotloop.rules.feeding import with_waits_inside
from hotloop.settings import findable, last_recording
from hotloop.symptoms import LEAK_IN_ALL, examined

if TYPE_CHECKING:
    from hotloop.record import Limit
    from hotloop.source import Project

FOLD = 0.02  # of the run: below, a cause is not worth a line
FEW_SAMPLES = 50
OLDEST, NEWEST = (2, 12), (2, 21)  # versions of TensorFlow whose insides are known
NO_TENSORFLOW = ("ModuleNotFoundError: No module named 'tensorflow'", "ModuleNotFoundError: No module named 'keras'")
EVENTS = 300  # in a report; a recording may hold thousands


def run_and_diagnose(
    argv: Sequence[str],
    keep: Path | None = None,
    limit: Limit | None = None,
    watch: Callable[[Path], AbstractContextManager[None]] | None = None,
) -> tuple[Report, int]:
    """Run a program, keep its recording, say what is wrong; with the exit code that a shell would see."""
    from hotloop.record import NO_LIMIT, record

    @contextlib.contextmanager
    def watched(target: Path) -> Iterator[None]:
        with findable(target, Path.cwd()), watch(target) if watch else contextlib.nullcontext():
            yield

    recording, completed = record(list(argv), limit=limit or NO_LIMIT, watch=watched)
    code = completed.code
    if code < 0 and recording.exit.signal is None:
        recording = replace(recording, exit=Exit(None, -code, recording.exit.exception))
    kept = last_recording(Path.cwd())
    notes = [note for path in (kept, keep) if path and (note := _keep(recording, path))]
    report = diagnose_recording(recording)
    meta = {**report.meta, "recording": str(keep or kept)}
    return replace(report, notes=(*report.notes, *notes), meta=meta), 128 - code if code < 0 else code


def diagnose_recording(recording: Recording) -> Report:
    """A kept recording to a report; the source is read again where it still exists, nothing runs."""
    from hotloop.check import check, offered, suppressed

    rules, project = all_rules(), _project(recording)
    static, problems = check(project, rules)
    diagnosis = diagnose(recording, rules, static)
    kept, folded, static = (
        [finding for finding in findings if not (suppressed(finding, project) or _is_meant(finding, rules, project))]
        for findings in (diagnosis.findings, diagnosis.folded, static)
    )
    kept, unmended = offered(kept, project)
    diagnosis = replace(diagnosis, findings=tuple(kept), folded=tuple(folded))
    return Report(
        command="run",
        findings=diagnosis.findings,
        symptoms=diagnosis.symptoms,
        loops=diagnosis.loops,
        problems=(*diagnosis.problems, *problems, *unmended),
        notes=(*_notes(recording, diagnosis), *_not_run(recording, static, [*kept, *folded])),
        memory=recording.memory,
        phases=recording.phases,
        devices=recording.devices,
        events=_costliest(recording.events),
        lines=line_costs(recording),
        meta=_meta(recording, diagnosis),
    )


def diagnose(recording: Recording, rules: Iterable[Rule], static: Sequence[Finding] = ()) -> Diagnosis:
    """Symptoms from the series, causes from the rules, merged with what the source says, ranked by cost."""
    nest = Nest(recording)
    rules = tuple(rules)
    measured, problems = _measured(recording, rules)
    merged = merge(measured, static)
    unmeasured = _only_static(recording, rules, static, merged)
    named = [finding for finding, _ in unmeasured if finding.cost]
    merged = [finding for finding in merged if not _has_a_name(finding, named)] + named
    kept: list[Finding] = []
    folded: list[Finding] = []
    for finding in merged:
        (kept if _worth_a_line(recording, finding) else folded).append(finding)
    for finding, measurable in (one for one in unmeasured if one[0].cost is None):
        (folded if measurable else kept).append(finding)
    symptoms, loops = examined(nest, summaries(nest))
    return Diagnosis(
        symptoms=tuple(symptoms),
        findings=tuple(sorted(kept, key=_rank)),
        loops=tuple(with_waits_inside(recording, loops)),
        folded=tuple(sorted(folded, key=_rank)),
        problems=tuple(problems),
    )


def _is_meant(finding: Finding, rules: Iterable[Rule], project: Project) -> bool:
    rule = next(rule for rule in rules if rule.name == finding.rule)
    return finding.place.path in project.modules and rule.meant is not None and rule.meant(finding, project)


# -- causes --------------------------------------------------------------------------------------------------


def _measured(recording: Recording, rules: Iterable[Rule]) -> tuple[list[Finding], list[Problem]]:
    findings: list[Finding] = []
    problems: list[Problem] = []
    for rule in rules:
        if rule.diagnose is None:
            continue
        try:
            findings += [_priced(finding, recording.seconds) for finding in rule.diagnose(recording)]
        except Exception:  # noqa: BLE001 - our mistake in one rule must not cost the user the others' findings
            path = str(recording.meta.get("program", ""))
            problems.append(Problem(path, rule.name, traceback.format_exc()))
    return findings, problems


def _priced(finding: Finding, seconds: float) -> Finding:
    """A cost in terms of this run: nothing costs more than all of it."""
    if finding.cost is None:
        return finding
    cost = min(max(finding.cost.seconds, 0.0), seconds) if seconds else finding.cost.seconds
    return replace(
        finding,
        cost=Cost(cost, cost / seconds if seconds else finding.cost.share, finding.cost.bytes_per_step),
    )


def merge(measured: Sequence[Finding], static: Sequence[Finding]) -> list[Finding]:
    """Measured findings, each joined with the static finding of the same ailment: by line, else by loop.

    By loop only where the source's line has no measure of its own: of two calls in a loop, each keeps its cost.
    """
    merged: list[Finding] = []
    partners: dict[int, Finding] = {}
    by_line = {_partner(finding, static) for finding in measured if _on_line(finding, static)}
    for finding in sorted(measured, key=_rank):
        index = _partner(finding, static)
        if index is None or (index in by_line and not _on_line(finding, static)):
            merged.append(finding)
        elif index in partners:
            partners[index] = _together(partners[index], finding)
        else:
            partners[index] = _joined(finding, static[index])
    return [*merged, *partners.values()]


def _together(main: Finding, other: Finding) -> Finding:
    """Two measured lines of one ailment: the costlier speaks, both are priced."""
    if main.cost is None or other.cost is None:
        return main
    cost = Cost(main.cost.seconds + other.cost.seconds, main.cost.share + other.cost.share, main.cost.bytes_per_step)
    elsewhere = (
        f"the loop on line {other.loop.line}" if other.loop and other.place.line == main.place.line else other.place
    )
    own, both = (f"({words.duration(seconds)} of" for seconds in (main.cost.seconds, cost.seconds))
    if own in main.message and main.loop == other.loop:
        message = f"{main.message.replace(own, both, 1)} With that of {elsewhere}."
    else:
        message = f"{main.message} Together with {elsewhere}, {words.duration(cost.seconds)}."
    return replace(main, cost=cost, message=message)


def _on_line(finding: Finding, static: Sequence[Finding]) -> list[int]:
    """The static findings of the same ailment on the same line."""
    return [i for i, s in enumerate(static) if s.rule == finding.rule and _overlap(finding.place, s.place)]


def _partner(finding: Finding, static: Sequence[Finding]) -> int | None:
    same_rule = [i for i, other in enumerate(static) if other.rule == finding.rule]
    by_line = _on_line(finding, static)
    by_loop = [i for i in same_rule if _same_loop(finding.loop, static[i].loop)]
    # Of several on a line, the one in the same loop; of several in a loop, the nearest.
    both = [i for i in by_line if i in by_loop]
    return min(both or by_line or by_loop, key=lambda i: _distance(static[i].place, finding.place), default=None)


def _distance(cause: Place, seen: Place) -> int:
    """Lines between the two: what is seen on a line more often began before it than after."""
    before = seen.line - cause.line
    return before if before >= 0 else -2 * before


def _joined(measured: Finding, static: Finding) -> Finding:
    return replace(
        measured,
        basis="both",
        confidence="high",
        place=static.place,  # the whole of the ailment, where the measured line is one of its lines
        loop=measured.loop or static.loop,
        chain=measured.chain or static.chain,
        fix=measured.fix or static.fix,
    )


def _overlap(one: Place, other: Place) -> bool:
    first, last = max(one.line, other.line), min(_last_line(one), _last_line(other))
    return one.path == other.path and first <= last


def _last_line(place: Place) -> int:
    return max(place.line, place.end_line)


def _same_loop(one: Place | None, other: Place | None) -> bool:
    return one is not None and other is not None and (one.path, one.line) == (other.path, other.line)


def _only_static(
    recording: Recording, rules: Sequence[Rule], static: Sequence[Finding], merged: Sequence[Finding]
) -> list[tuple[Finding, bool]]:
    """What only the source says of loops that ran, and whether its rule measures (then it was cheap here)."""
    by_name = {rule.name: rule for rule in rules}
    measurable = {rule.name for rule in rules if rule.diagnose and not (rule.blind and rule.blind(recording))}
    taken = {_partner(finding, static) for finding in merged if finding.basis == "both"}
    return [
        (_priced_by(by_name.get(finding.rule), finding, recording), finding.rule in measurable)
        for index, finding in enumerate(static)
        if index not in taken and finding.confidence != "low" and _ran_again(recording, finding)
    ]


def _has_a_name(finding: Finding, named: Sequence[Finding]) -> bool:
    """Whether the source tells, and a run has priced, why the same line took what a rule can only guess at."""
    return finding.confidence == "low" and any(
        _overlap(finding.place, other.place) and _same_loop(finding.loop, other.loop) for other in named
    )


def _priced_by(rule: Rule | None, finding: Finding, recording: Recording) -> Finding:
    cost = rule.price(finding, recording) if rule and rule.price else None
    return _priced(replace(finding, basis="both", cost=cost), recording.seconds) if cost else finding


def ran(recording: Recording, finding: Finding) -> bool:
    """Whether the code that a static finding speaks of ran in a recording."""
    if finding.loop is None:
        return any(finding.place.covers(frame) for sample in recording.samples for frame in sample.stack)
    return any(_same_loop(finding.loop, run.place) for run in recording.loops)


def _ran_again(recording: Recording, finding: Finding) -> bool:
    """Of a loop that made one step, or failed in its first, there is nothing to measure."""
    once = any(_same_loop(finding.loop, run.place) and run.steps <= 1 for run in recording.loops)
    return ran(recording, finding) and not once


def _worth_a_line(recording: Recording, finding: Finding) -> bool:
    if finding.cost is None or finding.cost.seconds >= FOLD * recording.seconds:
        return True
    steps = next((run.steps for run in recording.loops if _same_loop(finding.loop, run.place)), 1)
    return (finding.cost.bytes_per_step or 0.0) * steps >= LEAK_IN_ALL


def _rank(finding: Finding) -> tuple[float, int, Place, str]:
    cost = finding.cost.seconds if finding.cost else -1.0
    return -cost, ("high", "medium", "low").index(finding.confidence), finding.place, finding.rule


# -- around the recording ------------------------------------------------------------------------------------


def _project(recording: Recording) -> Project:
    from hotloop.source import load_project

    return load_project(project_files(recording), Path(str(recording.meta.get("root", "."))))[0]


def project_files(recording: Recording) -> list[Path]:
    """The user's files that ran, as far as they are still there."""
    root = Path(str(recording.meta.get("root", ".")))
    stacks = [event.stack for event in recording.events] + [sample.stack for sample in recording.samples]
    named = {frame.path for stack in stacks for frame in stack} | {run.place.path for run in recording.loops}
    named.add(str(recording.meta.get("program", "")))
    return [root / name for name in sorted(named) if name and (root / name).is_file()]


def _not_run(recording: Recording, static: Sequence[Finding], said: Sequence[Finding]) -> list[str]:
    """Of what the source says, what nobody saw running. Code may run too briefly for a sample, and yet be measured."""
    measured = {(finding.rule, finding.place) for finding in said}
    idle = [f for f in static if f.confidence == "high" and not _ran_again(recording, f)]
    idle = [f for f in idle if (f.rule, f.place) not in measured]
    if not idle:
        return []
    places = ", ".join(f"{f.place} ({f.rule})" for f in idle[:3]) + (", ..." if len(idle) > 3 else "")
    return [f"`hotloop check` also names {places}, in loops that made no second step here."]


def _notes(recording: Recording, diagnosis: Diagnosis) -> list[str]:
    notes = []
    ended = recording.exit
    if stopped := recording.meta.get("stopped"):
        notes.append(f"The program was stopped {stopped}: this is what was seen until then.")
    elif ended.signal is not None:
        notes.append(f"The program was ended by {_signal_name(ended.signal)}: this is what was seen until then.")
    elif ended.exception:
        notes.append(f"The program ended with {ended.exception.rstrip('.')}: this is what was seen until then.")
    elif recording.meta.get("cut"):
        until = words.duration(recording.seconds)
        notes.append(
            f"The program ended at once, or its last words could not be kept: this is what was seen in {until}."
        )
    elif ended.code is None:
        notes.append("The program never came to its end: this is what was seen until the last snapshot.")
    if ended.exception.startswith(NO_TENSORFLOW):
        notes.append("TensorFlow is not installed in the Python that ran the program: install it there, and run again.")
    elif not recording.meta.get("tensorflow") and not recording.meta.get("keras"):
        said = "was ended before it had imported" if recording.meta.get("stopped") else "did not import"
        notes.append(f"The program {said} TensorFlow or Keras: only its loops were measured.")
    notes += _version_note(str(recording.meta.get("tensorflow") or ""))
    if not recording.loops:
        notes.append("No loop of the program's own ran, and none of Keras.")
    samples = sum(sample.count for sample in recording.samples)
    if diagnosis.loops and samples < FEW_SAMPLES:
        notes.append(f"The run was short ({words.plural(samples, 'sample')}): the phases are rough.")
    return notes + [str(sentence) for sentence in recording.meta.get("unseen", ())]


def _version_note(version: str) -> list[str]:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or OLDEST <= (int(numbers[1]), int(numbers[2])) <= NEWEST:
        return []
    known = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
    return [f"This is TensorFlow {version}, and hotloop knows {known}: it reports what it can still see."]


def _meta(recording: Recording, diagnosis: Diagnosis) -> dict[str, Any]:
    given = recording.meta
    kept = {k: given[k] for k in ("program", "argv", "root", "machine", "import_seconds", "peak_rss") if k in given}
    versions = {k: given[k] for k in ("python", "tensorflow", "keras", "hotloop") if given.get(k)}
    return {
        **kept,
        "seconds": recording.seconds,
        "versions": versions,
        "clean": not (diagnosis.findings or diagnosis.symptoms),
        "folded": len(diagnosis.folded),
    }


def _costliest(events: Sequence[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda event: (-event.seconds, -event.count))[:EVENTS])


def _keep(recording: Recording, path: Path) -> str:
    """Save, or say why not: a full disk must not cost the report of a run that took hours."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        recording.save(path)
    except OSError as error:
        return f"The recording could not be kept at {path}: {error.strerror or error}."
    return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
