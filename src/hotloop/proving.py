"""`hotloop fix --run`: candidates for a program that was measured, tried on copies; what is proved is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from hotloop import words
from hotloop.check import check
from hotloop.fix import Wanted, change, in_order, refused, written
from hotloop.laps import loop_seconds, main_loop
from hotloop.mending import Contents, Key, Mended, diff, key, mend, read_project
from hotloop.model import Finding, HotloopError, LoopRun, Recording, Refusal, Report, Trial
from hotloop.record import Limit, record
from hotloop.rules import Rule, find_rule
from hotloop.settings import last_recording
from hotloop.uttered import of_stderr
from hotloop.verify import Contender, Terms, trials
from hotloop.workshop import Workshop

BUDGET = 600.0  # seconds
FIRST_RUN = 0.2  # of the budget: a program that takes longer is ended, and compared over its first steps
LEAST_RUNS = 3
FEWEST_STEPS = 20  # over which a program is compared that is ended early
LESS = 20e6  # bytes of peak memory that a change must save which is to save memory
NOT_SLOWER = 0.95  # times as fast, at least: what saves memory may cost no more
MOST_ALONE = 5  # candidates that are tried alone; the rest is tried with all others only
TOGETHER, GAINED = "all fixes", "those that gained"


@dataclass(frozen=True)
class Job:
    """What is to be proved: `recording` is of a run that was kept, `within` are the paths that may change."""

    argv: Sequence[str]
    rules: Sequence[Rule] = ()
    budget: float = BUDGET
    recording: Recording | None = None
    recorded: float = 0.0  # when it was made, as files tell the time
    within: Collection[Path] = ()
    say: Callable[[str], None] = lambda sentence: None  # hears what is going on


def fix_program(job: Job, wanted: Wanted) -> Report:
    """Measure the program, mend what costs, try it on copies, show it, and write if asked."""
    from hotloop.diagnose import diagnose_recording, project_files

    deadline = monotonic() + job.budget
    recording = job.recording or _measured(job)
    report = diagnose_recording(recording)
    root = Path(str(recording.meta["root"]))
    files = [file for file in project_files(recording) if file.is_relative_to(root)]
    contents = {file.relative_to(root).as_posix(): file.read_bytes() for file in files}
    allowed = _allowed(job, report, recording, contents, root)
    if not allowed:
        return replace(report, command="fix", notes=("There is nothing to fix.", *report.notes))
    proof = _Proof(job, contents, allowed, Workshop(root, job.argv), _terms(recording, job, deadline))
    mended, tried = proof.found(_whole_seconds(recording))
    proved = bool(mended.done)
    notes = list(_summary(report, loop_seconds(recording) or recording.seconds, mended, tried))
    if job.recording and (newer := [name for name in contents if (root / name).stat().st_mtime > job.recorded]):
        notes.append(f"{', '.join(newer)} changed after the recording: what was measured may stand on other lines now.")
    if proved and wanted.write:
        notes += written(root, contents, mended.contents, wanted.backup)
    state = "written" if wanted.write else "proved"
    return replace(
        report,
        command="fix",
        trials=tuple(tried),
        changes=in_order(change(finding, fix, state) for finding, fix in mended.done),
        refusals=refused(mended, contents),
        diff=diff(contents, mended.contents),
        notes=(*notes, *report.notes),
    )


def kept_job() -> Job:
    """The program of the last recording that was made here."""
    path = last_recording(Path.cwd())
    if not path.exists():
        raise HotloopError("there is no recording of a run from this folder. `hotloop run program.py` makes one.")
    recording = Recording.load(path)
    argv = [str(word) for word in recording.meta["argv"]]
    if recording.exit.exception or recording.exit.signal or recording.exit.code:
        ended = recording.exit.exception or f"exit code {recording.exit.code}"
        if not recording.meta.get("stopped"):
            raise HotloopError(f"`{' '.join(argv)}` failed in the last recording, before anything is changed: {ended}")
    return Job(argv, recording=recording, recorded=path.stat().st_mtime)


def _measured(job: Job) -> Recording:
    job.say(f"measuring {' '.join(job.argv)}")
    recording, done = record(list(job.argv), capture=True, limit=Limit(seconds=FIRST_RUN * job.budget))
    if done.code != 0:
        last = of_stderr(done.stderr.decode("utf-8", "replace")) or recording.exit.exception
        raise HotloopError(f"`{' '.join(job.argv)}` fails before anything is changed: {last}")
    if recording.meta.get("stopped") and loop_seconds(recording) is None:
        raise HotloopError(
            f"`{' '.join(job.argv)}` was ended after {words.duration(FIRST_RUN * job.budget)}, before its first loop. "
            "Give it less to do, or a larger `--budget`."
        )
    return recording


def _allowed(job: Job, report: Report, recording: Recording, contents: Contents, root: Path) -> dict[Key, Finding]:
    """What ran here, the rest cannot be proved here. What was cheap may stand in the way of what was not."""
    from hotloop.diagnose import ran

    project = read_project(contents, contents)
    static = [finding for finding in check(project, job.rules)[0] if ran(recording, finding)]
    names = {rule.name for rule in job.rules}
    measured = [f for f in report.findings if f.rule in names and f.place.path in contents]
    tops = [path.resolve() for path in job.within]
    found = {key(finding, project): finding for finding in (*static, *measured)}
    return {
        one: finding
        for one, finding in found.items()
        if not tops or any((root / one[1]).resolve().is_relative_to(top) for top in tops)
    }


# -- how long may it take ----------------------------------------------------------------------------------------------


def _whole_seconds(recording: Recording) -> float:
    return float(recording.meta.get("seconds") or 0.0)


def _terms(recording: Recording, job: Job, deadline: float) -> Terms:
    """Whole runs where there is time for them, else the same first steps of the main loop."""
    each = (deadline - monotonic()) / (2 * LEAST_RUNS)
    run = main_loop(recording)
    if not recording.meta.get("stopped") and _whole_seconds(recording) <= each:
        return Terms(minimum=LEAST_RUNS, deadline=deadline, say=job.say)
    if run is None:
        raise HotloopError(
            f"`{' '.join(job.argv)}` takes too long to be tried within {words.duration(job.budget)}, and has no loop "
            "whose first steps could stand for it. Give it less to do, or a larger `--budget`."
        )
    before = run.clock.values[0] if run.clock.values else 0.0
    within = int((each - before) / (run.seconds / run.steps))
    limit = Limit(2 * each, min(run.steps, max(FEWEST_STEPS, within)), loop=_first_line(run, recording))
    return Terms(minimum=LEAST_RUNS, deadline=deadline, limit=limit, say=job.say)


def _first_line(run: LoopRun, recording: Recording) -> tuple[str, str] | None:
    """How a loop is known again in a copy where it stands on another line; Keras' own loops have none."""
    path = Path(str(recording.meta.get("root", ".")), run.place.path)
    if run.stack or not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    text = lines[run.place.line - 1].strip() if run.place.line <= len(lines) else ""
    return (run.place.path, text) if text else None


