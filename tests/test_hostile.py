"""Files that nobody should have written, or that are no Python at all: `check` reads on, and says so in one line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main

HEAD = "import tensorflow as tf\n"
LOOP = "for path in paths:\n    session = tf.compat.v1.Session()\n    session.run(path)\n"  # what is found in each
GOOD = (HEAD + LOOP).encode()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["check", "--format", "json", "--all", "."])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert report["problems"] == []
    return report


def found(report: dict[str, Any]) -> set[tuple[str, int]]:
    return {(f["place"]["path"], f["place"]["line"]) for f in report["findings"]}


def lines_of(data: bytes) -> set[tuple[str, int]]:
    """Where the session stands."""
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return {("odd.py", number) for number, line in enumerate(lines, 1) if b"session = " in line}


def nested(depth: int) -> str:
    return "".join("    " * i + "if x:\n" for i in range(depth)) + "    " * depth + "pass\n"


def elifs(count: int) -> str:
    return "".join(f"elif x == {i}:\n    y = {i}\n" for i in range(1, count))


# -- odd, but Python ---------------------------------------------------------------------------------------------------

ODD: dict[str, bytes] = {
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "latin-1, declared": b"# -*- coding: latin-1 -*-\nname = 'caf\xe9'\n" + GOOD,
    "CRLF": GOOD.replace(b"\n", b"\r\n"),
    "CR": GOOD.replace(b"\n", b"\r"),
    "form feeds": b"\x0c\n" + HEAD.encode() + b"\x0c\n" + LOOP.encode() + b"\x0c",
    "no newline at the end": GOOD.rstrip(),
    "names in other alphabets": f"{HEAD}ток = tf.compat.v1\nfor 画像 in paths:\n    session = ток.Session()\n".encode(),
    "a surrogate in a string": GOOD + b"x = '\\ud800'\n",
    "match": (
        f"{HEAD}match x:\n    case {{'a': [1, *rest], **more}} if rest:\n        pass\n"
        f"    case tf.Tensor(shape=(a, b)) as t:\n        pass\n    case 1 | 2 | None:\n        pass\n{LOOP}"
    ).encode(),
    "walrus and async": (
        f"{HEAD}async def f():\n    async with a as b, c() as d:\n        async for x in (y async for y in z):\n"
        f"            while n := await q():\n                print([m := k async for k in w if (v := k)])\n{LOOP}"
    ).encode(),
    "stars": f"{HEAD}a, *b, (c, *d) = x\ndef f(a, /, b, *, c, **k): ...\nprint(*a, **b)\n{LOOP}".encode(),
    "exception groups": f"{HEAD}try:\n    pass\nexcept* ValueError as e:\n    pass\n{LOOP}".encode(),
    "classes that inherit each other": f"{HEAD}class A(B): pass\nclass B(A): pass\nA().x()\n{LOOP}".encode(),
    "names that mean each other": f"{HEAD}x = y\ny = x\nx()\n{LOOP}".encode(),
    "a function that calls itself": f"{HEAD}def f(x):\n    return f(f(x))\nf(1)\n{LOOP}".encode(),
    "a module that imports itself": f"{HEAD}from odd import *\nimport odd\nfrom . import odd as o\n{LOOP}".encode(),
    "parentheses, 150 deep": f"{HEAD}x = {'(' * 150}1{')' * 150}\n{LOOP}".encode(),
    "calls, 90 deep": f"{HEAD}x = {'f(' * 90}1{')' * 90}\n{LOOP}".encode(),
    "lambdas, 300 deep": f"{HEAD}f = {'lambda x: ' * 300}x\n{LOOP}".encode(),
    "blocks, 90 deep": f"{HEAD}{nested(90)}{LOOP}".encode(),
    "a thousand additions": f"{HEAD}x = {' + '.join(f'a{i}' for i in range(700))}\n{LOOP}".encode(),
    "a long chain of calls": f"{HEAD}x = a{'.b()' * 300}\n{LOOP}".encode(),
    "2,000 elifs": f"{HEAD}if x == 0:\n    y = 0\n{elifs(2000)}{LOOP}".encode(),
    "a line of a megabyte": f"{HEAD}x = '{'a' * 1_000_000}'\n{LOOP}".encode(),
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_an_odd_file_is_read_like_any_other(data: bytes, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "odd.py").write_bytes(data)
    report = report_of(capsys)
    assert found(report) == lines_of(data) != set()
    assert report["notes"] == []


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# tensorflow\n", b'"""tensorflow"""\n', b"\xef\xbb\xbf"])
def test_a_file_with_nothing_in_it_is_silent(data: bytes, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "odd.py").write_bytes(data)
    assert main(["check", "."]) == 0
    report = report_of(capsys)
    assert (report["findings"], report["notes"]) == ([], [])


# -- no Python of ours -------------------------------------------------------------------------------------------------

UNREADABLE: dict[str, bytes] = {
    "Python 2": f"{HEAD}print 'hello'\n".encode(),
    "a template": f"{HEAD}{{% for x in xs %}}\nx = {{{{ x }}}}\n{{% endfor %}}\n".encode(),
    "NUL bytes": HEAD.encode() + b"x = 1\0\n",
    "an unknown encoding": b"# -*- coding: klingon -*-\n" + GOOD,
    "bytes that are not what they declare": b"# -*- coding: utf-8 -*-\nx = 'caf\xe9'\n" + GOOD,
    "a comment that is not UTF-8": b"# caf\xe9\n" + GOOD,
    "mixed tabs": f"{HEAD}if x:\n\ty = 1\n        z = 2\n".encode(),
    "parentheses, 5,000 deep": f"{HEAD}x = {'(' * 5000}1{')' * 5000}\n{LOOP}".encode(),
    "additions, 20,000 long": f"{HEAD}x = {' + '.join(f'a{i}' for i in range(20000))}\n{LOOP}".encode(),
    "attributes, 50,000 long": f"{HEAD}x = a{'.b' * 50000}\n{LOOP}".encode(),
    "a merge conflict": f"{HEAD}<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n".encode(),
    "half a file": f"{HEAD}def f(:\n".encode(),
    "an image": b"\x89PNG\r\n\x1a\n\x00\x00tensorflow",
}
if sys.version_info < (3, 12):
    UNREADABLE["type parameters"] = f"{HEAD}type A[T] = list[T]\ndef f[T](x: T) -> T:\n    return x\n{LOOP}".encode()
else:
    ODD["type parameters"] = f"{HEAD}type A[T] = list[T]\ndef f[T](x: T) -> T:\n    return x\n{LOOP}".encode()


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_is_no_python_gets_one_line_and_the_rest_goes_on(
    data: bytes, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "bad.py").write_bytes(data)
    (project / "odd.py").write_bytes(GOOD)
    report = report_of(capsys)
    assert found(report) == lines_of(GOOD)
    (note,) = report["notes"]
    assert note.startswith("bad.py ")
    assert "\n" not in note
    assert len(note) < 300


# -- odd folders -------------------------------------------------------------------------------------------------------


def test_folders_and_links_with_the_names_of_files_are_passed_over(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "odd.py").write_bytes(GOOD)
    (project / "folder.py").mkdir()
    (project / "folder.py" / "inner.py").write_bytes(GOOD)
    (project / "loop").symlink_to(project, target_is_directory=True)
    (project / "self.py").symlink_to(project / "self.py")
    (project / "nowhere.py").symlink_to(project / "gone.py")
    os.mkfifo(project / "pipe.py")
    report = report_of(capsys)
    assert found(report) == {*lines_of(GOOD), ("folder.py/inner.py", 3)}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_gets_one_line_and_the_rest_goes_on(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "odd.py").write_bytes(GOOD)
    (project / "secret.py").write_bytes(GOOD)
    (project / "secret.py").chmod(0)
    report = report_of(capsys)
    assert found(report) == lines_of(GOOD)
    assert [note for note in report["notes"] if note.startswith("secret.py cannot be read")] != []


# -- large files -------------------------------------------------------------------------------------------------------


def functions(n: int) -> str:
    return "".join(f"def f{i}(x):\n    y = tf.add(x, {i})\n    return tf.square(y)\n\n" for i in range(n * 10))


def numbers(n: int) -> str:
    return f"x = [{', '.join(str(i) for i in range(n * 100))}]\n"


def rebindings(n: int) -> str:
    return "".join(f"x = f(x, {i})\n" for i in range(n))


def callers(n: int) -> str:
    return "".join(f"def g{i}(x):\n    return g{i + 1}(x)\n" for i in range(n)) + "for p in paths:\n    g0(p)\n"


def tangle(n: int) -> str:
    """Functions that all call each other, each with a session."""
    calls = "def m{}(x):\n    m{}(x)\n    m{}(x)\n    tf.compat.v1.Session()\n"
    return "".join(calls.format(i, (i * 7 + 1) % n, (i * 3 + 2) % n) for i in range(n)) + "for p in paths:\n    m0(p)\n"


def loops(n: int) -> str:
    return "".join(f"for p in paths:\n    y{i} = x\n    x = tf.add(x, y{i})\n" for i in range(n))


@pytest.mark.parametrize("make", [functions, numbers, rebindings, callers, tangle, loops])
def test_a_file_four_times_as_large_does_not_take_sixteen_times_as_long(
    make: Callable[[int], str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which is what squares would; it is the bound for a file of megabytes too."""
    seconds = []
    for size in (50, 200):
        tries = []
        for again in range(3):  # the shortest counts: other work on the machine only makes one longer
            (project / "odd.py").write_text(
                HEAD + make(size) + LOOP + "\n" * again
            )  # other bytes: nothing is remembered
            start = time.process_time()
            report = report_of(capsys)
            tries.append(time.process_time() - start)
        seconds.append(min(tries))
        assert found(report) >= lines_of((project / "odd.py").read_bytes())
    assert seconds[1] < 12 * seconds[0]
