"""A program that is ended, by us or by the user, ends as with Ctrl-C and is still reported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from hotloop.cli import main
from hotloop.model import Place, Recording
from hotloop.record import Limit, record
from hotloop.record.frames import Frames
from hotloop.record.limits import Limits
from hotloop.record.recorder import Recorder
from hotloop.record.track import Track

CLEANS_UP = """\
import atexit, signal, sys, time
atexit.register(print, "last words")
with open("kept.txt", "w") as unflushed:
    unflushed.write("held")
    try:
        for i in range(10 ** 9):
            time.sleep(0.001)
    finally:
        print("cleaned up")
"""
CLEARS_UP = """\
import time
class Thing:
    def __del__(self):
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            pass
for step in range(20):
    thing = Thing()
    del thing
while True:
    time.sleep(0.01)
"""
STUBBORN = """\
import multiprocessing, time
def linger():
    time.sleep(600)
if __name__ == "__main__":
    multiprocessing.get_context("fork").Process(target=linger).start()
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass
"""


def test_a_time_limit_ends_the_program_as_ctrl_c_would_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(CLEANS_UP)
    assert main(["run", "--time-limit", "0.5s", "--format", "json", "--output", "report.json", "program.py"]) == 0
    shown = capfd.readouterr()
    assert shown.out == "cleaned up\nlast words\n"
    assert shown.err == "", "we asked for it: no traceback"
    assert (tmp_path / "kept.txt").read_text() == "held"
    said = " ".join((tmp_path / "report.json").read_text().split())
    assert "The program was stopped after 500 ms, as asked: this is what was seen until then." in said


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(600)\n",
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    pass\n",
        "import sys, signal\nsignal.signal(signal.SIGINT, lambda *_: sys.exit(5))\nwhile True:\n    pass\n",
        CLEARS_UP,
    ],
    ids=["waits", "ignores Ctrl-C", "has its own way to end", "is clearing up"],
)
def test_a_limit_reaches_a_program_that(tmp_path: Path, text: str) -> None:
    (tmp_path / "program.py").write_text(text)
    recording, done = record(["program.py"], cwd=tmp_path, capture=True, limit=Limit(seconds=0.3, grace=60.0))
    assert (done.code, done.stopped, done.stderr) == (0, True, b"")
    assert recording.seconds < 30


def test_a_program_that_will_not_end_is_ended_with_all_it_started(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STUBBORN)
    recording, done = record(["program.py"], cwd=tmp_path, capture=True, limit=Limit(seconds=0.5, grace=1.0))
    assert (done.code, done.stopped) == (0, True)
    assert recording.meta["stopped"] == "after 500 ms, as asked"
    assert recording.loops[0].steps > 1


def test_steps_count_in_the_loop_that_is_meant_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("\n\nfor layer in layers:\n    x = layer(x)\n\n\nfor x in rows:\n    step(x)\n")
    inner, outer = Track(Place("p.py", 3, 0, 4, 0), "for", ""), Track(Place("p.py", 7, 0, 8, 0), "for", "")

    def reached(text: str) -> str:
        recorder = Recorder(tmp_path / "r.json", tmp_path / "p.py", [], Frames(tmp_path / "p.py", tmp_path))
        recorder.tracks += [inner, outer]
        limits = Limits(recorder, seconds=None, steps=50, mark=None, loop=("p.py", text))
        recorder.log.emit("call", stack=(("p.py", 4), ("p.py", 8)))
        recorder.drain()
        try:
            limits.look()
            time.sleep(0.01)  # where a signal arrives
        except KeyboardInterrupt:
            assert recorder.meta["stopped_at"] in limits.reached
        return limits.reached

    inner.steps, outer.steps = 500, 10
    assert reached("for x in rows:") == ""
    assert reached("for row in rows:") == "after 50 steps of the loop at p.py:3, as asked", "there is none: any will do"
    outer.steps = 50
    assert reached("for x in rows:") == "after 50 steps of the loop at p.py:7, as asked"


def test_steps_count_in_loops_in_which_tensorflow_works(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.json", tmp_path / "p.py", [], Frames(tmp_path / "p.py", tmp_path))
    reads, trains = Track(Place("p.py", 3, 0, 5, 0), "for", ""), Track(Place("p.py", 7, 0, 9, 0), "for", "")
    recorder.tracks += [reads, trains]
    limits = Limits(recorder, seconds=None, steps=50, mark=str(tmp_path / "mark"))

    def step(track: Track, count: int) -> None:
        track.ticks.extend(time.perf_counter_ns() for _ in range(count))
        recorder.drain()
        limits.look()
        time.sleep(0.01)  # where a signal arrives

    step(reads, 200)
    step(trains, 200)
    recorder.log.emit("call", stack=(("p.py", 7),))  # in the loop's header: before its first step
    step(trains, 1)
    assert not (tmp_path / "mark").exists()
    recorder.log.emit("call", stack=(("p.py", 30), ("p.py", 8)))
    with pytest.raises(KeyboardInterrupt):
        step(trains, 1)
    assert limits.reached == "after 50 steps of the loop at p.py:7, as asked"
    assert (tmp_path / "mark").exists()
    assert Recording.load(tmp_path / "r.json").meta["stopped"] == limits.reached


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (["--time-limit", "soon"], "`--time-limit soon` is not a time. Write 60s, 5m or 1h."),
        (["--time-limit", "0s"], "`--time-limit 0s` is not a time. Write 60s, 5m or 1h."),
        (["--steps", "0"], "`--steps` is a number of steps: at least 1."),
    ],
)
def test_a_limit_that_is_none_is_one_sentence(
    limit: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.py").write_text("open('ran', 'w')\n")
    assert main(["run", *limit, str(tmp_path / "program.py")]) == 2
    assert capsys.readouterr().err == f"hotloop: {said}\n"


@pytest.mark.parametrize("handled", [False, True], ids=["unhandled", "handled"])
def test_ctrl_c_ends_the_program_as_usual_and_is_still_reported(tmp_path: Path, handled: bool) -> None:
    program = tmp_path / "program.py"
    text = """\
    import sys, time
    print("ready", flush=True)
    try:
        while True:
            time.sleep(0.001)
    except KeyboardInterrupt:
        if HANDLED:
            sys.exit(7)
        raise
    """
    program.write_text(textwrap.dedent(text).replace("HANDLED", str(handled)))

    def interrupted(*command: str) -> tuple[int, str]:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=tmp_path,
            stdout=-1,
            stderr=-1,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # should these tests be in the background
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of the foreground
        _, stderr = process.communicate(timeout=60)
        return process.returncode, stderr.decode()

    code, alone = interrupted("program.py")
    reported, both = interrupted("-m", "hotloop", "run", "program.py")
    assert (code, reported) == ((7, 7) if handled else (-signal.SIGINT, 128 + signal.SIGINT))
    assert both.startswith(f"{alone}hotloop run program.py\n"), "its own traceback, then our report"
    if not handled:
        assert "The program was ended by SIGINT" in both
