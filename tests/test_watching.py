"""`hotloop.watch()` where there is no TensorFlow: loaded when asked for, cells by their number, loops from events."""

from __future__ import annotations

import linecache
import subprocess
import sys
import types
from pathlib import Path

import pytest

import hotloop
from hotloop.diagnose import diagnose
from hotloop.model import Event, HotloopError, Place, Recording, Sample
from hotloop.record.frames import Frames
from hotloop.record.guessed import with_guessed_loops
from hotloop.record.log import Log

CELL = "/tmp/ipykernel_7/42.py"
TEXT = """\
for epoch in range(3):
    for x in data:
        step(x)
    model.evaluate(data)
[model.predict(x) for x in rows]
for x in step(first): pass
"""


def test_importing_hotloop_loads_nothing() -> None:
    ask = "import sys; before = len(sys.modules); import hotloop; print(len(sys.modules) - before); hotloop.watch"
    assert int(subprocess.check_output([sys.executable, "-c", ask])) <= 4
    with pytest.raises(AttributeError, match="no attribute 'wash'"):
        hotloop.wash  # noqa: B018


def happened(kind: str, line: int, count: int, *outer: int) -> Event:
    return Event(kind, tuple(Place("In[3]", number) for number in (line, *outer)), count=count, first=0.5)


def test_steps_are_told_from_what_happens_once_in_each() -> None:
    linecache.cache[CELL] = (len(TEXT), None, TEXT.splitlines(keepends=True), CELL)
    recording = Recording(
        {"root": "/nowhere"},
        events=(
            happened("call", 3, 30),
            happened("input", 2, 30),
            happened("ops", 3, 900),  # several whenever the line is run
            happened("evaluate", 4, 3),
            happened("predict", 5, 20),
            happened("call", 6, 1),
        ),
        samples=(Sample("compute", (Place("In[3]", 3),), 2.0), Sample("python", (Place("In[3]", 5),), 1.0)),
    )
    loops = {run.place.line: run for run in with_guessed_loops(recording, {"In[3]": CELL}).loops}
    assert {line: (run.kind, run.steps) for line, run in loops.items()} == {
        1: ("for", 3),
        2: ("for", 30),
        5: ("comprehension", 20),
        6: ("for", 1),
    }
    assert loops[1].seconds == loops[2].seconds == 2.0
    assert loops[2].clock.values == (0.5,)


def test_times_of_steps_are_told_from_when_it_happened_unless_other_work_lay_between() -> None:
    linecache.cache[CELL] = (len(TEXT), None, TEXT.splitlines(keepends=True), CELL)
    log = Log(Frames(Path("/nowhere/main.py"), Path("/nowhere")), 0)
    tally, clock = log.tally("call", "", (("In[3]", 3),)), 0.0
    log.now = lambda: clock  # type: ignore[method-assign]
    for step in range(1000):
        tally.add(0.0)
        clock += 0.001 * (1 + step / 500)
    for seconds, known in ((clock, True), (clock / 3, False)):
        samples = (Sample("compute", (Place("In[3]", 3),), seconds),)
        recording = Recording({"root": "/nowhere"}, events=log.events(), samples=samples)
        found = with_guessed_loops(recording, {"In[3]": CELL})
        (run,) = found.loops
        assert run.steps == 1000
        assert bool(len(run.step_seconds.at) > 30) == known
        assert [s.kind for s in diagnose(found, []).symptoms] == (["degrading"] if known else [])
        if known:
            assert run.step_seconds.at[1] == 16.0
            assert run.step_seconds.values[-1] == pytest.approx(0.003, rel=0.05)


def test_a_cell_is_shown_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(_filename_map={CELL: 3}))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    text = "with watch() as w:\n    until = clock() + 0.3\n    while clock() < until:\n        pass\n"
    names = {"watch": hotloop.watch, "clock": __import__("time").perf_counter}
    exec(compile(text, CELL, "exec"), names)
    seen = names["w"].recording
    assert {frame.path for sample in seen.samples for frame in sample.stack} == {"In[3]"}
    assert seen.meta["unseen"][-1].startswith("Watched from inside")


def test_what_was_never_watched_has_nothing_to_report() -> None:
    with pytest.raises(HotloopError, match="nothing was watched yet"):
        hotloop.watch().report()
