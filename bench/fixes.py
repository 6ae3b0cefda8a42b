"""What the fixes do to source that nobody wrote for them, and how near they come to what an expert would have written.

`corpus`: every available fix on the packages of corpus.txt: each must parse and harm nothing; refusals by reason.
`fuzz`: generated programs, run before and after their fixes; with a stand-in for TensorFlow unless `--real`.
`speed`: `hotloop fix` on the slow programs, against the same written by hand, in turns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from corpus import unpacked
from experts import Case, cases
from surroundings import HERE, surroundings

from hotloop.check import check
from hotloop.diagnose import diagnose
from hotloop.mending import Key, applied, key, mend, read_project
from hotloop.model import Finding, Fix, HotloopError, Refusal
from hotloop.rules import all_rules
from hotloop.rules.specimens import write
from hotloop.settings import cache_dir
from hotloop.source import Project, read
from hotloop.verify import Contender, Terms, trials

TOOLS = HERE.parent / "tools"
PART = 4_000_000  # bytes of source that are held at a time
PROGRAMS, CHUNK = 2000, 100
NEAR = 0.9  # of the expert's speed
WRONG = 20  # that are kept word for word
PACKAGES = ("libcst", "numpy", "tensorflow-cpu", "tensorflow_cpu", "tensorflow")

sys.path.insert(0, str(TOOLS))


# -- the corpus --------------------------------------------------------------------------------------------------------


def corpus(arguments: argparse.Namespace) -> dict[str, Any]:
    folders = arguments.folder or [
        arguments.corpus / name for name in unpacked(arguments.corpus, arguments.only or None)
    ]
    found = Counter[str]()
    reasons, fixes = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    wrong: list[str] = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(_mended, [(folder, part) for folder in folders for part in _parts(folder)]):
            found += result["counts"]
            reasons += result["reasons"]
            fixes += result["fixes"]
            wrong += result["wrong"]
    return {
        "packages": len(folders),
        **found,
        "wrong": wrong[:WRONG],
        "harmed": len(wrong),
        "by_rule": _table(fixes),
        "refusals": _table(reasons),
    }


def _parts(folder: Path) -> Iterator[tuple[int, int]]:
    """Spans of a package's relevant files, each of a size that fits into memory with what it leads to."""
    files = read(sorted(folder.rglob("*.py")), folder)
    start, size = 0, 0
    chosen = files.relevant()
    for index, file in enumerate(chosen, 1):
        size += len(files.contents[file])
        if size > PART or index == len(chosen):
            yield start, index
            start, size = index, 0


def _mended(job: tuple[Path, tuple[int, int]]) -> dict[str, Any]:
    """Every finding of some files, of low confidence too, and what each fix alone makes of them."""
    from unharmed import harm

    folder, span = job
    files = read(sorted(folder.rglob("*.py")), folder)
    chosen = files.relevant()[slice(*span)]
    project = Project(files, chosen)
    contents = {files.path(file): files.contents[file] for file in files.contents}
    makers = {rule.name: rule.fix for rule in all_rules()}
    counts, reasons, fixes = Counter({"files": len(chosen)}), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    wrong: list[str] = []
    for finding in check(project, all_rules())[0]:
        make = makers[finding.rule]
        if make is None:
            continue
        where = f"{folder.name}/{finding.place}: {finding.rule}"
        try:
            answer = make(finding, project)
            if isinstance(answer, Refusal):
                counts["refused"] += 1
                reasons[finding.rule, re.sub(r"`[^`]*`", "`...`", answer.reason)] += 1
                continue
            counts["fixed"] += 1
            fixes[finding.rule, answer.safety] += 1
            wrong += [f"{where}: {said}" for said in _harm(answer, contents, project, harm)]
        except Exception as error:  # noqa: BLE001 - a defect is a result here
            wrong.append(f"{where}: {type(error).__name__}: {error}")
    return {"counts": counts, "reasons": reasons, "fixes": fixes, "wrong": wrong}


def _harm(
    fix: Fix, contents: dict[str, bytes], project: Project, harm: Callable[[bytes, bytes], Iterator[str]]
) -> Iterator[str]:
    for path, data in applied(contents, fix, project).items():
        yield from harm(contents[path], data)


def _table(counts: Counter[tuple[str, str]]) -> list[list[Any]]:
    return [[*key, number] for key, number in counts.most_common()]


# -- generated programs ------------------------------------------------------------------------------------------------


