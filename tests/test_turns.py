"""The recorder's turn at the interpreter's lock comes soon; the program reads and keeps its own interval."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hotloop.record import record
from hotloop.record.turns import SOON, Turns, give_back

PROGRAM = """
import sys, time

def short(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total

spent = 0
for step in range(300):
    began = time.perf_counter()
    short(80_000)
    spent += time.perf_counter() - began
    time.sleep(0.002)
print(spent, sys.getswitchinterval())
sys.setswitchinterval(0.25)
print(sys.getswitchinterval(), sys.getswitchinterval.__name__, sys.setswitchinterval.__module__)
"""


# In a process of its own: a test runner has threads.
ALONE = """
import sys, threading
from hotloop.record.turns import SOON, Turns

def in_between():
    seen = []
    def acquire(seconds):
        seen.append(sys.getswitchinterval())
        return False
    turns.wait(acquire, 0.0)
    return seen[0]

turns, own = Turns(), sys.getswitchinterval()
assert abs(in_between() - SOON) < 1e-9
rests = threading.Thread(target=(wakes := threading.Event()).wait)
rests.start()
assert abs(in_between() - SOON) < 1e-9, "a thread that waits for something else wants no turn"
wakes.set()
rests.join()
done = False

def work():
    while not done:
        pass

works = threading.Thread(target=work)
works.start()
assert in_between() == own
done = True
works.join()
assert in_between() == own, "and for a while after"
assert sys.getswitchinterval() == own
"""


def test_python_between_two_waits_is_seen_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    found, done = record(["program.py"], cwd=tmp_path, capture=True)
    spent, interval, *rest = done.stdout.decode().split()
    assert (interval, rest) == ("0.005", ["0.25", "getswitchinterval", "sys"])
    seen = sum(sample.seconds for sample in found.samples if sample.stack and 4 <= sample.stack[0].line <= 8)
    assert seen > 0.1 * float(spent)


def test_the_interval_is_short_only_while_nobody_else_works() -> None:
    subprocess.run([sys.executable, "-c", ALONE], check=True, timeout=60)


def test_the_program_has_its_own_interval_back_where_we_are_gone() -> None:
    turns, own = Turns(), sys.getswitchinterval()
    sys.setswitchinterval(SOON)
    try:
        give_back()
        assert sys.getswitchinterval() == own
    finally:
        sys.setswitchinterval(own)
    undo = turns.hide()
    sys.setswitchinterval(0.25)
    assert sys.getswitchinterval() == 0.25
    undo()
    assert sys.getswitchinterval() == 0.25
    sys.setswitchinterval(own)
