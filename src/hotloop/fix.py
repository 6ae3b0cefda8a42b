"""`hotloop fix`: the patches for what is found, shown; written where they are safe or proved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hotloop import rules, words
from hotloop.discover import discover
from hotloop.gate import Request, answer
from hotloop.mending import PATCHES, Contents, Mended, diff, in_original, mend
from hotloop.model import Change, Finding, Fix, Refusal, Report
from hotloop.rules import Rule, all_rules, find_rule
from hotloop.settings import load_settings
from hotloop.source import read
from hotloop.writing import uncommitted, write_files


@dataclass(frozen=True)
class Wanted:
    """What the command line says of writing."""

    write: bool = False
    unproved: bool = False  # write what would need a proof, too
    backup: bool = False


def chosen_rules(select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    """Those that the command line asks for, else the settings; what either ignores is ignored."""
    settings = load_settings([Path.cwd()])
    asked, dropped = ([name for one in given for name in one.split(",")] for given in (select, ignore))
    return tuple(find_rule(name) for name in rules.select(asked or settings.select, (*dropped, *settings.ignore)))


# -- from the source alone ---------------------------------------------------------------------------------------------


def fix_paths(request: Request, wanted: Wanted) -> tuple[Report, tuple[str, ...]]:
    """Every fix for what `check` finds, and sentences about what could not be read. Nothing runs."""
    given = answer(request)
    chosen: dict[Path, set[str]] = {}
    for finding in given.report.findings:
        file = Path(str(given.report.meta["root"]), finding.place.path).resolve()
        chosen.setdefault(file, set()).add(finding.rule)
    tree = _Tree.around(list(chosen), request.paths)
    asked = {tree.name(file): found for file, found in chosen.items()}
    safeties = ("safe",) if wanted.write and not wanted.unproved else PATCHES
    mended = mend(tree.contents, all_rules(), safeties=safeties, chosen=asked)
    return _written(tree, mended, wanted, given.report), given.failures


@dataclass(frozen=True)
class _Tree:
    """The files that a change may touch or has to know, by their path below `root`."""

    root: Path
    contents: Contents = field(default_factory=dict)

    @staticmethod
    def around(files: Sequence[Path], paths: Sequence[str]) -> _Tree:
        if not files:
            return _Tree(Path.cwd())
        there = [Path(path) for path in paths if os.path.exists(path)]
        settings = load_settings(there)
        found = read({*discover(there, settings.exclude, settings.folder), *files}, Path.cwd())
        relevant = {*found.relevant(), *files} & set(found.contents)
        here = Path.cwd().resolve()
        inside = all(file.is_relative_to(here) for file in relevant)
        root = here if inside else Path(os.path.commonpath([file.parent for file in relevant]))
        tree = _Tree(root)
        tree.contents.update((tree.name(file), found.contents[file]) for file in sorted(relevant))
        return tree

    def name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()


def _written(tree: _Tree, mended: Mended, wanted: Wanted, checked: Report) -> Report:
    """The report, once all is done that was asked for."""
    old, new = tree.contents, mended.contents
    notes = list(checked.notes)
    if wanted.write:
        notes += written(tree.root, old, new, wanted.backup)
    state = "written" if wanted.write else "offered"
    changes = [change(finding, fix, state) for finding, fix in mended.done]
    for finding, fix in mended.advice:
        place = in_original(finding.place, old, new)
        changes.append(change(replace(finding, place=place), fix, "shown" if fix.safety == "advice" else "offered"))
    return Report(
        "fix",
        problems=checked.problems,
        changes=in_order(changes),
        refusals=refused(mended, old),
        diff=diff(old, new),
        notes=(*notes, *_next(mended, wanted)),
        meta={"root": str(tree.root), "files": checked.meta.get("files", 0)},
    )


def change(finding: Finding, fix: Fix, state: str) -> Change:
    return Change(finding.rule, finding.place, fix.title, fix.safety, state)


def in_order(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda one: (one.place.path, one.place.cell or 0, one.place)))


def refused(mended: Mended, old: Contents) -> tuple[Refusal, ...]:
    """The refusals, at the lines of the files as they were."""
    found = (refusal for _, refusal in mended.refusals)
    return tuple(replace(one, place=in_original(one.place, old, mended.contents)) for one in found)


def written(root: Path, old: Contents, new: Contents, backup: bool) -> Iterator[str]:
    """Write what changed, and say so."""
    changed = [path for path in sorted(new) if new[path] != old[path]]
    if not changed:
        return
    open_changes = uncommitted(root, changed)
    write_files(root, old, new, backup)
    yield f"Wrote {_listed(changed)}{'; the files as they were end in .orig' if backup else ''}."
    if open_changes:
        yield f"{_listed(open_changes)} had changes that are not committed: `git diff` shows both together."


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths) if len(paths) <= 5 else f"{', '.join(paths[:5])} and {words.count(len(paths) - 5)} more"


def _next(mended: Mended, wanted: Wanted) -> Iterator[str]:
    """What is left for the user to do."""
    applied = [fix for _, fix in mended.done]
    left = [fix for _, fix in mended.advice if fix.safety == "verify"]
    unproved = [fix for fix in applied if fix.safety == "verify"]
    if not applied and not left and mended.refusals:
        yield "Nothing can be fixed: the reasons are listed."
    elif not applied and not left:
        yield "What is left is for you to decide." if mended.advice else "There is nothing to fix."
    elif left:
        yield f"{_changes(len(left))} a proof: `hotloop fix --run 'program.py ...' --write`, or `--unproved`."
    elif not wanted.write and unproved:
        few = len(applied) - len(unproved)
        sure = f"{_changes(few, 'is', 'are')} safe (`--write`); " if few else ""
        yield f"{sure}{_changes(len(unproved))} a proof: `hotloop fix --run 'program.py ...'`, or `--write --unproved`."
    elif not wanted.write:
        yield f"{_changes(len(applied), 'is', 'are')} safe: `--write` writes {'it' if len(applied) == 1 else 'them'}."


def _changes(number: int, one: str = "needs", many: str = "need") -> str:
    return f"{words.plural(number, 'change')} {one if number == 1 else many}"
