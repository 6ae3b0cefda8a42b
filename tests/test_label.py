"""`hotloop label` without TensorFlow: which images, how large they say they are, what a row is, what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hotloop.cli import main
from hotloop.label.headers import ImageError, first_frame, header
from hotloop.label.listing import images
from hotloop.label.rows import Row, Rows, from_json, to_json
from hotloop.label.tables import write_table
from hotloop.label.tuning import choose
from hotloop.model import HotloopError

FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP")
ODD = [
    "plain.jpg",
    'quo"ted, comma.jpg',
    "line\nbreak.jpg",
    "umlaut-ä.jpg",
    os.fsdecode(b"not-text-\xff.jpg"),
    "=1+1.jpg",
]


def encoded(format: str, size: tuple[int, int] = (30, 20), **options: object) -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(file, format, **options)
    return file.getvalue()


def folder_of(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def test_a_folder_gives_its_images_by_name_and_those_inside_only_if_asked(tmp_path: Path) -> None:
    folder_of(tmp_path, "b.JPG", "a.png", "notes.md", "deep/c.webp", "deep/er/d.gif")
    assert images([str(tmp_path)]) == [str(tmp_path / name) for name in ("a.png", "b.JPG")]
    names = ("a.png", "b.JPG", "deep/c.webp", "deep/er/d.gif")
    assert images([str(tmp_path)], recursive=True) == [str(tmp_path / name) for name in names]


def test_patterns_files_and_lists_may_be_mixed_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(tmp_path, "one.jpg", "two.jpg", "odd[1].jpg", "lists/x.jpg")
    (tmp_path / "lists" / "list.txt").write_text("x.jpg\r\n\nmissing.jpg\n")
    (tmp_path / "lists" / "list.csv").write_text('id,filename\n1,x.jpg\n2,"line\nbreak.jpg"\n')
    (tmp_path / "lists" / "bare.csv").write_text("x.jpg,cat\n")
    monkeypatch.chdir(tmp_path)
    assert images(["t*.jpg", "odd[1].jpg"]) == ["two.jpg", "odd[1].jpg"]
    assert images(["lists/list.txt"]) == ["lists/x.jpg", "lists/missing.jpg"]
    assert images(["lists/list.csv", "one.jpg"]) == ["lists/x.jpg", "lists/line\nbreak.jpg", "one.jpg"]
    assert images(["lists/bare.csv"]) == ["lists/x.jpg"]
    assert images(["-"], stdin=b"one.jpg\ntwo.jpg") == ["one.jpg", "two.jpg"]
    assert images(["-"], stdin=b"one\n.jpg\0two.jpg\0") == ["one\n.jpg", "two.jpg"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [("nowhere.jpg", "no image, folder or list at nowhere.jpg"), ("*.jpg", "at *.jpg"), (".", "--recursive")],
)
def test_no_images_is_one_sentence(spec: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HotloopError) as error:
        images([spec])
    assert said in str(error.value)


@pytest.mark.parametrize("format", FORMATS)
def test_the_size_is_read_from_the_content(format: str) -> None:
    told = header(encoded(format))
    assert (told.format, told.width, told.height) == (format.lower(), 30, 20)
    if format == "WEBP":
        assert header(encoded(format, lossless=True)).width == 30
        assert header(encoded(format, exif=b"Exif\0\0" + b"0" * 20)).height == 20  # the extended header
    if format == "JPEG":
        assert header(encoded(format, progressive=True, exif=b"Exif\0\0" + b"0" * 60_000)).width == 30


@pytest.mark.parametrize("format", FORMATS)
def test_a_header_that_is_cut_off_or_overwritten_anywhere_is_an_image_error_and_nothing_else(format: str) -> None:
    whole = encoded(format)
    rng = np.random.default_rng(1)
    for end in range(min(len(whole), 700)):
        for content in (whole[:end], bytes(rng.integers(0, 256, end, np.uint8)), whole[:10] + rng.bytes(end)):
            with suppress(ImageError):
                told = header(content)
                assert told.width > 0 < told.height
                if told.format == "gif":
                    assert first_frame(content)


def test_only_the_first_frame_of_an_animation_is_kept() -> None:
    frames = [Image.new("RGB", (30, 20), color) for color in ("red", "green", "blue")]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    kept = first_frame(file.getvalue())
    assert len(kept) < len(file.getvalue())
    with Image.open(io.BytesIO(kept)) as image:
        assert getattr(image, "n_frames", 1) == 1
        assert image.convert("RGB").getpixel((3, 3)) == (255, 0, 0)
    assert first_frame(kept) == kept


def test_a_bmp_with_a_palette_is_refused_and_a_grey_one_is_not() -> None:
    file = io.BytesIO()
    Image.linear_gradient("L").save(file, "BMP")
    assert header(file.getvalue()).width == 256
    file = io.BytesIO()
    Image.new("P", (4, 4)).save(file, "BMP")
    Image.linear_gradient("L").convert("RGB").quantize(16).save(file := io.BytesIO(), "BMP")
    with pytest.raises(ImageError, match="palette"):
        header(file.getvalue())


def test_a_row_has_the_best_labels_first_or_the_raw_numbers_or_the_error() -> None:
    scores = np.array([0.1, 0.7, 0.2], np.float32)
    assert Rows(("a", "b", "c"), top_k=2)("x.jpg", scores) == Row("x.jpg", ("b", "c"), (0.7, 0.2))
    assert Rows(top_k=1)("x.jpg", scores) == Row("x.jpg", ("1",), (0.7,))
    assert Rows(raw=True)("x.jpg", scores).raw == pytest.approx((0.1, 0.7, 0.2))
    assert Rows()("x.jpg", ImageError("cut off")) == Row("x.jpg", error="cut off")


def test_raw_numbers_come_back_to_the_last_bit() -> None:
    values = np.random.default_rng(0).normal(size=500).astype(np.float32)
    row = from_json(to_json(Rows(raw=True)("x.jpg", values)))
    assert row.raw is not None
    assert (np.array(row.raw, np.float32) == values).all()


@pytest.mark.parametrize("name", ODD)
def test_every_name_survives_json_and_csv(name: str, tmp_path: Path) -> None:
    row = Row(name, ("la,bel",), (0.5,))
    line = to_json(row)
    assert "\n" not in line
    assert from_json(line) == row
    write_table([line, line], tmp_path / "t.csv", ".csv", raw=False, width=1)
    with (tmp_path / "t.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        cells = list(csv.reader(file))
    assert cells == [["path", "error", "label_1", "score_1"], *[[name, "", "la,bel", "0.5"]] * 2]


def test_a_number_that_is_none_is_null_and_not_a_word_that_json_does_not_have() -> None:
    line = to_json(Row("x.jpg", ("a", "b"), (math.nan, math.inf)))
    assert json.loads(line)["scores"] == [None, None]
    assert "NaN" not in line


def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'hotloop[parquet]'")
    rows = [Row(name, ("a", "b"), (0.75, 0.25)) for name in ODD] + [Row("bad.jpg", error="cut off")]
    write_table(map(to_json, rows), tmp_path / "t.parquet", ".parquet", raw=False, width=2)
    table = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["path"] for row in table] == [name.replace("\udcff", "\\xff") for name in ODD] + ["bad.jpg"]
    assert table[0] == {"path": "plain.jpg", "error": None, "labels": ["a", "b"], "scores": [0.75, 0.25]}
    assert table[-1] == {"path": "bad.jpg", "error": "cut off", "labels": None, "scores": None}


@pytest.mark.parametrize(
    ("rates", "wanted"),
    [
        ({1: 10, 2: 19, 4: 30, 8: 31, 16: 31}, 4),  # the smallest that is nearly the best
        ({1: 40, 2: 30, 4: 20, 8: 10, 16: 10}, 1),
        ({1: 10, 2: 20, 4: 40, 8: None, 16: 99}, 4),  # what does not fit ends the search
        ({1: None}, 1),
    ],
)
def test_the_batch_is_the_smallest_that_is_nearly_as_fast_as_the_best(
    rates: dict[int, float | None], wanted: int
) -> None:
    assert choose(rates.__getitem__, tuple(rates)) == wanted


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which model?"),
        (["m.pb"], "which images?"),
        (["m.pb", "a.jpg", "--batch", "many"], "--batch many"),
        (["m.pb", "a.jpg", "--top-k", "0"], "--top-k"),
        (["m.pb", "a.jpg", "--input_height", "3"], "--input_width"),
        (["m.pb", "nowhere.jpg"], "nowhere.jpg"),
        (["m.pb", "a.jpg", "--labels", "nowhere.txt"], "nowhere.txt"),
        (["m.pb", "a.jpg", "--output", "out.xlsx"], ".jsonl, .csv, .parquet"),
        (["m.pb", "a.jpg", "--output", "nowhere/out.csv"], "no folder nowhere"),
        (["m.pb", "a.jpg", "--output", "there.csv"], "--overwrite"),
        (["m.pb", "a.jpg", "--output", "begun.csv"], "--resume"),
    ],
)
def test_what_cannot_work_is_one_sentence_before_tensorflow_is_loaded(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder_of(tmp_path, "a.jpg", "there.csv", "begun.csv.part/job.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "tensorflow", None)  # importing it now would be an ImportError
    assert main(["label", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_flags_may_stand_between_the_model_and_the_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["label", "m.pb", "--top-k", "3", "nowhere.jpg"]) == 2
    assert "nowhere.jpg" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["label", "m.pb", "--top-k", "3", "a.jpg", "--no-such-flag"])
    with pytest.raises(SystemExit):
        main(["explain", "a-rule", "another"])
