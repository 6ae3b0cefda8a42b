"""What goes wrong around a run is one clear sentence: in the program, in the recording, on the disk."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hotloop.cli import main
from hotloop.model import RECORDING_VERSION, Recording, to_plain
from hotloop.settings import last_recording, latest_recording

LOOP = "for i in range(3):\n    pass\nprint('done')\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(LOOP)
    return tmp_path


def notes(folder: Path, text: str) -> tuple[int, list[str]]:
    (folder / "program.py").write_text(text)
    code = main(["run", "--format", "json", "--output", "report.json", "program.py"])
    return code, json.loads((folder / "report.json").read_text())["notes"]


def test_a_program_without_tensorflow_is_told_so(folder: Path) -> None:
    code, said = notes(folder, LOOP)
    assert code == 0
    assert said[0] == "The program did not import TensorFlow or Keras: only its loops were measured."


def test_a_program_without_loops_is_told_so(folder: Path) -> None:
    code, said = notes(folder, "print(1)\n")
    assert code == 0
    assert "No loop of the program's own ran, and none of Keras." in said


def test_a_tensorflow_that_nobody_knows_is_reported_as_far_as_it_can_be_seen(folder: Path) -> None:
    (folder / "tensorflow.py").write_text("__version__ = '9.0.1'\n")
    code, said = notes(folder, "import tensorflow\n" + LOOP)
    assert code == 0
    assert said[0] == "This is TensorFlow 9.0.1, and hotloop knows 2.12 to 2.21: it reports what it can still see."
    assert any(sentence.startswith("Not visible in this version of TensorFlow: sessions") for sentence in said)


def test_where_tensorflow_is_missing_the_report_says_what_to_do(folder: Path) -> None:
    # A finder that knows no TensorFlow stands for an environment without it.
    hide = "import sys\nsys.modules['tensorflow'] = None\n"
    hidden = "try:\n    import tensorflow\nexcept ImportError:\n    pass\n"
    missing = "raise ModuleNotFoundError(\"No module named 'tensorflow'\", name='tensorflow')\n"
    assert notes(folder, hide + hidden)[0] == 0, "a program that can do without goes on"
    code, said = notes(folder, missing)
    assert code == 1
    assert "TensorFlow is not installed in the Python that ran the program: install it there, and run again." in said
    assert not [sentence for sentence in said if "did not import" in sentence]


def test_a_program_that_leaves_at_once_is_told_so(folder: Path) -> None:
    code, said = notes(folder, "import os\nfor i in range(3):\n    pass\nos._exit(4)\n")
    assert code == 4
    assert said[0].startswith("The program ended at once, or its last words could not be kept")


GOOD = json.dumps(to_plain(Recording({"program": "p.py", "root": "."}))).encode()
ZIPPED = gzip.compress(GOOD, mtime=0)  # the ids of the tests below are made of these bytes: the same in every process


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (GOOD.replace(b'"version": %d' % RECORDING_VERSION, b'"version": 99'), "has recording version 99"),
        (GOOD[: len(GOOD) // 2], "is damaged"),
        (ZIPPED[:40], "is damaged"),
        (ZIPPED[:20] + bytes(60), "is damaged"),
        (b"", "is damaged"),
        (b"\x1f\x8b", "is damaged"),
        (b"\xff\xfe\x00", "is damaged"),
        (b"[]", "has recording version None"),
        (GOOD.replace(b'"loops": []', b'"loops": [7]'), "is damaged"),
        (GOOD.replace(b'"loops": []', b'"loops": {"a": 1}'), "is damaged"),
        (GOOD.replace(b'"loops": []', b'"hoops": []'), "is damaged"),
    ],
)
def test_a_recording_that_cannot_be_read_is_one_sentence(
    data: bytes, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "old.json.gz").write_bytes(data)
    assert main(["report", "old.json.gz"]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.endswith("Record again.\n")
    assert shown.count("\n") == 1


@pytest.mark.parametrize("option", ["--html", "--output", "--recording"])
@pytest.mark.parametrize(("path", "why"), [("none/x", "there is no folder"), (".", "it is a directory")])
def test_what_cannot_be_written_is_said_before_the_program_runs(
    option: str, path: str, why: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", option, path, "program.py"]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"hotloop: cannot write {path}: {why}")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--html", "--output"])
def test_a_disk_that_is_full_in_the_end_does_not_cost_the_report(
    option: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", option, "/dev/full", "program.py"]) == 2
    shown = capfd.readouterr()
    assert shown.out == "done\n"
    assert shown.err.startswith("hotloop: cannot write /dev/full: No space left on device\nhotloop run program.py\n")


def without_room(size: int, *command: str) -> subprocess.CompletedProcess[str]:
    """No file may grow beyond `size`: to whoever writes one, that is a full disk."""
    return subprocess.run(
        [sys.executable, "-m", "hotloop", *command],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


@pytest.mark.parametrize(
    ("size", "ran", "said"),
    [
        (0, "", "there is no folder to record into: No usable temporary directory found in "),
        (100, "done\n", "the recording could not be written to "),
    ],
    ids=["full from the start", "filled up meanwhile"],
)
def test_where_nothing_can_be_recorded_one_sentence_says_why(folder: Path, size: int, ran: str, said: str) -> None:
    done = without_room(size, "run", "program.py")
    assert (done.returncode, done.stdout) == (2, ran)
    assert done.stderr.startswith(f"hotloop: {said}")
    assert "TMPDIR" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_recording_that_cannot_be_kept_is_a_note_and_leaves_no_half_of_one(folder: Path) -> None:
    (folder / "program.py").write_text("import os\n" + LOOP)
    kept = last_recording(folder)
    kept.parent.mkdir(parents=True)
    kept.with_name(kept.name + ".tmp").mkdir()  # stands in the way of a new one
    done = without_room(1 << 20, "run", "program.py")
    assert done.returncode == 0
    assert "The recording could not be kept at" in " ".join(done.stderr.split())


def test_a_program_is_ended_with_whoever_runs_it_and_is_reported_all_the_same(folder: Path) -> None:
    (folder / "program.py").write_text(
        "import time\nfor i in range(10**6):\n    print(i, flush=True)\n    time.sleep(0.01)\n"
    )
    command = [sys.executable, "-m", "hotloop", "run", "--format", "json", "--output", "report.json", "program.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"0\n"
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()  # to the end: of whoever else could write
    assert process.returncode == 128 + signal.SIGTERM
    assert len(rest.splitlines()) < 10**6 - 1
    said = json.loads((folder / "report.json").read_text())["notes"]
    assert any("ended by SIGTERM" in sentence for sentence in said)


def test_what_was_seen_is_found_though_everything_was_killed(folder: Path) -> None:
    """As a cluster does that has lost its patience, or a kernel its memory."""
    main(["run", "program.py"])
    (folder / "long.py").write_text("import time\nprint('up', flush=True)\nwhile True:\n    time.sleep(0.001)\n")
    command = [sys.executable, "-m", "hotloop", "run", "long.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert latest_recording(folder) == last_recording(folder), "while it runs, there is none but the last"
        recording = next(Path(word.read_text()) for word in last_recording(folder).parent.glob("unfinished-*"))
        while not (recording.exists() and any(loop.steps for loop in Recording.load(recording).loops)):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    assert main(["report", "--format", "json", "--output", "report.json"]) == 0
    report = json.loads((folder / "report.json").read_text())
    assert report["meta"]["program"] == "long.py"
    assert any("never came to its end" in note for note in report["notes"])
    main(["run", "program.py"])
    assert latest_recording(folder) == last_recording(folder)
    shutil.rmtree(recording.parent)