# -- what is tried -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """The fixes of one rule in one loop, or of several: `allowed` says which findings."""

    name: str
    allowed: Mapping[Key, Finding]
    mended: Mended

    @property
    def saves(self) -> float:
        return sum(finding.cost.seconds for finding in self.allowed.values() if finding.cost)


class _Proof:
    """The trials of one program, on copies of its project."""

    def __init__(
        self, job: Job, contents: Contents, allowed: Mapping[Key, Finding], workshop: Workshop, terms: Terms
    ) -> None:
        self._job, self._contents, self._allowed = job, contents, allowed
        self._workshop, self._terms = workshop, terms

    def found(self, seconds: float) -> tuple[Mended, list[Trial]]:
        """All fixes together and the most promising alone, of which those stay that gained; what decided comes last."""
        together = self._candidate(TOGETHER, self._allowed)
        if not together.mended.done:
            return together.mended, []
        alone = self._alone()
        room = int((self._terms.deadline - monotonic()) / (LEAST_RUNS * seconds or 1.0)) - 2
        alone = alone[: max(0, min(MOST_ALONE, room))] if len(alone) > 1 else []
        outcomes = self._tried([together, *alone])
        best = self._best(together, alone, outcomes)
        tried = [trial for name, trial in outcomes.items() if name != best.name] + [outcomes[best.name]]
        proved = _is_proved(best, tried[-1])
        told = list(self._told(best if proved else together, [together, *alone], outcomes))
        if not proved:
            return Mended(self._contents, [], [*together.mended.refusals, *told]), tried
        return replace(best.mended, refusals=[*best.mended.refusals, *told]), tried

    def _best(self, together: _Candidate, alone: Sequence[_Candidate], outcomes: dict[str, Trial]) -> _Candidate:
        """All of them, less those that gained nothing alone where the rest is proved without them."""
        useless = [
            one
            for one in alone
            if outcomes[one.name].verdict in ("same", "slower", "different-results")
            and not _is_proved(one, outcomes[one.name])
        ]
        if _is_proved(together, outcomes[TOGETHER]) and (not useless or len(useless) == len(alone)):
            return together
        known = [together, *alone]
        rest = self._without(useless)
        best = next((one for one in known if one.mended.contents == rest.mended.contents), rest)
        if best is rest and rest.mended.done and monotonic() < self._terms.deadline:
            outcomes |= self._tried([rest])
            known.append(rest)
        proved = [one for one in known if _is_proved(one, outcomes[one.name])]
        if best in proved:
            return best
        return max(proved, key=lambda one: outcomes[one.name].speedup, default=together)

    def _candidate(self, name: str, allowed: Mapping[Key, Finding]) -> _Candidate:
        return _Candidate(name, allowed, mend(self._contents, self._job.rules, allowed))

    def _alone(self) -> list[_Candidate]:
        """One for each rule in each loop, the largest predicted saving first; those that need others are left out."""
        groups: dict[tuple[str, str, int], dict[Key, Finding]] = {}
        for one, finding in self._allowed.items():
            where = finding.loop or finding.place
            groups.setdefault((finding.rule, where.path, where.line), {})[one] = finding
        rules = [rule for rule, _, _ in groups]
        found = [
            self._candidate(f"{rule} ({path}:{line})" if rules.count(rule) > 1 else rule, group)
            for (rule, path, line), group in groups.items()
        ]
        return sorted((one for one in found if one.mended.done), key=lambda one: -one.saves)

    def _without(self, useless: Sequence[_Candidate]) -> _Candidate:
        dropped = {one for candidate in useless for one in candidate.allowed}
        return self._candidate(GAINED, {one: found for one, found in self._allowed.items() if one not in dropped})

    def _tried(self, candidates: Sequence[_Candidate]) -> dict[str, Trial]:
        with ExitStack() as stack:

            def contender(name: str, contents: Contents) -> Contender:
                bench = stack.enter_context(self._workshop.bench(contents))
                return Contender(name, bench.argv, bench.cwd, bench.folder, own=True)

            before = contender("before", self._contents)
            others = [contender(one.name, one.mended.contents) for one in candidates]
            # Once all of them together are proved, each alone only has to show that it is not in vain.
            return {trial.after: trial for trial in trials(before, others, self._terms, leader=others[0])}

    def _told(
        self, best: _Candidate, candidates: Sequence[_Candidate], outcomes: Mapping[str, Trial]
    ) -> Iterator[tuple[Finding, Refusal]]:
        """How the trials ended of what is not kept."""
        proved = _is_proved(best, outcomes[best.name])
        kept = {(finding.rule, finding.place) for finding, _ in best.mended.done if proved}
        for one in reversed(candidates):
            for finding, fix in one.mended.done:
                if (finding.rule, finding.place) not in kept:
                    kept.add((finding.rule, finding.place))
                    trial = outcomes[one.name]
                    ended = "; ".join([trial.verdict.replace("-", " "), *trial.notes])
                    yield finding, Refusal(f"{fix.title}: tried, {ended}", finding.place)


