"""Recording a program that knows nothing of TensorFlow: its loops are counted and it cannot tell."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hotloop.model import HotloopError, LoopRun, Place, Recording
from hotloop.record import Completed, record
from hotloop.record.track import Track


def write(folder: Path, text: str, name: str = "program.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def recorded(folder: Path, text: str, *args: str) -> tuple[Recording, Completed]:
    program = write(folder, text)
    return record([program.name, *args], capture=True, cwd=folder)


def loop_at(recording: Recording, line: int, path: str = "program.py") -> LoopRun:
    (found,) = [run for run in recording.loops if run.place.path == path and run.place.line == line]
    return found


def test_every_kind_of_loop_is_counted_exactly(tmp_path: Path) -> None:
    recording, completed = recorded(
        tmp_path,
        """\
        def steps(n):
            for i in range(n):
                yield i

        def work(n):
            for i in range(n):
                if i == 5:
                    break
            while n > 0:
                n -= 2
            else:
                n = 1
            return [x for x in range(4) if x % 2]

        for k in range(10):
            work(k)
        total = sum(i * 2 for i in steps(7))
        pairs = {a: b for a in range(3) for b in range(4)}

        class Thing:
            for _ in range(2):
                pass
            def method(self):
                for _ in range(3):
                    return _
        Thing().method()
        for never in ():
            for inner in range(3):
                pass
        print(total, pairs)
        """,
    )
    assert completed.stdout == b"42 {0: 3, 1: 3, 2: 3}\n"
    assert {(run.place.line, run.kind, run.function): (run.runs, run.steps, run.yields) for run in recording.loops} == {
        (2, "for", "steps"): (1, 7, True),
        (6, "for", "work"): (10, sum(min(n, 6) for n in range(10)), False),
        (9, "while", "work"): (10, sum((n + 1) // 2 for n in range(10)), False),
        (13, "comprehension", "work"): (10, 40, False),
        (15, "for", ""): (1, 10, False),
        (17, "comprehension", ""): (1, 7, False),
        (18, "comprehension", ""): (1, 12, False),
        (21, "for", "Thing"): (1, 2, False),
        (24, "for", "Thing.method"): (1, 1, False),
        (27, "for", ""): (1, 0, False),
    }
    assert loop_at(recording, 6).place.end_line == 8


def test_the_times_of_the_steps_add_up_to_the_loop(tmp_path: Path) -> None:
    recording, _ = recorded(
        tmp_path,
        """\
        for step in range(300):
            sum(range(20_000 if step == 200 else 2_000))
        """,
    )
    run = loop_at(recording, 1)
    assert len(run.step_seconds.values) == len(run.clock.values) == 300
    assert sum(run.step_seconds.values) == pytest.approx(run.seconds, rel=0.05)
    assert list(run.clock.values) == sorted(run.clock.values)
    assert run.step_seconds.at == tuple(float(step) for step in range(300))


def test_a_loop_of_a_million_steps_is_kept_small(tmp_path: Path) -> None:
    recording, _ = recorded(tmp_path, "for step in range(1_000_000):\n    pass\n")
    run = loop_at(recording, 1)
    assert run.steps == 1_000_000 if run.counted else 5_000 <= run.steps < 1_000_000
    assert len(run.step_seconds.values) <= 1024
    assert run.step_seconds.at[-1] < 1_000_000
    assert float(recording.meta["peak_rss"]) < 400e6


def test_a_loop_that_enters_itself_is_counted_once_in_seconds(tmp_path: Path) -> None:
    recording, _ = recorded(
        tmp_path,
        """\
        def down(n):
            for _ in range(2):
                if n:
                    down(n - 1)
        down(6)
        """,
    )
    run = loop_at(recording, 2)
    assert (run.runs, run.steps) == (2**7 - 1, 2**8 - 2)
    assert run.seconds <= recording.seconds


def test_the_users_other_modules_are_counted_and_libraries_are_not(tmp_path: Path) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    write(package, "from mine.deep import work\n", "__init__.py")
    write(package, "def work():\n    for _ in range(4):\n        pass\n", "deep.py")
    library = tmp_path / "site-packages"
    library.mkdir()
    write(library, "def work():\n    for _ in range(4):\n        pass\n", "theirs.py")
    recording, completed = recorded(
        tmp_path,
        """\
        import sys
        sys.path.append("site-packages")
        import mine, theirs
        mine.work()
        theirs.work()
        """,
    )
    assert completed.code == 0
    assert [(run.place.path, run.steps) for run in recording.loops] == [("mine/deep.py", 4)]
    assert not list(package.rglob("deep.*.pyc")), "code with ticks must never reach the bytecode cache"


LOOKS_AROUND = """\
\"\"\"Its own docstring.\"\"\"
from __future__ import annotations
import atexit, inspect, multiprocessing, os, pickle, subprocess, sys, threading, warnings
START = sorted(globals())

class Thing:
    pass

