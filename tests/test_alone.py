"""Signals, threads, pools and coroutines of a recorded program are what they are when it runs alone."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hotloop.record import record

PROGRAM = """\
import asyncio, atexit, concurrent.futures, multiprocessing, os, signal, sys, threading, time
hits = []
for number in (signal.SIGUSR1, signal.SIGALRM):
    signal.signal(number, lambda number, frame: hits.append(number))

def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

async def numbers(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i

async def gather(n):
    return [x async for x in numbers(n)]

def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)

if __name__ == "__main__":
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    time.sleep(0.1)
    print(hits, signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGPIPE))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(list(pool.map(work, [10, 100, 1000])))
    for how in ("fork", "forkserver"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            print(how, pool.map(work, [10, 20, 30]))
    print(asyncio.run(gather(5)), threading.active_count(), threading.enumerate())
    print(sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.getswitchinterval(), sys.flags)
    atexit.register(lambda: print("bye", threading.active_count()))
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread", work(5)))).start()
    try:
        print(deep(900), deep(10 ** 6))
    except RecursionError as error:
        print(error)
    sys.stdout.flush()
    if "abort" in sys.argv:
        time.sleep(1.5)  # longer than it takes for all until now to be saved
        os.abort()
    sys.exit(3)
"""


def without_addresses(text: bytes) -> str:
    return re.sub(r"0x[0-9a-f]+|\b\d{9,}\b", "", text.decode())


def test_a_program_begun_in_the_background_still_does_not_hear_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import signal; print(signal.getsignal(signal.SIGINT))", encoding="utf-8")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _, seen = record(["program.py"], cwd=tmp_path, capture=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen.stdout.split() == [b"%d" % signal.SIG_IGN]


@pytest.mark.parametrize("argument", ["exit", "abort"])
def test_a_busy_program_is_as_it_is_alone(tmp_path: Path, argument: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "program.py", argument]
    alone = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    recording, seen = record(["program.py", argument], cwd=tmp_path, capture=True)
    assert without_addresses(seen.stdout) == without_addresses(alone.stdout)
    assert without_addresses(seen.stderr) == without_addresses(alone.stderr)
    assert seen.code == alone.returncode
    assert (recording.exit.code, recording.exit.signal) == ((3, None) if argument == "exit" else (None, 6))
    steps = {run.place.line: run.steps for run in recording.loops}
    assert steps[8] >= 1110, "in this process alone"
