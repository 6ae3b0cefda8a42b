"""Project x rules -> findings. Reads source, runs nothing."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hotloop.garbage import collection_off
from hotloop.model import Finding, Fix, Place, Problem, Report
from hotloop.rules import Rule, all_rules
from hotloop.settings import cores
from hotloop.source import Files, Project, read
from hotloop.source.aside import above, is_aside
from hotloop.source.files import resolved, shards, shown
from hotloop.source.notebooks import in_cell, relocated

HELD = 8_500_000  # bytes of source that are held at a time, with what they lead to: some 570 MB
HELD_WITH_TESTS = 4_600_000  # tests lead to more
PROCESSES = 4  # at most: with more, each would hold too little for what its files lead to
MUCH = 10_000_000  # bytes of source: with less, it takes longer to start a process than to do its work
CAN_FORK = "fork" in multiprocessing.get_all_start_methods()

Progress = Callable[[int, int], None]


def check_files(
    root: Path,
    files: Sequence[Path],
    rules: Iterable[Rule] | None = None,
    low: bool = False,
    progress: Progress | None = None,
    named: Collection[Path] = (),
    contents: Mapping[Path, bytes] | None = None,
) -> Report:
    """The findings in these files; those of low confidence only when asked for.

    `named` are read whatever they are called and speak of: somebody asked for them. `progress` hears how many of how
    many files are done. `contents` is what was read of them already.
    """
    processes = min(cores(), PROCESSES)
    with collection_off():
        if not low:  # what is said of tests and benchmarks is of low confidence
            files = _without_asides(files, root, named)
        found = read(files, root, contents)
        with _words_meanwhile(found, processes):
            asked = all_rules() if rules is None else tuple(rules)  # which may be imported only now
            chosen = sorted({*found.relevant(), *(file for file in named if file in found)})
    work = _Work(found, asked, low)
    parts = shards(found, chosen, (HELD_WITH_TESTS if low else HELD) // processes, processes)
    largest_first = sorted(parts, key=found.size, reverse=True)  # none is left alone with a large one in the end
    answers = dict(_each(work, largest_first, processes, progress))
    results = [answers[part[0]] for part in parts]
    unparsed = dict(found.unread.unparsed)
    for result in results:
        unparsed |= result.unparsed
    findings = {(f.rule, f.place): f for result in results for f in result.findings}
    return Report(
        "check",
        findings=tuple(sorted(findings.values(), key=lambda f: (f.place, f.rule))),
        problems=tuple(dict.fromkeys(problem for result in results for problem in result.problems)),
        notes=(*found.unread.unreadable.values(), *unparsed.values(), *(n for r in results for n in r.unused)),
        meta={
            "files": len(files),
            "parsed": sum(found.path(file) not in unparsed for file in chosen),
            "root": str(root),
            "unreadable": found.unread.unreadable,
            "unparsed": unparsed,
        },
    )


def _without_asides(files: Sequence[Path], root: Path, named: Collection[Path]) -> list[Path]:
    """The files less tests and benchmarks, of which only those are left that somebody asked for."""
    real_root = root.resolve()
    real = resolved(files)
    paths = [shown(file, real_root) for file in real]
    top = above(paths)
    together = zip(files, real, paths, strict=True)
    return [file for file, at, path in together if at in named or not is_aside(path.removeprefix(top))]


@dataclass(frozen=True)
class _Result:
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    unused: tuple[str, ...]
    unparsed: dict[str, str]


class _Work:
    """What is to be asked of each shard."""

    def __init__(self, files: Files, rules: Sequence[Rule], low: bool) -> None:
        self.files, self.rules, self.low = files, rules, low

    def __call__(self, shard: Sequence[Path]) -> _Result:
        files = self.files.without_modules()
        with collection_off():
            project = Project(files, shard, self.low or any(b"hotloop:" in files.contents[file] for file in shard))
            findings, problems = check(project, self.rules)
            kept = [f for f in findings if self.low or f.confidence != "low"]
            unused = _unused_suppressions(project, findings) if len(self.rules) == len(all_rules()) else []
            shown, more = offered([f for f in kept if not suppressed(f, project)], project)
        cells = {module.path: module.cells for module in project.modules.values() if module.cells}
        mine = {
            path: note
            for path, note in files.unread.unparsed.items()
            if path.partition(":cell")[0] in self._paths(shard)
        }
        return _Result(tuple(relocated(finding, cells) for finding in shown), (*problems, *more), tuple(unused), mine)

    def _paths(self, shard: Sequence[Path]) -> set[str]:
        return {self.files.path(file) for file in shard}


def _each(
    work: _Work, parts: Sequence[Sequence[Path]], processes: int, progress: Progress | None
) -> Iterator[tuple[Path, _Result]]:
    """The results of all parts, by their first file."""
    processes = min(processes, len(parts))
    total = sum(len(part) for part in parts)
    done = 0
    with ExitStack() as stack:
        results: Iterator[_Result] = map(work, parts)
        if len(parts) > 1 and CAN_FORK:
            work.files.prepare()
            # One process a shard: trees refer to themselves, and a process that ends frees them faster than any search.
            pool = stack.enter_context(multiprocessing.get_context("fork").Pool(processes, _inherit, (work,), 1))
            results = pool.imap(_in_process, parts)
        for part, result in zip(parts, results, strict=True):
            done += len(part)
            if progress:
                progress(done, total)
            yield part[0], result


@contextmanager
def _words_meanwhile(files: Files, processes: int) -> Iterator[None]:
    """Let another process find out which words stand where; it takes as long as to see what the files import."""
    if processes == 1 or not CAN_FORK or files.size(files.contents) < MUCH:
        yield
        return
    with multiprocessing.get_context("fork").Pool(1, _inherit, (lambda _: files.standing,)) as pool:
        told = pool.apply_async(_in_process, ((),))
        yield
        files.standing = told.get()


_inherited: list[Callable[[Sequence[Path]], Any]] = []


def _inherit(work: Callable[[Sequence[Path]], Any]) -> None:
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all of a terminal's processes: one answers
    _inherited.append(work)


def _in_process(shard: Sequence[Path]) -> Any:
    return _inherited[0](shard)


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
    """The findings, each with the fix that its rule has for it or the reason why there is none.

    What only a run has shown names a line and no more: where no fix comes of that, there is nothing to say.
    """
    makers = {rule.name: rule.fix for rule in all_rules()}
    answered: list[Finding] = []
    problems: list[Problem] = []
    for finding in findings:
        make = makers.get(finding.rule)
        measured = finding.basis == "measured"
        seen = not measured or finding.place.path in project.modules
        if make is not None and finding.fix is None and seen:
            try:
                fix = make(finding, project)
                if isinstance(fix, Fix) or not measured:
                    finding = replace(finding, fix=fix)
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
