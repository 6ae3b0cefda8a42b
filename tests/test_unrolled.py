"""How often a loop went round that a trace has written out, from the operations of its graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from hotloop.record.frames import Frames
from hotloop.record.probes.unrolled import loop_in


@dataclass(frozen=True)
class Frame:
    filename: str
    lineno: int
    name: str


@dataclass(frozen=True)
class Operation:
    type: str
    traceback: tuple[Frame, ...]
    name: str = "op"


@dataclass(frozen=True)
class Graph:
    operations: tuple[Operation, ...]

    def get_operations(self) -> tuple[Operation, ...]:
        return self.operations


@pytest.mark.parametrize(("rounds", "each"), [(5, 4000), (40, 500), (3000, 4)])
def test_rounds_are_counted_whatever_a_round_is_made_of(tmp_path: Path, rounds: int, each: int) -> None:
    program = tmp_path / "p.py"
    program.write_text("")
    looping = (Frame(str(program), 3, "train"), Frame("autograph.py", 1, "_py_for_stmt"))

    def made(kind: str, line: int) -> Operation:
        return Operation(kind, (*looping, Frame(str(program), line, "body")))

    body = [made("RandomUniform", 5), made("Sqrt", 6), *(made(f"Kind{i % 7}", 7 + i % 9) for i in range(each))]
    graph = Graph((*rounds * body, *30 * [made("Placeholder", 5)]))
    found = loop_in(graph, Frames(program, tmp_path))
    assert found is not None
    assert found["loop"] == "p.py:3"
    assert found["times"] == pytest.approx(rounds, rel=0.5)
