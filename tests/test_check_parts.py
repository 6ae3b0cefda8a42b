"""A large project is checked in parts, by several processes, and says what it would say as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop import check
from hotloop.source import files, read
from hotloop.source.files import shards
from hotloop.source.module import says

STEP = """\
import tensorflow as tf

def load():
    return tf.keras.models.load_model("model.keras")
"""
LOOP = """\
from {package}.step{number} import load

def main(paths):
    for path in paths:
        print(load().predict(path))
"""


def project(root: Path, packages: int, modules: int) -> list[Path]:
    """Modules whose loops are in another file than what runs in them."""
    made = []
    for package in range(packages):
        folder = root / f"package{package}"
        folder.mkdir()
        for number in range(modules):
            for name, text in ((f"step{number}.py", STEP), (f"use{number}.py", LOOP)):
                made.append(folder / name)
                made[-1].write_text(text.format(package=folder.name, number=number))
    return sorted(made)


@pytest.mark.parametrize("cores", [1, 2])
def test_parts_in_several_processes_say_what_the_whole_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    made = project(tmp_path, packages=2, modules=6)
    whole = check.check_files(tmp_path, made)
    monkeypatch.setattr(check, "cores", lambda: cores)
    monkeypatch.setattr(check, "HELD", 500)
    monkeypatch.setattr(check, "MUCH", 0)
    monkeypatch.setattr(files, "SMALL", 0)
    parts: list[int] = []
    told = check.check_files(tmp_path, made, progress=lambda done, _: parts.append(done))
    assert len(parts) > 2
    assert {finding.rule for finding in whole.findings} >= {"model-load-in-loop"}
    assert told.findings == whole.findings


def test_a_folder_is_cut_into_equal_parts_and_not_for_a_little_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SMALL", 0)
    found = read(project(tmp_path, packages=1, modules=8), tmp_path)
    chosen = sorted(found.contents)
    size = found.size(chosen)
    assert len(shards(found, chosen, int(size / 1.2), 1)) == 1
    parts = shards(found, chosen, int(size / 2.2), 1)
    assert [file for part in parts for file in part] == chosen
    assert len(parts) == 3
    assert max(map(found.size, parts)) < 1.5 * min(map(found.size, parts))


def test_the_last_part_is_shared_by_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SMALL", 0)
    found = read(project(tmp_path, packages=3, modules=8), tmp_path)
    chosen = sorted(found.contents)
    size = found.size(chosen) // 3
    assert len(shards(found, chosen, size, 1)) == 3
    parts = shards(found, chosen, size, 2)
    assert len(parts) == 4
    assert sorted(file for part in parts for file in part) == chosen


def test_a_word_is_found_where_it_stands_alone() -> None:
    assert says(b"load", b"load")
    assert says(b"reload(load)", b"load")
    assert not says(b"reload, loads, load_all, un_load", b"load")
