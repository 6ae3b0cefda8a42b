"""The recorder's own thread: it looks and gathers beside the program, and never stands in its way."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import pytest

from hotloop.model import Place
from hotloop.record.frames import Frames
from hotloop.record.phases import Phases
from hotloop.record.recorder import Recorder
from hotloop.record.track import Track

# Garbage with a `threading.local` in it, as every tf.Graph leaves, while another thread looks as often as it can.
LITTERS = """
import sys, _thread, threading, time
from hotloop.garbage import collection_off
from hotloop.record.threads import Threads

threads, looks = Threads(), 0
watched = threads.current()

def look():
    global looks
    while True:
        with collection_off():
            assert {watched, threads.current()} <= set(threads.all())
            frame = threads.frame(watched)
            while frame is not None:
                frame = frame.f_back
        looks += 1
        time.sleep(0)  # a thread that never lets go would leave the other no turn

class Node: ...

def litter(depth):
    if depth:
        litter(depth - 1)
    else:
        node = Node()
        node.itself, node.local = node, threading.local()
        node.local.value = 1

sys.setswitchinterval(1e-5)
_thread.start_new_thread(look, ())
while looks < 8_000:
    litter(20)
"""


def test_looking_at_a_thread_that_leaves_garbage_does_not_hang() -> None:
    subprocess.run([sys.executable, "-c", LITTERS], check=True, timeout=120)


def test_gathering_from_two_threads_loses_no_step(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "recording.json", tmp_path / "p.py", [], Frames(tmp_path / "p.py", tmp_path))
    track = Track(Place("p.py", 1), "for", "")
    recorder.tracks.append(track)
    failures: list[Exception] = []
    done = threading.Event()

    def gather() -> None:
        while not done.is_set():
            try:
                recorder.drain()
            except Exception as error:  # noqa: BLE001  any is a failure
                failures.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=gather) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(40):
            track.marks.append(perf_counter_ns())
            for _ in range(500):
                track.ticks.append(perf_counter_ns())
            track.marks.append(-perf_counter_ns())
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    recorder.drain()
    assert failures == []
    assert (track.runs, track.steps) == (40, 20_000)


@pytest.mark.parametrize(("owner", "phase"), [("BaseSession", "setup"), ("_FetchHandler", "library")])
def test_only_making_a_session_is_setting_it_up_not_what_each_run_makes(owner: str, phase: str, tmp_path: Path) -> None:
    text = f"class {owner}:\n    def __init__(self, look):\n        look()\n"
    names: dict[str, Any] = {}
    exec(compile(text, "/lib/site-packages/tensorflow/python/client/session.py", "exec"), names)
    seen: list[str] = []
    phases = Phases(Frames(tmp_path / "train.py", tmp_path))
    names[owner](lambda: seen.append(phases.read(sys._getframe(1), "")[0]))
    assert seen == [phase]
