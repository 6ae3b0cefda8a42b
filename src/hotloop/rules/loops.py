"""What every rule asks of a piece of code: in which loop does it run, how hot is that, and how to say so."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from hotloop.model import Confidence, Place
from hotloop.rules.timing import is_dialogue, is_timing
from hotloop.source.heat import Heat, heat, hottest
from hotloop.source.module import Call, Context, Loop
from hotloop.source.project import Project, Running

FAR = 2


@dataclass(frozen=True)
class InLoop:
    loop: Loop
    chain: tuple[Call, ...]
    heat: Heat
    confidence: Confidence

    @property
    def where(self) -> dict[str, object]:
        """The finding's own fields that say where it runs."""
        return {
            "basis": "static",
            "confidence": self.confidence,
            "loop": self.loop.place,
            "chain": tuple(call.place for call in self.chain),
        }

    def lowered(self) -> InLoop:
        """Less sure by one."""
        lower: dict[Confidence, Confidence] = {"high": "medium", "medium": "low", "low": "low"}
        return InLoop(self.loop, self.chain, self.heat, lower[self.confidence])


def in_loop(project: Project, where: Context, at_times: bool = False) -> InLoop | None:
    """The hottest loop that code runs in, be it `at_times`; None where it runs in none, or while TensorFlow traces."""
    if project.traced(where):
        return None
    found = hottest(where, project, at_times)
    return _judged(project, where, *found) if found else None


def in_loops(project: Project, where: Context) -> list[InLoop]:
    """Every way that code runs in loops, the hottest first: what one caller needs may be another's mistake."""
    return [found for _, found in ways(project, where)]


def ways(project: Project, where: Context) -> list[tuple[Running, InLoop]]:
    """The same, each with all of its loops."""
    if project.traced(where):
        return []
    found = [(running, _judged(project, where, *heat(running, project))) for running in project.running(where)]
    return sorted(found, key=lambda one: (("hot", "warm", "cold").index(one[1].heat), len(one[1].chain)))


def _judged(project: Project, where: Context, heat: Heat, loop: Loop, chain: tuple[Call, ...]) -> InLoop:
    confidence: Confidence = {"hot": "high", "warm": "medium", "cold": "low"}[heat]  # type: ignore[assignment]
    modules = [where.scope.module, loop.where.scope.module]
    aside = any(m.is_test or m.is_benchmark for m in modules) or _in_test(where) or _in_test(loop.where)
    if aside or is_timing(where, loop, project) or is_dialogue(loop):
        confidence = "low"
    found_here = InLoop(loop, chain, heat, confidence)
    # A loop many calls away mostly repeats a whole job, and the job has its own loops.
    return found_here.lowered() if len(chain) > FAR else found_here


def outside_loops(where: Context, confidence: Confidence) -> dict[str, object]:
    """The finding's own fields for a rule that asks about no loop: as sure as it says, less so in tests."""
    aside = where.scope.module.is_test or where.scope.module.is_benchmark or _in_test(where)
    return {"basis": "static", "confidence": "low" if aside else confidence}


def _in_test(where: Context) -> bool:
    scope = where.scope
    while scope is not None:
        if scope.name.startswith(("test_", "bench", "Test")):
            return True
        scope = scope.parent  # type: ignore[assignment]
    return False


def each(found: InLoop, place: Place) -> str:
    """`in every step of the loop over `paths``, with the loop's place where it is elsewhere."""
    node = found.loop.node
    if isinstance(node, ast.While):
        name = "the `while` loop"
    elif found.loop.iterable is not None:
        text = ast.unparse(found.loop.iterable)
        name = f"the loop over `{text if len(text) <= 40 else text[:37] + '...'}`"
    else:
        name = "the loop"
    at = found.loop.place
    elsewhere = f" at {at}" if found.chain or at.path != place.path else f" on line {at.line}"
    return f"in every step of {name}{elsewhere}"
