"""What the renderers say in the same words: a cost, a loop, a chain, a fix, a verdict."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence

from hotloop import words
from hotloop.model import Finding, Fix, LoopSummary, Place, Problem, Refusal, Report, Trial
from hotloop.rules import all_rules

LISTED = 16  # epochs
LONG = 40  # characters of a place beside code
UNEVEN = 2  # mean over median of a loop's steps: beyond, the median alone misleads
MOSTLY = 0.5  # of the run, and of its longest loop
PHASES = ("setup", "trace", "input", "compute", "fetch", "library", "python")
MEANING = {
    "setup": "preparing sessions, graphs and models",
    "trace": "tracing functions, building graphs",
    "input": "waiting for data",
    "compute": "TensorFlow at work",
    "fetch": "copying results to Python",
    "library": "Python in libraries",
    "python": "your own Python",
}
VERDICTS = {
    "faster": "faster",
    "same": "no difference",
    "slower": "slower",
    "inconclusive": "inconclusive",
    "different-results": "different results",
}

STATES = {
    ("written", "safe"): "written",
    ("written", "verify"): "written",
    ("proved", "safe"): "proved",
    ("proved", "verify"): "proved",
    ("offered", "safe"): "safe",
    ("offered", "verify"): "to prove",
    ("shown", "advice"): "by hand",
}
PLACES = 4  # that are named of those with the same reason


def clean(text: str) -> str:
    """Text from outside, made harmless: no escape sequence, nothing that a terminal or a file cannot take."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() or c == " " else " " if c in "\t\n" else "�" for c in text)


def clean_lines(text: str) -> str:
    return "\n".join(clean(line) for line in text.split("\n"))


def ordered_phases(summary: LoopSummary) -> list[tuple[str, float, float]]:
    """Phase, seconds, share of the loop; always in the same order, so that two loops compare by eye."""
    total = sum(summary.phases.values())
    known = [phase for phase in PHASES if phase in summary.phases]
    names = known + sorted(set(summary.phases) - set(known))
    return [(name, summary.phases[name], summary.phases[name] / total) for name in names if total > 0]


def facts(summary: LoopSummary, report: Report) -> str:
    """A loop in numbers: steps, time per step, time in all."""
    run, total = summary.run, float(report.meta.get("seconds") or 0.0)
    epochs = sum(event.count for event in report.events if event.kind == "epoch" and event.place == _start(run.place))
    runs = run.runs if run.counted else 0  # else they may not all be known
    rounds = [words.plural(number, noun) for number, noun in ((epochs, "epoch"), (runs, "run")) if number > 1]
    counted = words.plural(run.steps, "step") if run.counted else f"more than {words.plural(run.steps, 'step')}"
    steps = " in ".join([counted, *rounds])
    share = f" ({words.percent(run.seconds / total)}{'' if rounds else ' of the run'})" if total else ""
    mean, median = run.seconds / max(1, run.steps), summary.step_median
    each = f"{words.duration(median)} per step"
    if run.counted and run.steps > 1 and mean > UNEVEN * median:  # then steps x median is nowhere near the whole
        each = f"{words.duration(mean)} per step on average, half of them within {words.duration(median)}"
    return f"{steps} · {each} · {words.duration(run.seconds)}{share}"