def squares(n: int) -> list[int]:
    found = []
    for i in range(n):
        found.append(i * i)
    return found

def put(queue):
    queue.put([x for x in squares(3)])

if __name__ == "__main__":
    atexit.register(print, "last words")
    print(__doc__, __name__, __file__, __spec__, __package__, START, sys.argv, sys.path[0], sys.orig_argv[1:])
    print(type(__loader__).__name__, __builtins__ is sys.modules["builtins"])
    print(globals() is vars(sys.modules["__main__"]))
    print(squares.__annotations__, inspect.getsource(squares), threading.active_count(), len(warnings.filters))
    print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, sys.stdin.read(), sorted(os.environ))
    for how in ("fork", "spawn"):
        context = multiprocessing.get_context(how)
        queue = context.Queue()
        process = context.Process(target=put, args=(queue,))
        process.start()
        print(how, queue.get(), process.join(), process.exitcode)
    pid = os.fork()
    if not pid:
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    ask = "import sys; print('hotloop' in sys.modules)"
    print(subprocess.run([sys.executable, "-c", ask], capture_output=True).stdout)
    warnings.warn("careful")
    for i in range(3):
        [1 for _ in range(2)]
        if i == 2: raise ValueError(
            "the end")
"""


def plain(program: Path, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, program.name, *args]
    return subprocess.run(command, cwd=program.parent, input=stdin, capture_output=True, check=False)


def through_the_command(program: Path, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The streams untouched: a process around `record` stands where a terminal would."""
    code = "import sys; from hotloop.record import record; sys.exit(record(sys.argv[1:])[1].code)"
    command = [sys.executable, "-c", code, program.name, *args]
    return subprocess.run(command, cwd=program.parent, input=stdin, capture_output=True, check=False)


def test_a_program_that_looks_around_cannot_tell(tmp_path: Path) -> None:
    program = write(tmp_path, LOOKS_AROUND)
    expected = plain(program, "--flag", "a b", stdin=b"typed")
    seen = through_the_command(program, "--flag", "a b", stdin=b"typed")
    assert seen.stdout.decode() == expected.stdout.decode()
    assert seen.stderr.decode() == expected.stderr.decode()
    assert b"ValueError: the end" in seen.stderr
    assert seen.returncode == expected.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py"]


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit()",
        "sys.exit(3)",
        "sys.exit('said why')",
        "os._exit(4)",
        "raise KeyboardInterrupt",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "raise RuntimeError('b') from ValueError('a')",
        "sys.excepthook = lambda *error: print(error[0], error[2].tb_frame.f_code.co_name)\n1 / 0",
        "import json\njson.loads('{')",
        "import broken",
        "this is not python",
    ],
)
def test_however_a_program_ends_it_ends_as_it_would_alone(tmp_path: Path, ending: str) -> None:
    write(tmp_path, "x = = 1\n", "broken.py")
    program = write(tmp_path, f"import os, signal, sys\nfor _ in range(2):\n    print(_, flush=True)\n{ending}\n")
    expected = plain(program)
    recording, seen = record([program.name], capture=True, cwd=tmp_path)
    assert (seen.code, seen.stdout) == (expected.returncode, expected.stdout)
    assert seen.stderr.decode() == expected.stderr.decode()
    if expected.returncode < 0:
        assert recording.exit.signal == -expected.returncode
    else:
        assert recording.exit.code == expected.returncode


def test_a_killed_program_leaves_a_recording(tmp_path: Path) -> None:
    recording, completed = recorded(
        tmp_path,
        """\
        import os, time
        start = time.monotonic()
        while True:
            if time.monotonic() > start + 1.0:
                os.kill(os.getpid(), 9)
        """,
    )
    assert completed.code == -signal.SIGKILL
    assert recording.exit.signal == signal.SIGKILL
    assert loop_at(recording, 3).steps > 100


