"""From findings to files: patches compose, nothing is lost, and what cannot be shown safe is left alone."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

import hotloop.rules.function_in_loop as function_in_loop
from hotloop.mending import apply_fixes, diff, mend
from hotloop.model import Edit, Finding, Fix, HotloopError
from hotloop.rules import all_rules
from hotloop.source import Project
from hotloop.source.rewrite import apply_edits, edits_between
from hotloop.writing import write_files

LABELS = b"""import os

import tensorflow.compat.v1 as tf


def load_graph(path):
    graph = tf.Graph()
    graph_def = tf.GraphDef()
    with open(path, "rb") as f:
        graph_def.ParseFromString(f.read())
    with graph.as_default():
        tf.import_graph_def(graph_def)
    return graph


def classify(path, model):
    graph = load_graph(model)
    # one session for this image
    with tf.Session(graph=graph) as sess:
        return sess.run("out:0", {"in:0": path})


for name in os.listdir("images"):
    print(classify(name, "model.pb"))
"""


def test_one_patch_clears_the_way_for_the_next() -> None:
    mended = mend({"label.py": LABELS}, all_rules())
    text = mended.contents["label.py"].decode()
    assert mended.refusals == []
    assert len(mended.done) == 2
    assert text.count("@functools.cache") == 2
    assert "with session_for(graph).as_default() as sess:" in text
    assert "    # one session for this image\n" in text


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_everything_outside_a_patch_stays_byte_for_byte(newline: bytes) -> None:
    before = LABELS.replace(b"\n", newline)
    after = apply_fixes({"label.py": before}, all_rules())["label.py"]
    removed = {line for line in diff({"p": before}, {"p": after}).splitlines() if line.startswith("-")}
    assert [line.rstrip() for line in removed if "---" not in line] == ["-    with tf.Session(graph=graph) as sess:"]
    assert after.count(newline) == after.count(b"\n")


def test_fixing_again_changes_nothing() -> None:
    once = apply_fixes({"label.py": LABELS}, all_rules())
    assert apply_fixes(once, all_rules()) == once


def test_patches_of_two_files_that_both_change_a_third_do_not_undo_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    make = function_in_loop.fix

    def fix(finding: Finding, project: Project) -> Fix:
        made = make(finding, project)
        note = Edit("shared.py", 0, 0, f"# for {finding.place.path}\n")
        return replace(made, edits=(*made.edits, note))

    monkeypatch.setattr(function_in_loop, "fix", fix)
    slow = b"import tensorflow as tf\nfor x in batches:\n    tf.function(model)(x)\n"
    mended = mend({"a.py": slow, "b.py": slow, "shared.py": b"x = 1\n"}, [function_in_loop.RULE])
    assert len(mended.done) == 2
    assert mended.contents["shared.py"] == b"# for b.py\n# for a.py\nx = 1\n"


REFUSED = {
    "a graph that is made anew": (
        "for p in paths:\n    g = tf.Graph()\n    with tf.Session(graph=g) as s:\n        s.run('x', {'p:0': p})",
        "made anew",
    ),
    "ops that the session would meet": (
        "for p in paths:\n    y = tf.read_file(q(p), name=p)\n    with tf.Session() as s:\n        s.run(y)",
        "",
    ),
    "a load under a condition": (
        "for p in paths:\n    if p.flag:\n        m = keras.models.load_model('m')\n        m(p)",
        "condition",
    ),
    "a model that the step trains": (
        "for p in batches:\n    m = keras.models.load_model('m')\n    m.fit(p)",
        "changes the model",
    ),
    "an op whose type is not plain": (
        "with tf.Session() as s:\n    for p in images:\n        s.run(tf.reduce_mean(p))",
        "plain type",
    ),
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_shown_safe_is_refused_with_its_reason(body: str, reason: str) -> None:
    source = f"import keras\nimport tensorflow.compat.v1 as tf\n{body}\n".encode()
    mended = mend({"p.py": source}, all_rules())
    assert mended.contents == {"p.py": source}
    assert any(reason in refusal.reason for _, refusal in mended.refusals)


def test_edits_turn_the_old_text_into_the_new() -> None:
    old, new = "a\r\nb ü\nc\n".encode(), "a\r\nx\ny ß\nc\nd\n".encode()
    assert apply_edits(old, edits_between("p.py", old, new)) == new


def test_files_are_written_whole_and_keep_their_mode_and_links(tmp_path: Path) -> None:
    real = tmp_path / "real.py"
    real.write_bytes(b"old\n")
    real.chmod(0o751)
    (tmp_path / "p.py").symlink_to(real)
    assert write_files(tmp_path, {"p.py": b"old\n"}, {"p.py": b"new\n"}) == ["p.py"]
    assert real.read_bytes() == b"new\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o751
    assert (tmp_path / "p.py").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["p.py", "real.py"]


def test_a_file_that_changed_meanwhile_stops_all_writing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"a\n")
    (tmp_path / "b.py").write_bytes(b"somebody else's\n")
    with pytest.raises(HotloopError, match=r"b\.py was changed"):
        write_files(tmp_path, {"a.py": b"a\n", "b.py": b"b\n"}, {"a.py": b"A\n", "b.py": b"B\n"})
    assert (tmp_path / "a.py").read_bytes() == b"a\n"
