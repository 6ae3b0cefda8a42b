"""`--live` tells somebody at a terminal how the program is doing, and disturbs neither it nor its output."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from recordings import loop, memory, recording

from hotloop.report.live import line

# Runs until it has been saved at least twice, however fast the machine is.
PROGRAM = """
import os, time
began = time.monotonic()
for step in range(10**9):
    sum(range(20_000))
    if time.monotonic() - began > 3:
        break
print("the answer")
"""


def test_the_line_names_the_loop_that_steps_most_and_what_it_takes_now() -> None:
    outer, inner = loop(3, 9, [10.0] * 3), loop(5, 8, [0.1] * 200 + [0.2] * 100)
    said = line(recording([outer, inner], rss=memory(40.0, lambda t: 4e8)), 42.0)
    assert re.fullmatch(r"hotloop 42\.0 s · train\.py:5 · 300 steps · 200 ms per step [▁-█]+ · 400 MB", said)


def test_before_any_loop_it_says_so() -> None:
    assert line(recording(), 1.5) == "hotloop 1.50 s · no loop yet"


@pytest.mark.parametrize("option", [["--live"], []], ids=["asked for", "not asked for"])
def test_the_line_shows_at_a_terminal_alone_and_leaves_stdout_as_it_is(option: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ours, theirs = pty.openpty()
    seen: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, seen))
    reader.start()
    command = [sys.executable, "-m", "hotloop", "run", *option, "program.py"]
    environment = {**os.environ, "TERM": "xterm", "HOTLOOP_HOME": str(tmp_path / "home")}
    set_size = f"stty rows 30 cols 100 <{os.ttyname(theirs)}"
    subprocess.run(["sh", "-c", set_size], check=True)
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env=environment, timeout=100)
    os.close(theirs)
    reader.join()
    shown = b"".join(seen).decode()
    assert (done.returncode, done.stdout) == (0, b"the answer\n")
    lines = re.findall(r"\x1b\[30;1H\x1b\[2K\x1b\[2m([^\x1b]*)", shown)
    assert any(re.search(r"program\.py:4 · [\d,]+ steps · .* per step", said) for said in lines) is bool(option)
    assert ("\x1b[r" in shown) is bool(option)  # the terminal is whole again
    assert "hotloop run program.py" in shown.rpartition("\x1b[r")[2]


def test_nobody_at_a_terminal_sees_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("for i in range(9):\n    print(i)\n")
    command = [sys.executable, "-m", "hotloop", "run", "--live", "program.py"]
    environment = {**os.environ, "HOTLOOP_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=100)
    assert done.stdout == "".join(f"{i}\n" for i in range(9))
    assert "\x1b" not in done.stderr


def _read(ours: int, seen: list[bytes]) -> None:
    try:
        while data := os.read(ours, 65536):
            seen.append(data)
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
