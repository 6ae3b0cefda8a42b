"""The same results, or not: what counts as a difference between two programs' output."""

from __future__ import annotations

from typing import Any

import pytest

from hotloop.leavings import Left
from hotloop.results import Output, same_results


def judge(before: str | list[str], after: str) -> bool | None:
    runs = [before, before] if isinstance(before, str) else before
    return same_results([Output(text.encode()) for text in runs], [Output(after.encode())]).same


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("loss 0.123456\n", "loss 0.123457\n"),
        ("loss nan\n", "loss nan\n"),
        ("-0.0000001 1.0", "0.0000001 1.0"),
        ("[1.5 2.25]\n", "[1.5        2.25000006]\n"),
        ("inf 3", "inf 3"),
        ("cat.jpg tabby 0.93 in 0.31 s\n", "cat.jpg tabby 0.93 in 0.02 s\n"),
        ("sum 4 at 12 images/s", "sum 4 at 480 images/s"),
        ("sum 4 after 0:00:12.5", "sum 4 after 0:00:01"),
        ("sum 4 in 1m 12s", "sum 4 in 3s"),
    ],
)
def test_rounding_and_durations_are_not_differences(before: str, after: str) -> None:
    assert judge(before, after) is True


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("loss 0.1234\n", "loss 0.1244\n"),
        ("class 100000\n", "class 100001\n"),  # whole numbers are names or counts
        ("tabby 0.9\n", "beagle 0.9\n"),
        ("1 2 3\n", "1 2\n"),
        ("1 2\n", "1 2 3\n"),
        ("nan 1.0", "0.5 1.0"),
        ("inf 1.0", "-inf 1.0"),
        ("1.5", "-1.5"),
        ("conv2d_1 1.0", "conv2d_2 1.0"),
        ("max 3.0 min 0.5", "max 4.0 min 0.5"),
        ("done", ""),
        ("far 5m away", "far 6m away"),
    ],
)
def test_a_changed_answer_is_a_difference(before: str, after: str) -> None:
    assert judge(before, after) is False


def test_values_that_change_from_run_to_run_are_masked_and_counted() -> None:
    before = [Output(b"seen 0.31 at 0x7f01 sum 4.5"), Output(b"seen 0.44 at 0x7f02 sum 4.5")]
    outcome = same_results(before, [Output(b"seen 0.05 at 0x7f09 sum 4.5")])
    assert outcome.same is True
    assert "2 values on stdout differ" in outcome.notes[0]
    assert same_results(before, [Output(b"seen 0.05 at 0x7f09 sum 4.9")]).same is False


def bar(done: int, of: int, timing: str, metrics: str = "") -> str:
    """One drawing of the Keras progress bar, as it is written to a pipe."""
    return f"\r\x1b[1m{done}/{of}\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m━━\x1b[0m \x1b[1m{timing}{metrics}" + "\b" * 30


def test_the_keras_progress_bar_is_not_part_of_the_answer_but_its_metrics_are() -> None:
    slow = (
        "Epoch 1/1\n" + bar(3, 10, "0s\x1b[0m 9ms/step", " - loss: 0.9") + bar(10, 10, "1s 45ms/step", " - loss: 0.5")
    )
    fast = "Epoch 1/1\n" + bar(10, 10, "0s 720us/step", " - loss: 0.5") * 2
    assert judge(slow + "\n", fast + "\n") is True
    assert judge(slow, fast.replace("0.5", "0.6")) is False


def test_the_bar_of_predict_may_vanish() -> None:
    one = bar(1, 1, "0s 52ms/step") + bar(1, 1, "0s 64ms/step") + "\nanswer 7\n"
    assert judge(one + one, "answer 7\nanswer 7\n") is True
    assert judge(one + one, "answer 7\nanswer 8\n") is False


def test_durations_that_were_not_compared_are_counted() -> None:
    before = [Output(b"sum 4.5 in 3.1 s")] * 2
    assert same_results(before, [Output(b"sum 4.5 in 0.2 s")]).notes == (
        "on stdout, not compared: 1 of its durations and rates",
    )
    assert same_results(before, [Output(b"sum 4.5 in 3.1 s")]).notes == ()


def test_output_that_changes_its_length_cannot_be_compared() -> None:
    assert judge(["1.0", "1.0 2.0"], "1.0") is None


