"""Notebooks are read as they are: magics, shell lines, broken cells; findings name the cell and its line."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main
from hotloop.model import Finding, Fix, Place
from hotloop.source.notebooks import CellMap, NotebookError, cell_lines, in_cell, relocated, to_python

STEP = "step = tf.function(lambda x: x + 1)"
LOOP = f"for batch in batches:\n    {STEP}\n    step(batch)\n"


def notebook(*cells: str | tuple[str, str], **about: Any) -> bytes:
    """A notebook of code cells; a pair gives another type of cell."""
    pairs = [("code", cell) if isinstance(cell, str) else cell for cell in cells]
    plain = [{"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)} for kind, text in pairs]
    return json.dumps({"cells": plain, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **about}).encode()


def python(cell: str) -> list[str]:
    """A cell's lines as they stand in the module."""
    data, (found,) = to_python(notebook(cell))
    ast.parse(data)
    return data.decode().split("\n")[found.start - 1 : found.start - 1 + found.lines]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["check", "--format", "json", *arguments]) in (0, 1)
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


# -- through the front door ------------------------------------------------------------------------------------


def test_a_finding_names_the_cell_and_the_line_in_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    title = ("markdown", "# Training")
    (project / "n.ipynb").write_bytes(notebook(title, "!pip install x\nimport tensorflow as tf", "%%time\n" + LOOP))
    assert main(["check"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("n.ipynb:cell 3:3  function-in-loop")
    assert " on line 2" in " ".join(text.split())
    assert f"> 3 │     {STEP}" in text
    assert "↻ 2 │ for batch in batches:" in text
    (finding,) = checked(capsys)["findings"]
    assert (finding["place"]["cell"], finding["place"]["line"], finding["loop"]["line"]) == (3, 3, 2)


def test_a_loop_in_another_cell_is_named_by_its_cell(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = f"import tensorflow as tf\ndef train(batch):\n    {STEP}\n    return step(batch)"
    (project / "n.ipynb").write_bytes(notebook(made, "for batch in batches:\n    train(batch)"))
    (finding,) = checked(capsys)["findings"]
    assert (finding["place"]["cell"], finding["place"]["line"]) == (1, 3)
    assert (finding["loop"]["cell"], finding["loop"]["line"]) == (2, 1)
    assert "n.ipynb:cell 2:1" in finding["message"]
    assert main(["check"]) == 1
    assert "cell 2:1 │ for batch in batches:" in capsys.readouterr().out


def test_a_fix_in_a_notebook_is_advice(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "n.ipynb").write_bytes(notebook("import tensorflow as tf", LOOP))
    (finding,) = checked(capsys)["findings"]
    assert finding["fix"]["type"] == "refusal" or (finding["fix"]["safety"], finding["fix"]["edits"]) == ("advice", [])


def test_a_cell_that_is_not_python_costs_one_note_and_the_rest_is_read(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "n.ipynb").write_bytes(notebook("import tensorflow as tf", "print 'old'", LOOP))
    report = checked(capsys)
    assert [finding["place"]["cell"] for finding in report["findings"]] == [3]
    (note,) = report["notes"]
    assert note.startswith("n.ipynb:cell 2 is not Python (line 1: ")
    assert main(["check", "n.ipynb"]) == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{tensorflow", "is not a notebook"),
        (b'["tensorflow"]', "is not a notebook"),
        (b'{"worksheets": [], "tensorflow": 1}', "is a notebook of the old format 3"),
        (b"\xff\xfe tensorflow", "is not a notebook"),
    ],
)
def test_what_is_no_notebook_costs_one_note_in_a_folder_and_fails_by_name(
    data: bytes, said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "n.ipynb").write_bytes(data)
    (note,) = checked(capsys)["notes"]
    assert said in note
    assert main(["check", "n.ipynb"]) == 2
    assert said in capsys.readouterr().err


def test_a_suppression_in_a_cell_is_heard_and_an_unused_one_is_named_by_cell(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    excuse = "  # hotloop: ignore[function-in-loop]"
    cell = LOOP.replace(STEP, STEP + excuse)
    (project / "n.ipynb").write_bytes(notebook("import tensorflow as tf", cell, f"x = 1\ny = 2{excuse}"))
    report = checked(capsys)
    assert report["findings"] == []
    (note,) = report["notes"]
    assert note.startswith("n.ipynb:cell 3:2: the suppression of")


# -- cells to Python -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("x = 1\ny = 2", ["x = 1", "y = 2"]),
        ("%matplotlib inline\nx = 1", ["pass", "x = 1"]),
        ("!pip install \\\n  a b\nx = 1", ["pass", "", "x = 1"]),
        ("if x:\n    !ls {x}", ["if x:", "    pass"]),
        ("files = !ls\na, b = %who", ["files = ...", "a, b = ..."]),
        ("?tf.function\ntf.data??\nx = 1", ["pass", "pass", "x = 1"]),
        ("%time y = f(x)", ["0;    y = f(x)"]),
        ("%timeit -n 10 f(x)", ["0;" + " " * 12 + "f(x)"]),
        ("%time for x in y: f(x)", ["for x in y: f(x)"]),
        ("%%time\nf(x)", ["", "f(x)"]),
        ("\n%%capture out\nf(x)", ["", "", "f(x)"]),
        ("%%bash\nfor f in *; do echo $f; done", ["", ""]),
        ("%%writefile train.py\nprint 'x'", ["", ""]),
        ("%%html\n<b>", ["", ""]),
        ("pip install tensorflow\nx = 1", ["pass", "x = 1"]),
        ("!ls\nx = (a\n  % b)", ["pass", "x = (a", "  % b)"]),
        ("!ls\nx = '''\n!not a command\n%nor this'''", ["pass", "x = '''", "!not a command", "%nor this'''"]),
        ("!ls\nx = 1 + \\\n  2", ["pass", "x = 1 + \\", "  2"]),
        ("!ls\nx = '(' # [\n%cd y", ["pass", "x = '(' # [", "pass"]),
        ("await f(x)", ["await f(x)"]),
        ("x = 1;\r\ny", ["x = 1;", "y"]),
        ("# -*- coding: latin-1 -*-\nx = 'é'", ["# -*- coding: latin-1 -*-", "x = 'é'"]),
        ("", [""]),
    ],
)
def test_what_only_a_notebook_understands_does_nothing_and_every_line_stays(cell: str, lines: list[str]) -> None:
    assert python(cell) == lines


def test_cells_of_other_kinds_and_of_other_languages_are_not_python() -> None:
    data, cells = to_python(notebook(("markdown", "import x"), "y = 1", ("raw", "z")))
    assert b"import x" not in data
    assert [cell.cell for cell in cells] == [2]
    assert to_python(notebook("x <- 1", metadata={"kernelspec": {"language": "R"}}))[1] == []


def test_a_source_may_be_one_string_or_odd_and_nothing_breaks() -> None:
    odd = [
        {"cell_type": "code", "source": "x = 1\ny = 2"},
        {"cell_type": "code"},
        None,
        {"cell_type": "code", "source": 5},
    ]
    data, cells = to_python(json.dumps({"cells": odd}).encode())
    ast.parse(data)
    assert [(cell.cell, cell.lines) for cell in cells] == [(1, 2), (2, 1), (4, 1)]
    assert cell_lines(json.dumps({"cells": odd}).encode())[1] == ["x = 1", "y = 2"]


def test_hostile_text_in_a_cell_is_skipped_not_fatal() -> None:
    data, cells = to_python(notebook("x = '\ud800'", "x\x00y", "(" * 5000, "z = 1"))
    ast.parse(data)
    assert [bool(cell.error) for cell in cells] == [False, True, True, False]
    with pytest.raises(NotebookError):
        to_python(b"")


# -- lines back to cells ---------------------------------------------------------------------------------------

CELLS = [CellMap(2, 3, 4), CellMap(5, 7, 2)]


def test_a_place_is_said_within_its_cell() -> None:
    assert in_cell(Place("n.ipynb", 4, 1, 6, 2), CELLS) == Place("n.ipynb", 2, 1, 4, 2, cell=2)
    assert in_cell(Place("n.ipynb", 7), CELLS) == Place("n.ipynb", 1, cell=5)
    assert in_cell(Place("n.ipynb", 6, 0, 8, 0), CELLS).end_line == 4
    assert in_cell(Place("n.ipynb", 99), CELLS) == Place("n.ipynb", 99)


def test_a_finding_speaks_of_cells_wherever_it_names_a_line() -> None:
    finding = Finding(
        "made-up",
        Place("n.ipynb", 8, 0, 8, 4),
        "made in the loop on line 7, called on line 3, at n.ipynb:4 and at other.py:7",
        "static",
        "high",
        loop=Place("n.ipynb", 7),
        chain=(Place("other.py", 7),),
        fix=Fix("hoist it", (), "safe"),
    )
    said = relocated(finding, {"n.ipynb": CELLS})
    assert said.message == (
        "made in the loop on line 1, called on cell 2, line 1, at n.ipynb:cell 2:2 and at other.py:7"
    )
    assert (str(said.place), str(said.loop), str(said.chain[0])) == (
        "n.ipynb:cell 5:2",
        "n.ipynb:cell 5:1",
        "other.py:7",
    )
    assert isinstance(said.fix, Fix)
    assert said.fix.safety == "advice"
    assert relocated(finding, {"m.ipynb": CELLS}) is finding
