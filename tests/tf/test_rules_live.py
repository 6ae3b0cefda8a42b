"""The questions that need TensorFlow: every rule's programs run, agree, and differ in speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from hotloop.diagnose import diagnose_recording
from hotloop.laps import loop_seconds
from hotloop.model import Recording
from hotloop.record import record
from hotloop.results import Output, same_results
from hotloop.rules import Rule, all_rules
from hotloop.rules.specimens import expectations, program, specimen, write


def _asked(rule: Rule) -> ParameterSet:
    """All questions of a rule go to one process, which runs its programs once."""
    alone = [pytest.mark.alone] if rule.parallel else []
    return pytest.param(rule, id=rule.name, marks=[pytest.mark.xdist_group(rule.name), *alone])


RULES = all_rules()
of_every_rule = pytest.mark.parametrize("rule", [_asked(rule) for rule in RULES])
of_every_runtime_rule = pytest.mark.parametrize("rule", [_asked(rule) for rule in RULES if rule.diagnose])


@dataclass(frozen=True)
class Live:
    folder: Path
    recording: Recording
    stdout: bytes


Runs = Callable[[Rule, str], Live]


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Runs each specimen once, however many questions are asked of it."""

    @cache
    def run(rule: Rule, name: str) -> Live:
        folder = tmp_path_factory.mktemp(rule.folder.name)
        write(specimen(rule, name), folder)
        recording, done = record([program(rule, name)], cwd=folder, seed=0, capture=True)
        assert done.code == 0, done.stderr.decode(errors="replace")
        return Live(folder, recording, done.stdout)

    return run


@of_every_rule
def test_slow_and_fast_print_the_same_answer(rule: Rule, live: Runs) -> None:
    slow, fast = (live(rule, name) for name in ("slow", "fast"))
    assert slow.stdout.strip()
    outcome = same_results([Output(slow.stdout)], [Output(fast.stdout)])
    assert outcome.same is True, outcome.notes


@of_every_runtime_rule
def test_a_live_recording_of_slow_names_the_rule_and_the_line(rule: Rule, live: Runs) -> None:
    ran = live(rule, "slow")
    found = named(rule, ran.recording)
    for _ in range(2):  # a machine with other work may hide from one run that steps get slower
        found = found or named(rule, record([program(rule, "slow")], cwd=ran.folder, seed=0, capture=True)[0])
    assert found
    assert found <= expectations(specimen(rule, "slow"))


def named(rule: Rule, recording: Recording) -> set[tuple[str, int, str]]:
    found = diagnose_recording(recording).findings
    return {(f.place.path, f.place.line, f.rule) for f in found if f.rule == rule.name}


@of_every_runtime_rule
def test_a_live_recording_of_fast_is_silent(rule: Rule, live: Runs) -> None:
    report = diagnose_recording(live(rule, "fast").recording)
    assert [f.message for f in report.findings if f.rule == rule.name] == []


@of_every_rule
def test_fast_is_faster_or_smaller(rule: Rule, live: Runs) -> None:
    """By a margin that one run of each can show; the bench has the ratio and its interval.

    The machine may be busy with something else during one of the two: then both run again.
    """
    pair = [live(rule, name).recording for name in ("slow", "fast")]
    for _ in range(2):
        if _is_better(rule, *pair):
            break
        pair = [
            record([program(rule, name)], cwd=live(rule, name).folder, seed=0, capture=True)[0]
            for name in ("slow", "fast")
        ]
    assert _is_better(rule, *pair)


def _is_better(rule: Rule, slow: Recording, fast: Recording) -> bool:
    if rule.measured == "memory":
        return bool(slow.meta["peak_rss"] > fast.meta["peak_rss"] + 20e6)
    return (loop_seconds(slow) or slow.seconds) > 1.15 * (loop_seconds(fast) or fast.seconds)