def test_a_thread_that_outlives_the_program_is_counted(tmp_path: Path) -> None:
    recording, _ = recorded(
        tmp_path,
        """\
        import threading
        def work():
            threading.main_thread().join()
            for _ in range(50):
                pass
        threading.Thread(target=work).start()
        """,
    )
    assert loop_at(recording, 4).steps == 50


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("absent.py", None, "there is no file `absent.py`"),
        ("folder", "dir", "is a directory"),
        ("program.pyc", b"\x00\x01", "is not Python source"),
        ("notebook.ipynb", b"{}", "is not Python source"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(tmp_path: Path, name: str, content: object, says: str) -> None:
    if content == "dir":
        (tmp_path / name).mkdir()
    elif isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(HotloopError, match=says) as error:
        record([name], cwd=tmp_path)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


def test_a_program_elsewhere_is_shown_relative_to_its_own_folder(tmp_path: Path) -> None:
    program = write(tmp_path, "for _ in range(2):\n    pass\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    recording, _ = record([str(program)], capture=True, cwd=elsewhere)
    assert recording.meta["program"] == "program.py"
    assert recording.meta["root"] == str(tmp_path)
    assert loop_at(recording, 1).steps == 2


def test_the_recording_stays_where_it_was_asked_for(tmp_path: Path) -> None:
    program = write(tmp_path, "for _ in range(2):\n    pass\n")
    kept = tmp_path / "kept.json.gz"
    recording, _ = record([str(program)], capture=True, recording=kept)
    assert Recording.load(kept) == recording


def test_samples_hold_all_the_time_and_name_the_users_lines(tmp_path: Path) -> None:
    recording, _ = recorded(
        tmp_path,
        """\
        import json, time
        start = time.monotonic()
        def busy():
            while time.monotonic() < start + 0.3:
                sum(range(100))
        def library():
            while time.monotonic() < start + 0.6:
                json.dumps(list(range(2000)), indent=1)
        busy()
        library()
        """,
    )
    by_phase: dict[str, float] = {}
    for sample in recording.samples:
        by_phase[sample.phase] = by_phase.get(sample.phase, 0.0) + sample.seconds
    assert sum(by_phase.values()) == pytest.approx(recording.seconds, rel=0.2)
    assert set(by_phase) == {"python", "library"}
    outer = {sample.stack[-1].line for sample in recording.samples if sample.stack}
    assert outer >= {9, 10}
    assert len(recording.memory.values) > 3
    without, _ = record(["program.py"], capture=True, cwd=tmp_path, sample=False)
    assert not without.samples
    assert [run.place for run in without.loops] == [run.place for run in recording.loops]


def test_code_that_others_compile_from_its_bytecode_is_left_alone(tmp_path: Path) -> None:
    recording, completed = recorded(
        tmp_path,
        """\
        import marshal
        def njit(function):
            marshal.dumps(function.__code__)
            return function
        @njit
        def fast(n):
            for i in range(n):
                pass
        fast(3)
        marshal.dumps((lambda n: [i for i in range(n)]).__code__)
        """,
    )
    assert completed.code == 0, completed.stderr
    assert not recording.loops


def test_symbols_that_moved_cost_a_sentence_each_and_nothing_else(tmp_path: Path) -> None:
    fake = tmp_path / "tensorflow"
    fake.mkdir()
    write(fake, "__version__ = '9.0'\n", "__init__.py")
    recording, completed = recorded(
        tmp_path, "import tensorflow\nfor _ in range(3):\n    print(tensorflow.__version__)\n"
    )
    assert (completed.code, completed.stdout, completed.stderr) == (0, b"9.0\n" * 3, b"")
    assert loop_at(recording, 2).steps == 3
    assert recording.meta["tensorflow"] == "9.0"
    unseen = recording.meta["unseen"]
    assert any("traces" in sentence for sentence in unseen)
    assert any("sessions" in sentence for sentence in unseen)
    assert len(unseen) == len(set(unseen)) < 25


def tight_track(pace: int = 100) -> tuple[Track, int]:
    """A loop that was entered at 1,000, with as many ticks as show its pace; and its last tick."""
    track = Track(Place("p.py", 3, 0, 5, 0), "for", "")
    track.marks.append(1_000)
    track.ticks.extend(range(2_000, 2_000 + pace * 10_000, pace))
    last = track.ticks[-1]
    track.drain(last)
    return track, last


def test_a_tight_loop_is_not_counted_to_the_end_and_says_so() -> None:
    track, last = tight_track()
    assert track.resting
    track.marks.append(-(last + 100_000_000))
    track.drain(last + 200_000_000)
    run = track.loop_run(0, last)
    assert (run.steps, run.counted) == (10_000, False)
    assert run.seconds == pytest.approx((last + 100_000_000 - 1_000) / 1e9)
    assert max(run.step_seconds.values) == pytest.approx(100e-9)


def test_a_loop_that_does_something_is_counted_step_by_step() -> None:
    track, last = tight_track(pace=5_000)
    assert not track.resting
    assert track.loop_run(0, last).counted


def test_a_tight_loop_is_counted_again_after_a_while_and_as_soon_as_tensorflow_works_inside_it() -> None:
    track, last = tight_track()
    assert not track.wake(last + 1)
    assert not track.wake(last + 1, (("p.py", 9), ("other.py", 4)))
    assert track.wake(last + 1, (("p.py", 4),))
    track, last = tight_track()
    assert track.wake(last + 3_000_000_000)
    track.ticks.extend(range(last + 3_000_000_000, last + 3_010_000_000, 1_000_000))
    track.drain(last + 3_100_000_000)
    assert track.steps == 10_010
    assert max(track.loop_run(0, last).step_seconds.values) == pytest.approx(1e-3)


def test_a_loop_that_proves_tight_again_rests_twice_as_long() -> None:
    track, last = tight_track()
    again = last + 3_000_000_000
    assert track.wake(again)
    track.ticks.extend(range(again, again + 1_000_000, 100))
    track.drain(again + 1_000_000)
    assert not track.wake(again + 3_000_000_000)
    assert track.wake(again + 5_000_000_000)