def fuzz(arguments: argparse.Namespace) -> dict[str, Any]:
    starts = [(start, arguments.real) for start in range(0, arguments.programs, CHUNK)]
    fixes, refused, wrong = Counter[tuple[str, str]](), Counter[tuple[str, str]](), []
    mended = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for outcomes in pool.map(_chunk, starts):
            for outcome in outcomes:
                if outcome.wrong and arguments.real:
                    outcome = _alone(outcome.number)
                fixes += Counter(outcome.fixes)
                refused += Counter((rule, re.sub(r"`[^`]*`", "`...`", why)) for rule, why in outcome.refused)
                mended += bool(outcome.fixes)
                wrong += [[outcome.number, list(outcome.fixes), list(outcome.wrong)]] if outcome.wrong else []
    safe = [one for one in wrong if all(safety == "safe" for _, safety in one[1])]
    return {
        "programs": arguments.programs,
        "tensorflow": "itself" if arguments.real else "a stand-in",
        "mended": mended,
        "different": len(wrong),
        "different_though_safe": len(safe),
        "wrong": wrong[:WRONG],
        "by_rule": _table(fixes),
        "refusals": _table(refused),
    }


def _chunk(job: tuple[int, bool]) -> list[Any]:
    start, real = job
    if not real:
        sys.modules["tensorflow"] = importlib.import_module("stand_in")
    return [_tried(number) for number in range(start, start + CHUNK)]


def _tried(number: int) -> Any:
    from trying import tried

    return tried(number)


def _alone(number: int) -> Any:
    """In a process of its own: AutoGraph, now and then, takes a function for that of an earlier program."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_tried, number).result()


# -- against an expert -------------------------------------------------------------------------------------------------


def speed(arguments: argparse.Namespace) -> dict[str, Any]:
    """How fast the mended program is, of the expert's 1; and the slow one, for comparison."""
    chosen = [case for case in cases(arguments.public) if not arguments.only or case.name in arguments.only]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = dict(
            zip((c.name for c in chosen), pool.map(lambda c: _speed(c, arguments.runs), chosen), strict=True)
        )
    if arguments.only:  # the others stay as they were measured before
        results = _known(arguments.output).get("speed", {}).get("cases", {}) | results
    near = sum(_is_near(result) for result in results.values())
    return {"near": near, "of": len(results), "runs": arguments.runs, "cases": results}


def _is_near(result: dict[str, Any]) -> bool:
    reached = result["reached"]
    return reached is not None and reached >= NEAR and result.get("same_results") is not False


def _speed(case: Case, runs: int) -> dict[str, Any]:
    mended = mend(case.slow, all_rules(), _seen(case) if case.seen else None)
    told: dict[str, Any] = {"kind": case.kind, "fixes": sorted({finding.rule for finding, _ in mended.done})}
    if mended.refusals:
        told["refused"] = sorted({f"{finding.rule}: {refusal.reason}" for finding, refusal in mended.refusals})
    if mended.contents == case.expert:
        return _said(case, told | {"reached": 1.0, "how": "the same text"})
    with tempfile.TemporaryDirectory() as name:
        sides = {"expert": case.expert, "mended": mended.contents, "slow": case.slow}
        contenders = []
        for side, files in sides.items():
            folder = Path(name, side)
            write(files, folder)
            contenders.append(Contender(side, [str(folder / case.program)], folder, folder, own=True))
        try:
            fixed, slow = trials(contenders[0], contenders[1:], Terms(runs=runs, minimum=runs))
        except HotloopError as error:
            return _said(case, told | {"reached": None, "how": str(error)})
    interval = [round(end, 3) for end in fixed.interval]
    how = {
        "reached": round(fixed.speedup, 3),
        "interval": interval,
        "same_results": fixed.same_results,
        "how": "measured",
    }
    return _said(case, told | how | {"slow": round(slow.speedup, 3), "notes": list(fixed.notes)})


def _seen(case: Case) -> dict[Key, Finding]:
    project = read_project(case.slow, case.slow)
    found = diagnose(case.seen, all_rules()).findings if case.seen else ()
    return {key(finding, project): finding for finding in found}


def _said(case: Case, result: dict[str, Any]) -> dict[str, Any]:
    print(case.name, result, flush=True)
    return result


def _known(output: Path) -> dict[str, Any]:
    return json.loads(output.read_text()) if output.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="corpus, fuzz, speed (default: all)")
    parser.add_argument("--corpus", type=Path, default=cache_dir() / "bench", help="where the packages are kept")
    parser.add_argument("--folder", type=Path, action="append", default=[], help="mend this in place of the packages")
    parser.add_argument("--only", action="append", default=[], help="this package, rule or program")
    parser.add_argument("--jobs", type=int, default=1, help="at a time, on a machine with cores to spare")
    parser.add_argument("--programs", type=int, default=PROGRAMS, help="how many are generated")
    parser.add_argument("--real", action="store_true", help="run generated programs with TensorFlow itself")
    parser.add_argument("--public", type=Path, help="a folder of public repositories, as owner+name")
    parser.add_argument("--runs", type=int, default=5, help="of each program")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "fixes.json")
    arguments = parser.parse_args()
    known = {"corpus": corpus, "fuzz": fuzz, "speed": speed}
    for name in arguments.parts or known:
        result = known[name](arguments)
        print(name, json.dumps(result, indent=1, default=str)[:3000], flush=True)
        kept = {**_known(arguments.output), **surroundings(*PACKAGES), name: result}
        arguments.output.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
