"""A labelling run that is killed at any moment can go on, and ends as if it had not been."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.label.journal import Journal, check_output, finished, part_of
from hotloop.label.rows import Row, to_json
from hotloop.model import HotloopError

PATHS = ["a.jpg", 'b"\n.jpg', "ä.jpg", "d.jpg"]
LINES = [to_json(Row(path, ("cat", "dog"), (0.75, 0.25))) for path in PATHS]
SETTINGS = {"model": "abc", "top_k": 2, "batch": 8}


def whole(output: Path) -> bytes:
    """What a run that nobody interrupts writes."""
    journal = Journal(output, SETTINGS, PATHS, resume=False)
    journal.append(LINES)
    journal.publish(raw=False, width=2)
    return output.read_bytes()


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_cut_off_after_any_byte_it_goes_on_without_losing_or_repeating_a_row(ending: str, tmp_path: Path) -> None:
    wanted = whole(tmp_path / f"whole.{ending}")
    rows = "".join(f"{line}\n" for line in LINES).encode()
    output = tmp_path / f"out.{ending}"
    for end in range(len(rows) + 1):
        begun = Journal(output, SETTINGS, PATHS, resume=False)
        begun.close()
        (part_of(output) / "rows.jsonl").write_bytes(rows[:end])
        output.unlink(missing_ok=True)
        journal = Journal(output, SETTINGS, PATHS, resume=True)
        assert journal.done == rows[:end].count(b"\n")
        assert not output.exists()
        journal.append(LINES[journal.done :])
        journal.publish(raw=False, width=2)
        assert output.read_bytes() == wanted
        assert not part_of(output).exists()


def test_it_goes_on_with_the_batch_that_was_chosen_then(tmp_path: Path) -> None:
    Journal(tmp_path / "out.csv", SETTINGS, PATHS, resume=False).close()
    assert Journal(tmp_path / "out.csv", {**SETTINGS, "batch": 4}, PATHS, resume=True).settings["batch"] == 8


def test_it_does_not_go_on_with_other_settings_or_other_images(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "out.csv", SETTINGS, PATHS, resume=False)
    journal.append(LINES[:2])
    journal.close()
    with pytest.raises(HotloopError, match="another top_k \\(2, now 3\\)"):
        Journal(tmp_path / "out.csv", {**SETTINGS, "top_k": 3}, PATHS, resume=True)
    with pytest.raises(HotloopError, match="other images"):
        Journal(tmp_path / "out.csv", SETTINGS, PATHS[1:], resume=True)
    Journal(tmp_path / "out.csv", SETTINGS, [*PATHS, "new.jpg"], resume=True).close()  # more at the end is no trouble


@pytest.mark.parametrize("resume", [True, False])
def test_two_runs_never_write_the_same_output_or_take_each_others_rows(tmp_path: Path, resume: bool) -> None:
    journal = Journal(tmp_path / "out.csv", SETTINGS, PATHS, resume=False)
    journal.append(LINES)
    with pytest.raises(HotloopError, match="another run"):
        Journal(tmp_path / "out.csv", SETTINGS, PATHS, resume=resume)
    journal.publish(raw=False, width=2)
    assert (tmp_path / "out.csv").exists()


def test_the_output_of_before_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    before = whole(output)
    with pytest.raises(HotloopError, match="--overwrite"):
        check_output(output, resume=False, overwrite=False)
    check_output(output, resume=False, overwrite=True)
    journal = Journal(output, SETTINGS, PATHS[:1], resume=False)
    assert output.read_bytes() == before
    journal.append(LINES[:1])
    journal.publish(raw=False, width=2)
    assert output.read_bytes() == before[: len(LINES[0]) + 1]


def test_a_finished_run_has_nothing_to_resume_and_an_interrupted_one_has(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    whole(output)
    assert finished(output, resume=True)
    Journal(output, SETTINGS, PATHS, resume=False).close()
    assert not finished(output, resume=True)
    with pytest.raises(HotloopError, match="--resume goes on"):
        check_output(output, resume=False, overwrite=False)


def test_nothing_is_left_beside_the_output(tmp_path: Path) -> None:
    whole(tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
