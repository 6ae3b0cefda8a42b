"""`hotloop label` and `Predictor` with TensorFlow: the numbers of a plain session, whatever the file and the images."""

from __future__ import annotations

import csv
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hotloop import Predictor
from hotloop.cli import main
from hotloop.label import ImageError
from hotloop.model import HotloopError

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
DEMO = Path(__file__).resolve().parent.parent.parent / "src" / "hotloop" / "demo"
LABELS = ["cat", "dog", "bird", "horse", "ship", "truck", "frog", "deer", "plane", "car"]


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A MobileNet-shaped graph as TensorFlow 1 wrote it, with its labels beside it."""
    folder = tmp_path_factory.mktemp("frozen")
    runpy.run_path(str(DEMO / "make_inputs.py"))["write_graph"](folder / "graph.pb")
    (folder / "labels.txt").write_text("\n".join(LABELS) + "\n")
    return folder / "graph.pb"


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each kind that files come in."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(3)

    def picture(number: int) -> Image.Image:
        tint = Image.fromarray(rng.integers(0, 255, (4, 6, 3), np.uint8))
        return tint.resize((150 + 20 * number, 200), Image.Resampling.BICUBIC)

    picture(0).save(folder / "a.jpg", quality=95)
    picture(1).save(folder / "b.png")
    picture(2).save(folder / "c.bmp")
    picture(3).save(folder / "d.gif", save_all=True, append_images=[picture(3)] * 3)
    picture(4).convert("L").save(folder / "e-grey.jpg")
    picture(5).convert("CMYK").save(folder / "f-cmyk.jpg")
    picture(6).convert("RGBA").save(folder / "g-alpha.png")
    sixteen = (np.array(picture(7).convert("L")).astype(np.uint16)) << 8
    Image.fromarray(sixteen).save(folder / "h-16-bit.png")
    return folder


def label_image(graph_file: Path, image: Path) -> np.ndarray[Any, Any]:
    """What label_image.py computes: a graph, a session and ops for one image."""
    import tensorflow.compat.v1 as tf

    graph_def = tf.GraphDef()
    graph_def.ParseFromString(graph_file.read_bytes())
    with tf.Graph().as_default(), tf.Session() as session:
        content = tf.read_file(str(image))
        if image.suffix == ".png":
            pixels = tf.image.decode_png(content, channels=3)
        elif image.suffix == ".gif":
            pixels = tf.image.decode_gif(content)[0]
        elif image.suffix == ".bmp":
            pixels = tf.image.decode_bmp(content)
        else:
            pixels = tf.image.decode_jpeg(content, channels=3)
        batch = tf.expand_dims(tf.cast(pixels, tf.float32), 0)
        normalized = tf.divide(tf.subtract(tf.image.resize_bilinear(batch, [128, 128]), [0]), [255])
        tf.import_graph_def(graph_def)
        scores = session.run("import/final_result:0", {"import/Placeholder:0": session.run(normalized)})
    return np.asarray(np.squeeze(scores))


def test_the_numbers_are_those_of_a_plain_session_for_every_kind_of_file(frozen: Path, photos: Path) -> None:
    paths = sorted(photos.iterdir())
    assert len(paths) == 8
    with Predictor(frozen, batch=3) as predictor:
        for path, out in predictor.stream(paths):
            plain = label_image(frozen, Path(path))
            assert np.abs(out - plain).max() < 1e-5, path
            assert np.ptp(plain) > 0.1, "scores that are all alike would prove nothing"


def test_images_decoded_together_are_as_if_decoded_one_by_one(frozen: Path, photos: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jpg"
    cut.write_bytes((photos / "a.jpg").read_bytes()[:-2000])
    names = ["a.jpg", "b.png", "e-grey.jpg", "f-cmyk.jpg", "g-alpha.png", "h-16-bit.png"]
    paths = [photos / names[number % 6] for number in range(40)]
    paths[25] = cut
    predictor = Predictor(frozen, batch=11)  # chunks of 6 and 5; the last batch has 7 images
    found = list(predictor.stream(paths, errors="return"))
    assert [path for path, _ in found] == [str(path) for path in paths]
    assert "cannot be decoded as JPEG" in str(found[25][1])
    alone = {path: predictor(path) for path in {*paths} - {cut}}
    together = [(out, alone[path]) for path, (_, out) in zip(paths, found, strict=True) if path != cut]
    assert max(np.abs(out - wanted).max() for out, wanted in together) < 1e-5


def test_the_old_spelling_prints_the_old_lines(frozen: Path, photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = photos / "a.jpg"
    old = ["--graph", str(frozen), "--labels", str(frozen.with_name("labels.txt")), "--image", str(image)]
    layers = ["--input_layer", "Placeholder", "--output_layer", "final_result"]
    scale = ["--input_height", "128", "--input_width", "128", "--input_mean", "0", "--input_std", "255"]
    assert main(["label", *old, *layers, *scale]) == 0
    printed = capsys.readouterr()
    plain = label_image(frozen, image)
    best = plain.argsort()[-5:][::-1]
    lines = [line.rsplit(" ", 1) for line in printed.out.splitlines()]
    assert [label for label, _ in lines] == [LABELS[i] for i in best]
    assert [float(score) for _, score in lines] == pytest.approx([float(plain[i]) for i in best], abs=1e-5)
    assert printed.err == ""


def test_bad_images_are_rows_with_an_error_among_the_others(
    frozen: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (photos / "a.jpg").read_bytes()
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(whole)
    (folder / "b-cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "c-text.png").write_text("no image at all")
    (folder / "d-empty.gif").write_bytes(b"")
    (folder / 'e "line\nbreak".png').write_bytes(whole)  # a JPEG under a wrong name is still a JPEG
    Image.new("L", (60_000, 2000)).save(folder / "f-bomb.png")
    os.mkfifo(folder / "g-pipe.jpg")
    (folder / "h.jpg").write_bytes(whole)
    output = tmp_path / "out.csv"
    labels = str(frozen.with_name("labels.txt"))
    assert main(["label", str(frozen), str(folder), "--labels", labels, "--output", str(output), "--top-k", "2"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "8 images in" in said.err
    assert "5 images failed" in said.err
    with output.open(newline="") as file:
        rows = {Path(row["path"]).name: row for row in csv.DictReader(file)}
    assert list(rows) == sorted(os.listdir(folder))
    assert [name[0] for name, row in rows.items() if row["error"]] == ["b", "c", "d", "f", "g"]
    assert rows['e "line\nbreak".png']["label_1"] == rows["a.jpg"]["label_1"] in LABELS
    assert rows["b-cut.jpg"]["label_1"] == ""
    assert "--max-pixels" in rows["f-bomb.png"]["error"]
    again = ["label", str(frozen), str(folder), "--output", str(output), "--overwrite", "--fail-fast"]
    assert main([*again, "--batch", "2"]) == 2
    assert "b-cut.jpg: cannot be decoded" in capsys.readouterr().err


def test_a_run_that_is_killed_goes_on_to_the_very_same_output(frozen: Path, photos: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("\n".join(str(photos / name) for name in ["a.jpg", "missing.jpg", "b.png"] * 150))
    command = ["label", str(frozen), str(listed), "--batch", "8"]
    assert main([*command, "--output", str(tmp_path / "whole.jsonl")]) == 1
    output = tmp_path / "killed.jsonl"
    rows = tmp_path / "killed.jsonl.part" / "rows.jsonl"
    run = subprocess.Popen([sys.executable, "-m", "hotloop", *command, "--output", str(output)])
    while not rows.exists() or rows.stat().st_size < 5000:
        with suppress(subprocess.TimeoutExpired):
            assert run.wait(0.01) is None, "it ended before it could be killed"
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert not output.exists()
    torn = rows.stat().st_size - 7
    os.truncate(rows, torn)
    assert 0 < torn < (tmp_path / "whole.jsonl").stat().st_size
    assert main([*command, "--output", str(output)]) == 2, "a run that did not finish is not run over"
    assert main([*command, "--output", str(output), "--resume"]) == 1
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not rows.parent.exists()


def test_a_hundred_thousand_calls_from_many_threads_leave_graph_traces_and_memory_as_they_were(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    import psutil
    import tensorflow as tf
    from tensorflow.python.eager import context

    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        tf.nn.softmax(tf.matmul(x, tf.reshape(tf.range(12.0), [4, 3])), name="y")
    (tmp_path / "tiny.pb").write_bytes(graph.as_graph_def().SerializeToString())
    predictor = Predictor(tmp_path / "tiny.pb", batch=16, max_wait_ms=0.5)
    examples = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    wanted = predictor(examples)

    def calls(count: int) -> float:
        worst = 0.0
        for number in range(count):
            worst = max(worst, float(np.abs(predictor(examples[number % 1000]) - wanted[number % 1000]).max()))
        return worst

    def state() -> tuple[int, ...]:
        return len(context.context().list_function_names()), len(graph.get_operations())

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(calls, [500] * 20))
        gc.collect()  # functions that other tests left behind may go now, and not meanwhile
        before, memory = state(), psutil.Process().memory_info().rss
        worst = max(pool.map(calls, [4500] * 20))
    assert worst < 1e-6
    assert all(now <= then for now, then in zip(state(), before, strict=True))
    assert psutil.Process().memory_info().rss - memory < 8e6
    predictor.close()
    with pytest.raises(HotloopError, match="closed"):
        predictor(examples[0])


@pytest.fixture(scope="module")
def keras_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    import keras

    keras.utils.set_random_seed(0)
    layers = [
        keras.Input((32, 32, 3)),
        keras.layers.Rescaling(1 / 127.5, -1),
        keras.layers.Conv2D(8, 3, strides=2),
        keras.layers.BatchNormalization(),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(4, "softmax"),
    ]
    model = keras.Sequential(layers)
    folder = tmp_path_factory.mktemp("keras")
    model.save(folder / "model.keras")
    model.save(folder / "model.h5")
    model.export(folder / "saved", verbose=False)
    return model, folder


@pytest.mark.parametrize("name", ["model.keras", "model.h5", "saved"])
def test_keras_files_and_saved_models_give_what_predict_gives(
    keras_model: tuple[Any, Path], photos: Path, name: str
) -> None:
    import tensorflow as tf

    model, folder = keras_model
    predictor = Predictor(folder / name, batch=4, preprocess="none")
    batch = np.random.default_rng(0).uniform(0, 255, (7, 32, 32, 3)).astype(np.float32)
    wanted = model.predict(batch, verbose=0)
    assert predictor.classes == 4
    assert predictor(batch) == pytest.approx(wanted, abs=1e-5)
    assert predictor(batch[2]) == pytest.approx(wanted[2], abs=1e-5)
    assert np.stack(list(predictor.map(batch))) == pytest.approx(wanted, abs=1e-5)
    pixels = tf.image.resize(tf.io.decode_jpeg((photos / "a.jpg").read_bytes(), channels=3), (32, 32))
    of_file = model.predict(pixels[None], verbose=0)[0]
    assert predictor(photos / "a.jpg") == pytest.approx(of_file, abs=1e-5)
    assert predictor((photos / "a.jpg").read_bytes()) == pytest.approx(of_file, abs=1e-5)
    with pytest.raises(HotloopError, match=r"shape \(32, 32, 3\); \(7, 32, 32\) was given"):
        predictor(batch[..., 0])
    with pytest.raises(ImageError, match="No such file"):
        list(predictor.stream([photos / "nowhere.jpg"]))


def test_a_model_that_scales_its_pixels_is_given_pixels(keras_model: tuple[Any, Path]) -> None:
    assert "as they are" in Predictor(keras_model[1] / "model.keras").decoder.prepare.told
    assert "/ 255" in Predictor(keras_model[1] / "saved").decoder.prepare.told


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_a_lambda_layer_runs_only_if_the_model_is_trusted(ending: str, tmp_path: Path) -> None:
    import keras

    witness = str(tmp_path / "witness")
    evil = keras.layers.Lambda(lambda x: [open(witness, "w"), x * 2][1], output_shape=(4,))  # noqa: SIM115
    model = keras.Sequential([keras.Input((4,)), evil])
    model.save(tmp_path / f"model.{ending}")
    Path(witness).unlink(missing_ok=True)
    with pytest.raises(HotloopError, match=r"Lambda layer: .* --trust-model"):
        Predictor(tmp_path / f"model.{ending}")
    assert not Path(witness).exists()
    assert Predictor(tmp_path / f"model.{ending}", trust=True)(np.ones(4)).tolist() == [2, 2, 2, 2]
    assert Path(witness).exists()


def graph_file(tmp_path: Path, build: Callable[[Any], object]) -> Path:
    import tensorflow.compat.v1 as tf

    with tf.Graph().as_default() as graph:
        build(tf)
    (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return tmp_path / "g.pb"


def two_ends(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    tf.reduce_mean(x, [1, 2], name="mean")
    tf.reduce_max(x, [1, 2], name="max")


def two_inputs(tf: Any) -> None:
    tf.add(tf.placeholder(tf.float32, [None, 8, 8, 3], name="x"), tf.placeholder(tf.float32, [], name="z"), name="sum")


def of_channels(count: int) -> Callable[[Any], object]:
    return lambda tf: tf.reduce_mean(tf.placeholder(tf.float32, [None, 8, 8, count], name="x"), [1, 2])


def writes_a_file(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    with tf.control_dependencies([tf.io.write_file("witness", "here")]):
        tf.reduce_mean(x, [1, 2], name="mean")


@pytest.mark.parametrize(
    ("build", "flags", "said"),
    [
        (two_ends, [], "2 outputs that could be meant. Name one with --output_layer: mean, max."),
        (two_ends, ["--output_layer", "median"], "no output `median`"),
        (two_inputs, [], "2 inputs that could be meant. Name one with --input_layer: x, z."),
        (two_inputs, ["--input_layer", "x"], "more than one input: z as well as x"),
        (of_channels(13), [], "images of 13 channels"),
        (of_channels(3), ["--input_height", "9", "--input_width", "9"], "height 8; --input_height 9"),
        (of_channels(3), ["--input_std", "0"], "--input_std"),
        (of_channels(3), ["--labels", "labels.txt"], "labels.txt has 10 labels; the model gives 3 scores"),
        (of_channels(3), ["--preprocess", "keras"], "keras.applications"),
        (lambda tf: tf.identity(tf.placeholder(tf.float32, [None, 8, 8, 3])), [], "--raw writes it"),
        (lambda tf: tf.identity(tf.placeholder(tf.float32, [None, None, None, 3])), [], "give --input_height"),
        (lambda tf: tf.identity(tf.placeholder(tf.string, [None])), [], "takes encoded files"),
        (lambda tf: tf.Variable([1.0]) * tf.placeholder(tf.float32, [None, 8, 8, 3]), [], "is not frozen"),
        (writes_a_file, [], "writes files (WriteFile)"),
        (None, [], "not a frozen graph, a SavedModel or a Keras model"),
    ],
)
def test_what_a_model_cannot_do_is_one_sentence_before_the_first_image(
    build: Callable[[Any], object] | None,
    flags: list[str],
    said: str,
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.txt").write_text("\n".join(LABELS))
    Path("g.pb").write_bytes(b"\x07 no model")
    if build is not None:
        graph_file(tmp_path, build)
    assert main(["label", "g.pb", str(photos), *flags]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert not Path("witness").exists()


def test_a_graph_that_says_one_image_at_a_time_is_believed_only_if_it_is_true(tmp_path: Path) -> None:
    def any_number(tf: Any) -> None:
        tf.reduce_mean(tf.placeholder(tf.float32, [1, 8, 8, 3], name="x"), [1, 2], name="mean")

    def only_one(tf: Any) -> None:
        x = tf.placeholder(tf.float32, [1, 8, 8, 3], name="x")
        tf.expand_dims(tf.reshape(tf.reduce_mean(x, [1, 2]), [3]), 0, name="mean")

    batch = np.random.default_rng(0).random((5, 8, 8, 3), np.float32)
    for build, size in ((any_number, 4), (only_one, 1)):
        predictor = Predictor(graph_file(tmp_path, build), batch=4)
        assert predictor.batch == size
        assert predictor(batch) == pytest.approx(batch.mean((1, 2)), abs=1e-6)


def test_any_tensor_of_a_graph_can_be_the_input(tmp_path: Path) -> None:
    """As in the retrained Inception graphs: the file's own input is an encoded image, `Mul` is what people feed."""

    def retrained(tf: Any) -> None:
        content = tf.placeholder(tf.string, [], name="DecodeJpeg/contents")
        image = tf.expand_dims(tf.cast(tf.image.decode_jpeg(content, channels=3), tf.float32), 0)
        scaled = tf.multiply(tf.image.resize_bilinear(image, [8, 8]), 1 / 128, name="Mul")
        keep = tf.placeholder_with_default(1.0, [], name="keep_prob")
        tf.multiply(tf.reduce_mean(scaled, [1, 2]), keep, name="final_result")

    path = graph_file(tmp_path, retrained)
    with pytest.raises(HotloopError, match="takes encoded files"):
        Predictor(path)
    batch = np.random.default_rng(0).random((5, 8, 8, 3), np.float32)
    for name in ("Mul", "Mul:0", "import/Mul"):
        assert Predictor(path, input=name)(batch) == pytest.approx(batch.mean((1, 2)), abs=1e-6)


def test_raw_outputs_of_any_shape_are_written(frozen: Path, photos: Path, tmp_path: Path) -> None:
    output = tmp_path / "raw.jsonl"
    assert main(["label", str(frozen), str(photos), "--raw", "--output", str(output)]) == 0
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [len(row["raw"]) for row in rows] == [10] * 8
    assert rows[0]["raw"] == pytest.approx(label_image(frozen, photos / "a.jpg").tolist(), abs=1e-5)
