"""`hotloop compare`: two programs as they stand, or one program at two revisions of its repository."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hotloop.model import HotloopError, Report, Trial
from hotloop.verify import Contender, Terms, trial
from hotloop.workshop import Workshop, moved

WORKING_TREE = "."
EXIT_CODES = {"faster": 0, "same": 0, "slower": 1, "different-results": 1, "inconclusive": 3}


def compare(before: Sequence[str], after: Sequence[str], terms: Terms) -> Report:
    """Two programs, run from here: what each writes here is compared too."""
    here = Path.cwd()
    sides = [Contender(shlex.join(argv), argv, watch=here) for argv in (before, after)]
    return _report(trial(sides[0], sides[1], terms))


def compare_revisions(before: str, after: str, argv: Sequence[str], terms: Terms) -> Report:
    """One program at two revisions, each in a folder of its own; `.` is the working tree as it is."""
    with _at(before, argv) as one, _at(after, argv) as two:
        return _report(trial(one, two, terms))


def _report(outcome: Trial) -> Report:
    return Report(command="compare", trials=(outcome,), meta={"argv": [outcome.before, outcome.after]})


def exit_code(report: Report) -> int:
    return EXIT_CODES[report.trials[0].verdict]


# -- revisions ---------------------------------------------------------------------------------------------------------


@contextmanager
def _at(revision: str, argv: Sequence[str]) -> Iterator[Contender]:
    top = Path(os.fsdecode(_git("rev-parse", "--show-toplevel")).rstrip("\n"))
    if revision == WORKING_TREE:
        with Workshop(top, argv).bench({}) as bench:
            yield Contender("working tree", bench.argv, bench.cwd, bench.folder, own=True)
        return
    commit = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", wrong=f"git knows no `{revision}`.")
    short = _git("rev-parse", "--short", commit.decode().strip()).decode().strip()
    with tempfile.TemporaryDirectory(prefix="hotloop-", ignore_cleanup_errors=True) as name:
        folder = Path(name) / (top.name or "project")
        with tarfile.open(fileobj=io.BytesIO(_git("-C", str(top), "archive", commit.decode().strip()))) as archive:
            # As an attribute, which a Python before 3.11.4 does not know and does not mind.
            archive.extraction_filter = lambda member, _: member
            archive.extractall(folder)
        _link_the_rest(top, folder)
        here = Path.cwd().resolve()
        cwd = folder / here.relative_to(top.resolve())
        if not cwd.is_dir():
            raise HotloopError(f"there is no folder {here.relative_to(top.resolve())} at `{revision}`.")
        yield Contender(f"{revision} ({short})", moved(argv, top.resolve(), folder), cwd, folder, own=True)


def _link_the_rest(top: Path, folder: Path) -> None:
    """What git does not keep (data, models, an environment) is there at every revision."""
    for entry in _git("-C", str(top), "ls-files", "--others", "--directory", "-z").split(b"\0"):
        path = os.fsdecode(entry).rstrip("/")
        target = folder / path
        if path and Path(path).name != "__pycache__" and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(top / path)


def _git(*words: str, wrong: str = "") -> bytes:
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False)
    except OSError as error:
        raise HotloopError("`compare A B -- program` compares revisions and needs git, which is not there.") from error
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        raise HotloopError(wrong or f"git: {said[-1] if said else 'it failed'}.")
    return done.stdout
