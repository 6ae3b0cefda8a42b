"""What each rule's fix gains on its own specimens, and how well the slow one alone foretold it."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from overhead import PACKAGES
from surroundings import HERE, surroundings

from hotloop.diagnose import diagnose
from hotloop.laps import loop_seconds, slept
from hotloop.model import Finding, Recording, Trial
from hotloop.record import record
from hotloop.rules import Rule, find_rule, select
from hotloop.rules.specimens import plain, program, specimen, write
from hotloop.settings import cores
from hotloop.verify import Contender, Terms, trial


def measure(rule: Rule, runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side in ("slow", "fast"):
            write(plain(specimen(rule, side)), folder)
        slow, fast = ([str(folder / program(rule, side))] for side in ("slow", "fast"))
        recording, _ = record(slow, capture=True)
        findings = diagnose(recording, [rule]).findings
        proof = trial(Contender("slow", slow), Contender("fast", fast), Terms(runs=runs, minimum=runs))
    shares = _memory if rule.measured == "memory" else _time
    predicted, saved = shares(recording, findings, proof)
    return {
        "measured": rule.measured,
        "speedup": round(proof.speedup, 2),
        "interval": [round(end, 2) for end in proof.interval],
        "runs": proof.runs,
        "same_results": proof.same_results,
        "predicted": round(predicted, 3) if rule.diagnose else None,
        "saved": round(saved, 3),
        "cpus": cores(),
    }


def _time(recording: Recording, findings: Sequence[Finding], proof: Trial) -> tuple[float, float]:
    """Shares of the time in loops: foretold, of all of it, and saved, of what TensorFlow did not sleep through."""
    cost = sum(finding.cost.seconds for finding in findings if finding.cost)
    whole = (loop_seconds(recording) or recording.seconds) + slept(recording)
    return cost / whole, 1 - proof.after_seconds / proof.before_seconds


def _memory(recording: Recording, findings: Sequence[Finding], proof: Trial) -> tuple[float, float]:
    """The same of the peak of memory."""
    steps = {run.place.line: run.steps for run in recording.loops if not run.stack}
    costs = [(f.cost.bytes_per_step or 0.0, steps.get(f.loop.line, 1) if f.loop else 1) for f in findings if f.cost]
    before, after = proof.before_bytes or 1.0, proof.after_bytes or 0.0
    return sum(each * count for each, count in costs) / before, 1 - after / before


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
