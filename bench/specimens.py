"""What each rule's fix gains on its own specimens, and how well the slow one alone foretold it."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from overhead import PACKAGES
from surroundings import HERE, surroundings

from hotloop.diagnose import diagnose
from hotloop.record import record
from hotloop.rules import Rule, all_rules
from hotloop.rules.specimens import plain, program, specimen, write
from hotloop.verify import loop_seconds, trial


def measure(rule: Rule, runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side in ("slow", "fast"):
            write(plain(specimen(rule, side)), folder)
        slow, fast = ([str(folder / program(rule, side))] for side in ("slow", "fast"))
        recording, _ = record(slow, capture=True)
        findings = diagnose(recording, [rule]).findings
        cost = sum(finding.cost.seconds for finding in findings if finding.cost)
        proof = trial(slow, fast, runs=runs, minimum=runs)
    return {
        "speedup": round(proof.speedup, 2),
        "interval": [round(end, 2) for end in proof.interval],
        "runs": proof.runs,
        "same_results": proof.same_results,
        "predicted": round(cost / (loop_seconds(recording) or recording.seconds), 3),
        "saved": round(1 - proof.after_seconds / proof.before_seconds, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path, default=HERE / "results" / "specimens.json")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for rule in all_rules():
        results[rule.name] = measure(rule, arguments.runs)
        print(rule.name, results[rule.name], flush=True)
    arguments.output.write_text(json.dumps({**surroundings(*PACKAGES), "results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