def value(total: float, dtype: str = "float32", shape: tuple[int, ...] = (2,)) -> dict[str, Any]:
    return {
        "kind": "numpy",
        "dtype": dtype,
        "shape": shape,
        "sum": total,
        "abs_sum": total,
        "head": [total / 2] * 2,
    }


def silent(*values: dict[str, Any], stdout: bytes = b"") -> Output:
    return Output(stdout, values)


def test_a_silent_program_is_compared_by_the_values_that_left_tensorflow() -> None:
    before = [silent(value(4.0), value(1.0)), silent(value(4.0), value(2.0))]
    assert same_results(before, [silent(value(4.00001), value(3.0))]).same is True
    assert same_results(before, [silent(value(4.1), value(1.0))]).same is False
    assert same_results(before, [silent(value(4.0, shape=(2, 1)), value(1.0))]).same is False


def test_whole_numbers_that_left_tensorflow_are_compared_exactly() -> None:
    before = [silent(value(100000, "int64"))] * 2
    assert same_results(before, [silent(value(100001, "int64"))]).same is False


def test_values_that_cannot_be_paired_leave_the_question_open() -> None:
    outcome = same_results([silent(value(4.0))] * 2, [silent(value(2.0), value(2.0))])
    assert outcome.same is None
    assert "1 before and 2 after" in outcome.notes[0]


def test_a_line_that_only_says_how_long_it_took_proves_nothing() -> None:
    assert judge("took 3.1 s\n", "took 0.2 s\n") is None


def test_text_without_numbers_is_checked_against_the_values_too() -> None:
    before = [silent(value(4.0), stdout=b"done\n")] * 2
    assert same_results(before, [silent(value(9.0), stdout=b"done\n")]).same is False
    assert same_results(before, [silent(value(4.0), stdout=b"done\n")]).same is True
    assert same_results(before, [silent(stdout=b"done\n")]).same is True


def words(*rows: float) -> dict[str, Any]:
    total = sum(rows)
    return {"dtype": "float32", "shape": [len(rows)], "sum": total, "abs_sum": total, "head": list(rows[:4])}


@pytest.mark.parametrize(
    ("after", "same"), [([words(1.0, 2.0, 3.0)], True), ([words(1.0, 2.0, 4.0)], None), ([words(3.0, 3.0)], None)]
)
def test_rows_that_leave_all_at_once_are_compared_by_their_number_and_sums(
    after: list[dict[str, Any]], same: bool | None
) -> None:
    before = Output(b"", (words(1.0), words(2.0), words(3.0)))
    assert same_results([before, before], [Output(b"", tuple(after))]).same is same


def test_of_rows_that_leave_all_at_once_in_a_program_that_was_ended_the_first_numbers_are_compared() -> None:
    def ended(*values: dict[str, Any]) -> Output:
        return Output(b"", values, cut=True)

    before = [ended(words(1.0), words(2.0), words(3.0))] * 2
    assert same_results(before, [ended(words(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))]).same is True
    assert same_results(before, [ended(words(1.0, 2.5, 3.0, 4.0, 5.0, 6.0))]).same is False
    random = [ended(words(1.0), words(2.0)), ended(words(1.5), words(2.5))]
    assert same_results(random, [ended(words(1.0, 2.0, 3.0))]).same is None


def test_of_programs_that_were_ended_the_bars_that_one_draws_between_its_lines_count_for_none() -> None:
    def ended(steps: int, bars: bool, last: str = "") -> Output:
        drawn = f"{bar(1, 1, '0s 12ms/step')}\n" if bars else ""
        text = "".join(f"{drawn}[[{step}.2516 0.4837]]\n" for step in range(steps))
        return Output((text + last).encode(), cut=True)

    before = [ended(20, bars=True), ended(21, bars=True)]
    assert same_results(before, [ended(30, bars=False, last="[[0.2"), ended(30, bars=False)]).same is True
    wrong = [Output(run.stdout.replace(b"[[7.2516", b"[[7.3516"), cut=True) for run in [ended(30, bars=False)] * 2]
    assert same_results(before, wrong).same is False


def test_a_file_that_appears_in_one_run_alone_is_somebody_elses() -> None:
    def wrote(*names: str) -> Output:
        return Output(b"sum 4.5", files={name: Left("bytes", "1") for name in names})

    assert same_results([wrote("a")] * 3, [wrote("a"), wrote("a", "notes.txt"), wrote("a")]).same is True
    assert same_results([wrote("a")] * 3, [wrote("a", "b")] * 3).same is False