def _is_proved(candidate: _Candidate, trial: Trial) -> bool:
    """Faster with the same results; of a rule that is about memory, also smaller and hardly slower."""
    if trial.verdict == "faster":
        return True
    about_memory = any(find_rule(finding.rule).measured == "memory" for finding, _ in candidate.mended.done)
    return about_memory and is_smaller(trial)


def is_smaller(trial: Trial) -> bool:
    if trial.same_results is not True or trial.before_bytes is None or trial.after_bytes is None:
        return False
    return trial.after_bytes < trial.before_bytes - LESS and trial.speedup > NOT_SLOWER and trial.verdict != "slower"


# -- what to say -------------------------------------------------------------------------------------------------------


def _summary(report: Report, whole: float, mended: Mended, tried: Sequence[Trial]) -> Iterator[str]:
    """What was foretold from the first run, as a share of its loops: two runs on a busy machine differ in seconds."""
    if not tried:
        yield "There is no fix for what was found" + (": the reasons are listed." if mended.refusals else ".")
        return
    if not mended.done:
        yield "No change was proved to be faster with the same results, or smaller, so none is offered."
        return
    rules = {finding.rule for finding, _ in mended.done}
    predicted = sum(f.cost.seconds for f in report.findings if f.cost and f.rule in rules) / whole
    proof = tried[-1]
    if proof.verdict != "faster" or all(find_rule(rule).measured == "memory" for rule in rules):
        before, after = (words.size(side or 0.0) for side in (proof.before_bytes, proof.after_bytes))
        yield f"The program took {before} of memory before, and {after} after."
        return
    saved = (proof.before_seconds - proof.after_seconds) / proof.before_seconds
    yield (
        f"Predicted to save {words.percent(predicted)} of the time in loops; the trial saved {words.percent(saved)} "
        f"({words.duration(proof.before_seconds)} to {words.duration(proof.after_seconds)})."
    )