def epochs(summary: LoopSummary) -> str:
    """How long each took; of many, the range."""
    took, noun = summary.epochs.values, summary.epochs.name
    if len(took) < 2:
        return ""
    if len(took) <= LISTED:
        return f"{noun.capitalize()}s took {', '.join(words.duration(seconds) for seconds in took)}."
    usual = sorted(took)
    least, half, most = (words.duration(usual[at]) for at in (0, len(usual) // 2, -1))
    return f"{noun.capitalize()}s took {least} to {most}, half of them up to {half}."


def _start(place: Place) -> Place:
    return Place(place.path, place.line)


def cost(finding: Finding, report: Report) -> str:
    """What it cost in this run; empty where nothing ran."""
    if finding.cost is None:
        return "from the source alone: not measured" if report.command == "run" else ""
    total = float(report.meta.get("seconds") or 0.0)
    of = f" of {words.duration(total)}" if total else ""
    each = finding.cost.bytes_per_step
    often = " per step" if finding.loop else " of memory"
    memory = f"{words.size(each)}{often}" if each and each >= 1000 else ""
    if memory and not finding.cost.seconds:
        return memory
    time = f"{words.duration(finding.cost.seconds)}{of} ({words.percent(finding.cost.share)})"
    return f"{time}, {memory}" if memory else time


def where(finding: Finding) -> str:
    """The loop, and the calls that lead from it to the place, when they are elsewhere."""
    if finding.loop is None:
        return ""
    here = finding.place
    through = [_from(here, place) for place in finding.chain if place not in (finding.place, finding.loop)]
    way = f", through {' → '.join(through)}" if through else ""
    return f"in the loop {'on' if finding.loop.path == here.path else 'at'} {_from(here, finding.loop)}{way}"


def stops(finding: Finding, places: Sequence[Place]) -> list[str]:
    """Places on the way to the finding, in as few words as say where they are."""
    here = finding.place
    if any(place.path != here.path for place in places):
        names = [str(place) for place in places]
        return [name if len(name) <= LONG else "…/" + name.rpartition("/")[2] for name in names]
    return [str(p.line) if p.cell == here.cell else f"cell {p.cell}:{p.line}" for p in places]


def _from(here: Place, place: Place) -> str:
    if place.path != here.path:
        return str(place)
    return f"line {place.line}" if place.cell == here.cell else f"cell {place.cell}, line {place.line}"


def evidence(finding: Finding) -> str:
    return " · ".join(f"{e.name} {words.quantity(e.value, e.unit)}" for e in finding.evidence)


def remedy(finding: Finding) -> tuple[str, str]:
    """(`fix`, its title) or (`no fix`, why not) or nothing."""
    if isinstance(finding.fix, Fix):
        how = {"safe": "", "verify": " (applied once proved)", "advice": " (by hand)"}[finding.fix.safety]
        return "fix", finding.fix.title + how
    if isinstance(finding.fix, Refusal):
        return "no fix", finding.fix.reason
    return "", ""


def refused(report: Report) -> list[str]:
    """Why things were not fixed, each reason once: the commonest first, with the first places that it holds for."""
    groups: dict[str, list[Refusal]] = {}
    for refusal in report.refusals:
        groups.setdefault(re.sub(r"`[^`]*`", "`...`", refusal.reason), []).append(refusal)
    said = []
    for general, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        same = len({refusal.reason for refusal in group}) == 1
        places = ", ".join(str(refusal.place) for refusal in group[:PLACES])
        more = f" and {words.count(len(group) - PLACES)} more" if len(group) > PLACES else ""
        said.append(f"{places}{more}: {group[0].reason if same else general}")
    return said


def way_out(finding: Finding) -> str:
    """What to do instead, in the rule's own words, where no fix does it."""
    if isinstance(finding.fix, Fix):
        return ""
    for rule in all_rules():
        if rule.name == finding.rule:
            paragraph = " ".join(rule.sections["Instead"].split("\n\n")[0].split())
            return re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0]
    return ""


def what_next(report: Report) -> list[tuple[str, str]]:
    """After a run: the command that mends, the page that shows it all, and where the recording lies."""
    if report.command != "run":
        return []
    said, kept, page = [], report.meta.get("recording"), report.meta.get("page")
    fixes = sum(isinstance(f.fix, Fix) and f.fix.safety != "advice" for f in report.findings)
    if fixes:
        which = "the fix" if fixes == 1 else "the fixes"  # one may make way for others: how many is not known yet
        said.append(("fix", f"`hotloop fix --run {_quoted(program(report))}` tries {which} and keeps what it proves."))
    if page:
        said.append(("page", f"{page}"))
    elif report.loops and kept:
        said.append(("page", "`hotloop report --html report.html` draws it."))
    return [*said, ("kept", str(kept))] if kept else said


def _quoted(command: str) -> str:
    return command if command == shlex.quote(command) else '"' + re.sub(r'(["\\$`])', r"\\\1", command) + '"'


def speedup(trial: Trial) -> str:
    return f"{words.number(trial.speedup)}x{_between(*trial.interval)}"


def results(trial: Trial) -> str:
    return {True: "same", False: "DIFFERENT", None: "unknown"}[trial.same_results]


def _between(low: float, high: float) -> str:
    """An interval; nothing when one run alone could give none."""
    return f" ({words.number(low)}–{words.number(high)})" if low > 0 and math.isfinite(high) else ""


def program(report: Report) -> str:
    argv = report.meta.get("argv") or [report.meta.get("program") or ""]
    return shlex.join(str(part) for part in argv)


def headline(report: Report) -> str:
    """The run in one line: what, how long, with what."""
    seconds = float(report.meta.get("seconds") or 0.0)
    imports = float(report.meta.get("import_seconds") or 0.0)
    versions = report.meta.get("versions") or {}
    parts = [words.duration(seconds) + (f" after {words.duration(imports)} of imports" if imports else "")]
    for name, title in (("tensorflow", "TensorFlow"), ("keras", "Keras")):
        if versions.get(name):
            parts.append(f"{title} {versions[name]}")
    return " · ".join(parts)


def summary(report: Report) -> str:
    """The verdict. Costs of causes may overlap, so they are never added up."""
    if report.command == "run":
        return _summary_of_run(report)
    return _summary_of_check(report) if report.command == "check" else ""


def _summary_of_check(report: Report) -> str:
    """How many, where, how sure; nothing when there is nothing."""
    found = report.findings
    if not found:
        return ""
    files = {finding.place.path for finding in found}
    levels = [(sum(f.confidence == level for f in found), level) for level in ("high", "medium", "low")]
    sure = ", ".join(f"{words.count(number)} {level}" for number, level in levels if number)
    known = int(report.meta.get("known") or 0)
    new, more = (" new", f" {words.plural(known, 'finding')} more in the baseline.") if known else ("", "")
    counted = words.plural(len(found), "finding").replace(" ", f"{new} ", 1)
    return f"{counted} in {words.plural(len(files), 'file')}: {sure}.{more}"


def by_rule(report: Report) -> str:
    """How often each rule spoke up, the most frequent first; nothing where one alone did."""
    rules = [finding.rule for finding in report.findings]
    counts = sorted({(-rules.count(rule), rule) for rule in rules})
    return " · ".join(f"{rule} {words.count(-count)}" for count, rule in counts) if len(counts) > 1 else ""


def defects(report: Report) -> list[tuple[str, str]]:
    """Each defect of hotloop itself once, as a sentence and its traceback, however many files it showed on."""
    first: dict[tuple[str, str], Problem] = {}
    for problem in report.problems:
        first.setdefault((problem.rule, _cause(problem)), problem)
    return [(defect(problem), problem.traceback) for problem in first.values()]


def defect(problem: Problem) -> str:
    where = f" on {problem.path}" if problem.path else ""
    return (
        f"of hotloop itself, in {problem.rule}{where}: {_cause(problem)}. The rest of the report stands; "
        f"`--ignore {problem.rule}` leaves the rule out. Please report it, with the traceback, `hotloop --version` "
        "and the lines it stumbled over."
    )


def _cause(problem: Problem) -> str:
    lines = problem.traceback.strip().splitlines()
    return lines[-1].strip().rstrip(".") if lines else "no traceback"


def _summary_of_run(report: Report) -> str:
    folded = int(report.meta.get("folded") or 0)
    more = f" {words.plural(folded, 'more finding')} under 2% not shown." if folded else ""
    if report.findings:
        return f"{words.plural(len(report.findings), 'cause')} found{_worst(report)}.{more}"
    if report.symptoms:
        return f"No cause that hotloop knows explains this.{more}"
    if not report.loops:
        return f"There was no loop to measure.{more}"
    return f"{_clean_bill(report)}{more}"


def _clean_bill(report: Report) -> str:
    """What hotloop knows is about TensorFlow: of a loop that is mostly Python it can only say that."""
    longest = max(report.loops, key=lambda loop: loop.run.seconds)
    python = sum(longest.phases.get(phase, 0.0) for phase in ("python", "library"))
    if python < MOSTLY * longest.run.seconds or longest.run.seconds < MOSTLY * float(report.meta.get("seconds") or 0.0):
        return "Nothing here is worth mending."
    share, line = words.percent(python / longest.run.seconds), longest.run.place.line
    return f"Nothing that hotloop knows of is worth mending: {share} of the loop on line {line} is Python."


def _worst(report: Report) -> str:
    """What mending the costliest cause would save."""
    costs = [finding.cost for finding in report.findings if finding.cost]
    if not costs:
        return ""
    most = max(costs, key=lambda cost: cost.seconds)
    total = float(report.meta.get("seconds") or 0.0)
    saved = f"{words.duration(most.seconds)}{f' of {words.duration(total)}' if total else ''}"
    which = "mending it" if len(report.findings) == 1 else "mending the first"
    if not most.seconds and (kept := max(cost.bytes_per_step or 0.0 for cost in costs)):
        return f": {which} would keep memory from growing by {words.size(kept)} a step"
    return f": {which} would save about {saved} ({words.percent(most.share)})"


def verdict(trial: Trial) -> str:
    """A trial in one sentence."""
    runs = f"{words.plural(trial.runs, 'run')} of each"
    if trial.verdict == "different-results":
        return f"The results of `{trial.after}` differ from those of `{trial.before}` ({runs})."
    if trial.verdict == "inconclusive":
        return f"Nothing is decided: {speedup(trial)} after {runs}."
    if trial.verdict == "same":
        return f"`{trial.after}` is neither faster nor slower than `{trial.before}`: {speedup(trial)} in {runs}."
    if trial.verdict == "faster":
        times, low, high = (trial.speedup, *trial.interval)
    else:
        times, high, low = (1 / max(value, 1e-9) for value in (trial.speedup, *trial.interval))
    claim = f"`{trial.after}` is {words.number(times)}x {trial.verdict} than `{trial.before}` in its loops"
    return f"{claim}{_between(low, high)}, in {runs}."
