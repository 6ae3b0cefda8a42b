"""What each rule's fix gains on its own specimens, and how well the slow one alone foretold it."""

from __future__ import annotations

import argparse
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from overhead import PACKAGES
from surroundings import HERE, surroundings

from hotloop.diagnose import diagnose
from hotloop.laps import loop_seconds
from hotloop.record import record
from hotloop.rules import Rule, find_rule, select
from hotloop.rules.specimens import plain, program, specimen, write
from hotloop.verify import Contender, Terms, trial


def measure(rule: Rule, runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side in ("slow", "fast"):
            write(plain(specimen(rule, side)), folder)
        slow, fast = ([str(folder / program(rule, side))] for side in ("slow", "fast"))
        recording, _ = record(slow, capture=True)
        findings = diagnose(recording, [rule]).findings
        cost = sum(finding.cost.seconds for finding in findings if finding.cost)
        proof = trial(Contender("slow", slow), Contender("fast", fast), Terms(runs=runs, minimum=runs))
    return {
        "measured": rule.measured,
        "speedup": round(proof.speedup, 2),
        "interval": [round(end, 2) for end in proof.interval],
        "runs": proof.runs,
        "same_results": proof.same_results,
        "predicted": round(cost / (loop_seconds(recording) or recording.seconds), 3),
        "saved": round(1 - proof.after_seconds / proof.before_seconds, 3),
        "seen": bool(findings),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="rules at a time, on a machine with cores to spare")
    parser.add_argument("--only", action="append", default=[], metavar="RULE")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "specimens.json")
    arguments = parser.parse_args()
    rules = [find_rule(name) for name in select(arguments.only)]

    def measured(rule: Rule) -> dict[str, Any]:
        result = measure(rule, arguments.runs)
        print(rule.name, result, flush=True)
        return result

    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = dict(zip((rule.name for rule in rules), pool.map(measured, rules), strict=True))
    around = surroundings(*PACKAGES)
    arguments.output.write_text(json.dumps({**around, "jobs": arguments.jobs, "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
