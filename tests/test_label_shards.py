"""Shards of a labelling job: rows in any order become one list, and a run that was cut off goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hotloop.cli import main
from hotloop.label.options import Options
from hotloop.label.ray import workers_for
from hotloop.label.shards import EACH, LARGEST, Shards, shard_size
from hotloop.model import HotloopError

PATHS = [f"{number}.jpg" for number in range(10)]
SETTINGS = {"model": "abc", "batch": 2, "shard": 4}


def rows(paths: list[str]) -> str:
    return "".join(json.dumps({"path": path, "labels": [], "scores": []}) + "\n" for path in paths)


def opened(output: Path, resume: bool = False, paths: list[str] = PATHS, **settings: object) -> Shards:
    return Shards(output, {**SETTINGS, **settings}, paths, resume)


def test_a_shard_is_whole_batches_and_every_worker_gets_several() -> None:
    for images, workers, batch in ((10, 2, 32), (1000, 2, 8), (1000, 3, 7), (10**6, 4, 64), (1, 1, 1)):
        size = shard_size(images, workers, batch)
        assert size % batch == 0
        assert size < LARGEST + batch
        if images >= workers * EACH * batch * 2:
            assert images / size >= workers * EACH / 2


def test_shards_that_come_out_of_order_are_published_in_order(tmp_path: Path) -> None:
    shards = opened(tmp_path / "rows.jsonl")
    for shard in (2, 0, 1):
        shards.keep(shard, rows(list(shards[shard])))
    shards.publish(raw=False, width=1)
    found = [json.loads(line)["path"] for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert found == PATHS
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_shard_that_comes_twice_counts_once(tmp_path: Path) -> None:
    shards = opened(tmp_path / "rows.jsonl", paths=PATHS[:4])
    shards.keep(0, rows(PATHS[:4]))
    shards.keep(0, rows(PATHS[:4]))
    shards.publish(raw=False, width=1)
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 4


def test_a_resumed_job_has_only_the_missing_shards_to_do_and_keeps_their_size(tmp_path: Path) -> None:
    first = opened(tmp_path / "rows.jsonl")
    first.keep(1, rows(PATHS[4:8]))
    first.close()
    (tmp_path / "rows.jsonl.part" / "shard-00002.tmp").write_text("torn")
    again = opened(tmp_path / "rows.jsonl", resume=True, shard=8, batch=8)
    assert again.missing() == [0, 2]
    assert (again.size, again.settings["batch"]) == (4, 2)


def test_a_job_of_other_images_or_another_model_is_not_resumed(tmp_path: Path) -> None:
    opened(tmp_path / "rows.jsonl").close()
    with pytest.raises(HotloopError, match="another list of images"):
        opened(tmp_path / "rows.jsonl", resume=True, paths=PATHS[::-1])
    with pytest.raises(HotloopError, match="another model"):
        opened(tmp_path / "rows.jsonl", resume=True, model="xyz")


def test_two_runs_never_write_the_same_output(tmp_path: Path) -> None:
    first = opened(tmp_path / "rows.jsonl")
    with pytest.raises(HotloopError, match="another run"):
        opened(tmp_path / "rows.jsonl", resume=True)
    first.close()


def test_workers_share_the_cores_and_each_has_a_gpu_where_it_asked_for_one() -> None:
    def share(resources: dict[str, float], machines: int = 1, **told: object) -> tuple[int, int, float]:
        found = workers_for(Options("model.pb", **told), resources, machines)  # type: ignore[arg-type]
        return found.workers, found.cpus, found.gpus

    assert share({"CPU": 8.0}) == (1, 8, 0.0)
    assert share({"CPU": 8.0}, workers=3) == (3, 2, 0.0)
    assert share({"CPU": 32.0}, machines=4) == (4, 8, 0.0)
    assert share({"CPU": 32.0, "GPU": 8.0}, gpus_per_worker=2.0) == (4, 8, 2.0)
    with pytest.raises(HotloopError, match="Ray sees 0 GPUs"):
        share({"CPU": 8.0}, gpus_per_worker=1.0)
    with pytest.raises(HotloopError, match="Ray has 2 CPUs"):
        share({"CPU": 2.0}, workers=3)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--engine", "ray"], "name it with --output"),
        (["--engine", "ray", "--output", "rows.jsonl"], "pip install 'hotloop[ray]'"),
        (["--workers", "2"], "go with --engine ray"),
    ],
)
def test_what_ray_needs_is_said_before_anything_starts(
    flags: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in ("model.pb", "a.jpg"):
        (tmp_path / name).write_bytes(b"")
    assert main(["label", "model.pb", "a.jpg", *flags]) == 2
    assert said in capsys.readouterr().err
