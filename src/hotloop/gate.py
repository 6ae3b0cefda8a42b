"""`hotloop check` as a user asks for it: settings, standard input, baseline, and what could not be done."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from hotloop import baseline, words
from hotloop.cache import remembered
from hotloop.discover import discover
from hotloop.ignore import names, parse
from hotloop.model import Finding, HotloopError, Place, Report
from hotloop.report.excerpt import Sources
from hotloop.rules import find_rule, known, select
from hotloop.settings import Settings, load_settings

STDIN = "-"
Progress = Callable[[int, int], None] | None


@dataclass(frozen=True)
class Request:
    """What the command line says."""

    paths: Sequence[str] = (".",)
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    low: bool = False
    baseline: str | None = None
    write_baseline: bool = False
    stdin: bytes | None = None  # what came in, where a path is `-`
    stdin_filename: str | None = None


@dataclass(frozen=True)
class Answer:
    report: Report
    failures: tuple[str, ...] = ()  # sentences: what was asked for and could not be done
    texts: Mapping[str, bytes] = field(default_factory=dict)  # sources that are not on disk, by path
    said: str = ""  # instead of the report

    @property
    def exit_code(self) -> int:
        return 2 if self.failures or self.report.problems else 1 if self.report.findings and not self.said else 0


def answer(request: Request, progress: Progress = None) -> Answer:
    there, failures = _there(request)
    settings = load_settings(there or [Path.cwd()])
    rules = _rules(request, settings)
    agreed = _baseline(request, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own about the source that is read: not what was asked
        report = _checked(request, there, settings, rules, progress)
    texts = {_stdin_path(request): request.stdin} if request.stdin is not None else {}
    report, more = _failures(_without_ignored(report, settings), _named(request))
    failures += more
    if agreed is None:
        return Answer(report, tuple(failures), texts)
    sources = Sources(report, texts)
    if request.write_baseline:
        baseline.write(report, sources, agreed)
        said = f"{words.plural(len(report.findings), 'finding')} written to {agreed}."
        return Answer(report, tuple(failures), texts, said)
    return Answer(baseline.new(report, sources, agreed), tuple(failures), texts)


def _there(request: Request) -> tuple[list[Path], list[str]]:
    """The paths that exist, and a sentence for each that does not. With `-`, the folder of the file it stands for."""
    if request.stdin is not None:
        if len(request.paths) > 1:
            raise HotloopError("`-` stands for standard input and goes with no other path.")
        return [Path(request.stdin_filename or "stdin.py").absolute().parent], []
    if request.stdin_filename is not None:
        raise HotloopError("`--stdin-filename` goes with `-`: `hotloop check --stdin-filename model.py - < model.py`.")
    paths = [Path(path) for path in request.paths]
    missing = [path for path in paths if not os.path.exists(path)]
    return [path for path in paths if path not in missing], [f"there is no file or folder {path}." for path in missing]


def _rules(request: Request, settings: Settings) -> tuple[str, ...]:
    """The command line's selection goes before the settings'; what either ignores is ignored."""
    asked, ignored = list(_words(request.select)), list(_words(request.ignore))
    for name in (*asked, *ignored):
        known(name)
    try:
        for rules in settings.per_file_ignores.values():
            select(rules)
        return select(asked or settings.select, (*ignored, *settings.ignore))
    except HotloopError as error:
        raise HotloopError(f"{settings.file}: {error}") from error


def _words(values: Sequence[str]) -> Iterator[str]:
    """`--select a,b --select c` names three."""
    return (word.strip() for value in values for word in value.split(",") if word.strip())


def _baseline(request: Request, settings: Settings) -> Path | None:
    if request.baseline:
        return Path(request.baseline)
    if settings.baseline:
        return settings.folder / settings.baseline
    if request.write_baseline:
        raise HotloopError(
            "`--write-baseline` needs a file to write: add `--baseline FILE`, or set it in the settings."
        )
    return None


def _checked(
    request: Request, paths: Sequence[Path], settings: Settings, rules: Sequence[str], progress: Progress
) -> Report:
    if request.stdin is not None:
        return _check_text(request.stdin, _stdin_path(request), rules, request.low)
    files = discover(paths, settings.exclude, settings.folder)
    named = _named(request)
    question = [str(Path.cwd()), str(request.low), *rules, *sorted(map(str, named))]
    report = remembered(
        question, files, lambda contents: _ask(Path.cwd(), files, rules, request.low, progress, named, contents)
    )
    if files or not paths:
        return report
    return replace(report, notes=(f"there is no Python file or notebook in {', '.join(map(str, paths))}.",))


def _ask(
    root: Path,
    files: Sequence[Path],
    rules: Sequence[str],
    low: bool,
    progress: Progress = None,
    named: Collection[Path] = (),
    contents: Mapping[Path, bytes] | None = None,
) -> Report:
    from hotloop.check import check_files  # with all rules: an answer that is remembered needs none of them

    return check_files(root, files, map(find_rule, rules), low, progress, named, contents)


# -- standard input ----------------------------------------------------------------------------------------------------


def _stdin_path(request: Request) -> str:
    """The path to report, relative to here where it can be."""
    given = Path(request.stdin_filename or "stdin.py")
    try:
        return given.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return given.absolute().as_posix()


def _check_text(data: bytes, path: str, rules: Sequence[str], low: bool) -> Report:
    """The text as a file of that name would be checked, alone."""
    below = PurePosixPath(path)
    below = below.relative_to(below.anchor) if below.anchor else below
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, below)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        report = _ask(Path(folder), [file], rules, low, named=[file.resolve()])
    said = str(below)
    findings = tuple(_renamed(finding, said, path) for finding in report.findings)
    unparsed = {p.replace(said, path, 1): note.replace(said, path, 1) for p, note in report.meta["unparsed"].items()}
    notes = tuple(note.replace(said, path, 1) if note.startswith(said) else note for note in report.notes)
    meta = {**report.meta, "root": str(Path.cwd()), "unparsed": unparsed}
    return replace(report, findings=findings, notes=notes, meta=meta)


def _renamed(finding: Finding, old: str, new: str) -> Finding:
    def at(place: Place) -> Place:
        return replace(place, path=new) if place.path == old else place

    return replace(
        finding,
        place=at(finding.place),
        loop=at(finding.loop) if finding.loop else None,
        chain=tuple(at(place) for place in finding.chain),
        message=finding.message.replace(f" {old}:", f" {new}:"),
    )


# -- what is left of the report ----------------------------------------------------------------------------------------


def _without_ignored(report: Report, settings: Settings) -> Report:
    """Less what `per-file-ignores` names."""
    if not settings.per_file_ignores:
        return report
    root, folder = Path(str(report.meta["root"])).resolve(), settings.folder.resolve().as_posix()
    lists = [(parse([pattern], folder), set(rules)) for pattern, rules in settings.per_file_ignores.items()]

    def ignored(finding: Finding) -> bool:
        path = (root / finding.place.path).as_posix()
        return any(finding.rule in rules and names(path, pattern) for pattern, rules in lists)

    return replace(report, findings=tuple(finding for finding in report.findings if not ignored(finding)))


def _named(request: Request) -> set[Path]:
    """The files that were asked for by name."""
    if request.stdin is not None:
        return {Path(_stdin_path(request)).absolute()}
    return {Path(path).resolve() for path in request.paths if os.path.isfile(path)}


def _failures(report: Report, named: set[Path]) -> tuple[Report, list[str]]:
    """What could not be read at all, or was asked for by name and is not Python; it leaves the report's notes."""
    root = Path(str(report.meta["root"])).absolute()
    by_name = [note for path, note in report.meta["unparsed"].items() if root / path in named]
    failed = [*report.meta["unreadable"].values(), *by_name]
    return replace(report, notes=tuple(note for note in report.notes if note not in failed)), failed
