"""What a cause is said to cost, where several share a loop: each its own time, and no time twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from recordings import PROGRAM, eager, event, loop, recording, sample, stack

from hotloop import words
from hotloop.diagnose import diagnose, merge
from hotloop.laps import loop_seconds
from hotloop.model import Event, Finding, Place, Recording, Series
from hotloop.rules import (
    all_rules,
    dataset_in_loop,
    double_precision,
    fetch_per_step,
    find_rule,
    model_built_in_loop,
    no_cache,
    predict_in_loop,
)
from hotloop.rules.feeding import feeds

LOOP = loop(10, 30, [0.1] * 100)


def predicted(line: int, seconds: float, rows: float, batches: float = 1.0, count: int = 100) -> Event:
    return event("predict", line, seconds=seconds, count=count, rows=rows * count, batches=batches * count)


def test_predict_on_a_batch_a_step_is_named_when_its_fixed_cost_weighs() -> None:
    ran = recording([LOOP], events=[predicted(12, 9.0, 32), event("call", 12, seconds=1.0)])
    (finding,) = predict_in_loop.diagnose(ran)
    assert finding.cost is not None
    assert finding.cost.seconds == pytest.approx(8.0)
    assert "on 32 rows a call" in finding.message
    assert not list(predict_in_loop.diagnose(recording([LOOP], events=[predicted(12, 9.0, 3200, batches=100)])))


def test_predict_on_a_chunk_of_a_large_job_is_left_alone() -> None:
    """All at once may not fit."""
    assert not list(predict_in_loop.diagnose(recording([LOOP], events=[predicted(12, 9.0, 2000, batches=4)])))


def test_each_predict_is_charged_by_the_batches_it_computed() -> None:
    calls = [predicted(12, 2.0, 32), predicted(13, 9.0, 128, batches=4), event("call", 12, seconds=5.0, count=500)]
    small, large = predict_in_loop.diagnose(recording([LOOP], events=calls))
    assert small.cost
    assert large.cost
    assert small.cost.seconds == pytest.approx(1.0)
    assert large.cost.seconds == pytest.approx(5.0)


def test_double_precision_costs_nothing_where_next_to_nothing_is_computed() -> None:
    called = [predicted(12, 9.0, 1), Event("floatx", stack(3), "float64")]
    samples = [sample("compute", 5.0, 12)]
    slight = recording([LOOP], samples, events=[*called, event("call", 12, seconds=0.1)])
    heavy = recording([LOOP], samples, events=[*called, event("call", 12, seconds=4.9)])
    assert not list(double_precision.diagnose(slight))
    assert len(list(double_precision.diagnose(heavy))) == 1


def test_double_precision_costs_nothing_in_small_eager_operations() -> None:
    switched = [Event("floatx", stack(3), "float64")]
    assert not list(double_precision.diagnose(recording([LOOP], [eager(8.0, 12)], events=switched)))
    assert list(double_precision.diagnose(recording([LOOP], [sample("compute", 8.0, 12)], events=switched)))


def test_what_a_callback_does_in_each_step_of_a_fit_is_in_that_loop() -> None:
    fit = loop(40, 40, [0.1] * 100, kind="fit", stack=stack(40))
    called = replace(predicted(12, 9.0, 32), stack=stack(12, 40))
    (finding,) = predict_in_loop.diagnose(recording([fit], events=[called]))
    assert finding.loop == fit.place
    assert "100 times in 100 steps" in finding.message
    own = loop(30, 50, [0.5] * 20)
    (finding,) = predict_in_loop.diagnose(recording([fit, own], events=[called]))
    assert finding.loop == own.place
    assert not list(predict_in_loop.diagnose(recording([fit], events=[predicted(12, 9.0, 32)])))


def test_a_predict_within_a_fit_is_no_second_loop_of_the_program() -> None:
    fit = loop(40, 40, [0.1] * 60, kind="fit", stack=stack(40))
    inner = loop(12, 12, [0.05] * 60, kind="predict", stack=stack(12, 40))
    assert loop_seconds(recording([fit, inner])) == pytest.approx(6.0)


def test_doubles_of_numpy_that_are_multiplied_are_named_where_they_become_tensors() -> None:
    arrays = [event("doubles.array", 5, count=1, bytes=9e6), event("doubles.array", 12, bytes=4e6)]
    eagerly = event("doubles.multiplied", 13, seconds=4.0)
    step = Event("trace.first", stack(14), "step", totals={"doubles.multiplied": 2.0})
    compiled = replace(event("call", 14, seconds=2.03), subject="step")
    (finding,) = double_precision.diagnose(recording([LOOP], events=[*arrays, eagerly, step, compiled]))
    assert finding.place.line == 5
    assert finding.cost
    assert finding.cost.seconds == pytest.approx(3.0)

    asked_for = [eagerly, step, compiled]
    slight = [*arrays, replace(eagerly, seconds=0.5)]
    solving = [*arrays, eagerly, event("doubles.solved", 15)]
    in_a_function = [*arrays, eagerly, replace(step, totals={"doubles.solved": 1.0})]
    for events in (asked_for, slight, solving, in_a_function):
        assert not list(double_precision.diagnose(recording([LOOP], events=events)))


def test_one_line_in_two_loops_is_told_apart_by_its_loops() -> None:
    ran = recording(
        [loop(10, 20, [0.1] * 60), loop(22, 30, [0.1] * 40, start=6.0)],
        events=[event("predict", 5, at, seconds=4.0, count=40, rows=40.0, batches=40.0) for at in (12, 25)],
    )
    measured = list(predict_in_loop.diagnose(ran))
    source = Finding("predict-in-loop", Place(PROGRAM, 5), "", "static", "high", loop=measured[0].loop)
    (finding,) = merge(measured, [source])
    assert finding.message.endswith("Together with the loop on line 22, 8.00 s.")


def test_two_pipelines_read_on_one_line_share_its_wait() -> None:
    def pipeline(called_from: int, seconds: float) -> Event:
        stages = {"made": [], "stages": [{"stage": "Generator", "parallel": 1.0, "buffered": 0.0}]}
        totals = {"0:Generator seconds": seconds, "0:Generator elements": 50.0}
        return Event("pipeline", stack(11, called_from), totals=totals, examples=(stages,))

    ran = recording(
        [loop(11, 13, [0.05] * 100)],
        events=[
            pipeline(31, 3.0),
            pipeline(35, 1.0),
            replace(event("input", 11, 31, seconds=2.0), subject=f"{PROGRAM}:11"),
            replace(event("input", 11, 35, seconds=2.0), subject=f"{PROGRAM}:11"),
        ],
    )
    assert [feed.blocked for feed in feeds(ran)] == [pytest.approx(3.0), pytest.approx(1.0)]


def fed(ending: float, slept: float) -> float:
    """Seconds that a loop waited for a pipeline which took a while to end."""
    waited = event("input", 10, seconds=2.0 + ending, ending=ending, slept=slept)
    looked = Event(
        "pipeline",
        stack(10),
        totals={"read": 100.0, "1:FlatMap seconds": 2.0, "1:FlatMap elements": 100.0},
        examples=({"stages": [{"stage": "FlatMap", "parallel": 1.0, "buffered": 0.0}], "made": []},),
    )
    made = event("iterator", 10, count=1)
    (feed,) = feeds(recording([LOOP], events=[replace(waited, subject=f"{PROGRAM}:10"), looked, made]))
    return feed.blocked


@pytest.mark.parametrize(("away", "blocked"), [(1.0, 6.4), (5.0, 0.0)])
def test_a_fit_waited_for_what_was_not_between_a_batch_and_the_call_for_the_next(away: float, blocked: float) -> None:
    """Tracing is no waiting, and a stage that was busy all the time is none where TensorFlow says otherwise."""
    looked = Event(
        "pipeline",
        stack(20),
        "library",
        totals={"read": 90.0, "between": 5.0, "away": away, "1:FlatMap seconds": 8.0, "1:FlatMap elements": 90.0},
        examples=({"stages": [{"stage": "Root"}, {"stage": "FlatMap", "parallel": 1.0, "buffered": 0.0}], "made": []},),
    )
    fit = loop(20, 20, [0.1] * 100, kind="fit", stack=stack(20))
    (feed,) = feeds(recording([fit], [sample("trace", 2.0, 20)], events=[looked]))
    assert feed.blocked == pytest.approx(blocked)
    assert not feed.bound


@pytest.mark.parametrize("epochs", [5, 1])
def test_a_fit_reads_a_pipeline_once_an_epoch_however_many_iterators_keras_makes(epochs: int) -> None:
    """It leaves each of them between two looks: most elements are never counted."""
    made = [{"stage": "Batch"}, {"stage": "ParallelMap", "line": f"{PROGRAM}:7", "reads": True}]
    looked = Event(
        "pipeline",
        stack(20),
        "library",
        totals={
            "read": 10.0, "between": 5.0, "away": 1.0, "1:MapAndBatch seconds": 1.0, "1:MapAndBatch elements": 10.0,
            "1:MapAndBatch per": 10.0, "2:TensorSlice seconds": 0.0, "2:TensorSlice elements": 160.0,
            "2:TensorSlice per": 10.0,
        },
        examples=({"stages": [{"stage": "Root"}, {"stage": "MapAndBatch", "parallel": 2.0, "buffered": 0.0}],
                   "made": made},),
    )  # fmt: skip
    fit = loop(20, 20, [0.1] * 100, kind="fit", stack=stack(20))
    iterators = replace(event("iterator", 20, count=2 * epochs), subject="library")
    ran = recording([fit], events=[looked, iterators, event("epoch", 20, count=epochs)])
    (feed,) = feeds(ran)
    assert (feed.passes, feed.read) == (epochs, 100.0)
    assert feed.nodes[0].seconds == pytest.approx(10.0)
    findings = list(no_cache.diagnose(ran))
    assert [f"each of {epochs} passes" in finding.message for finding in findings] == [True] * (epochs > 1)


@pytest.mark.parametrize(("name", "each", "saved"), [("map-before-batch", 1e-5, 5.7), ("no-cache", 1e-2, 4.5)])
def test_two_maps_of_a_pipeline_are_both_mended(name: str, each: float, saved: float) -> None:
    """All of them take whole batches then, and a cache goes after the last: what is read for them is kept too."""
    totals = {"read": 20.0, "0:Root seconds": 0.0, "0:Root elements": 20.0}
    elements = {"1:MapAndBatch": 20.0, "2:ParallelMapV2": 4.0 / each, "3:TensorSlice": 4.0 / each}
    for (stage, count), seconds in zip(elements.items(), (1.7, 4.0, 0.3), strict=True):
        totals |= {f"{stage} seconds": seconds, f"{stage} elements": count}
    stages = [{"stage": stage, "parallel": 1.0, "buffered": 0.0} for stage in ("Root", "Batch", "ParallelMap", "Slice")]
    made = [{"stage": "Batch"}, {"stage": "ParallelMap", "line": f"{PROGRAM}:7"}, {"stage": "TensorSlice"}]
    looked = Event("pipeline", stack(20), totals=totals, examples=({"stages": stages, "made": made},))
    taken = replace(event("input", 20, seconds=6.0), subject=f"{PROGRAM}:20")
    ran = recording([LOOP], events=[looked, taken, event("iterator", 20, count=4)])
    (finding,) = find_rule(name).diagnose(ran)  # type: ignore[misc]
    assert finding.cost is not None
    assert finding.cost.seconds == pytest.approx(saved, rel=0.01)


def test_what_a_pipeline_takes_to_end_is_charged_to_no_cause() -> None:
    assert fed(ending=3.0, slept=2.9) == pytest.approx(2.0)
    assert fed(ending=0.0, slept=0.0) == pytest.approx(2.0)


def test_a_pipeline_that_is_made_for_every_step_is_not_also_a_slow_one() -> None:
    looked = Event(
        "pipeline",
        stack(20),
        totals={"read": 20.0, "1:Shuffle seconds": 2.0, "1:Shuffle elements": 20.0},
        examples=({"stages": [{"stage": "Shuffle", "parallel": 1.0, "buffered": 0.0}], "made": []},),
    )
    taken = replace(event("input", 20, seconds=6.0), subject=f"{PROGRAM}:20")
    causes = {
        made: next(feeds(recording([LOOP], events=[looked, taken, event("iterator", 20, count=made)]))).cause
        for made in (1, 100)
    }
    assert causes == {1: "unknown", 100: ""}


def wrapped(*stages: int, slower: float = 0.01) -> Recording:
    """Epochs that take longer and longer, each with an iterator over so many stages."""
    made = [{"stage": name, "line": f"{PROGRAM}:{line}"} for name, line in 3 * [("Shuffle", 12), ("Map", 11)]]
    looked = Event(
        "pipeline",
        stack(20),
        totals={"read": 200.0, "1:Shuffle seconds": 2.0, "1:Shuffle elements": 200.0},
        examples=({"stages": [{"stage": "Shuffle", "parallel": 1.0, "buffered": 0.0}], "made": made},),
    )
    taken = replace(event("input", 20, seconds=3.0), subject=f"{PROGRAM}:20")
    iterators = Event("iterator", stack(20), count=20, examples=tuple({"stages": depth} for depth in stages))
    steps = [0.1 + slower * step for step in range(20)]
    return recording([loop(10, 30, steps)], events=[looked, taken, iterators])


def test_a_data_set_that_each_epoch_wraps_again_is_named_and_its_stages_are_not() -> None:
    ran = wrapped(4, 6, 8, 10, 36, 38, 40, 42)
    (finding,) = dataset_in_loop.diagnose(ran)
    assert finding.place.line == 11
    assert "from 4 stages to 42 in 20 steps" in finding.message
    assert finding.cost
    assert finding.cost.seconds == pytest.approx(1.9, rel=0.2)
    assert next(feeds(ran)).cause == ""
    for other in (wrapped(4, 4, 4), wrapped(4, 42, slower=0.0)):
        assert not list(dataset_in_loop.diagnose(other))
        assert next(feeds(other)).cause == "unknown"


def untold(*python: Event, made: tuple[str, ...] = ("Batch", "Map")) -> Recording:
    """A loop that waited 6 s of 10 for a pipeline, under a TensorFlow that does not tell what stages take."""
    stages = [{"stage": stage, "line": f"{PROGRAM}:{7 - number}", "count": 3} for number, stage in enumerate(made)]
    looked = Event("pipeline", stack(20), totals={"read": 100.0}, examples=({"stages": [], "made": stages},))
    taken = replace(event("input", 20, seconds=6.0), subject=f"{PROGRAM}:20")
    return recording(
        [LOOP], [sample("input", 6.0, 20)], events=[looked, taken, event("iterator", 20, count=1), *python]
    )


def test_where_tensorflow_does_not_tell_what_stages_take_the_wait_is_told_and_what_python_took() -> None:
    causes = {
        "nothing known": untold(),
        "Python computes": untold(event("python", 6, seconds=5.0, busy=4.9)),
        "Python waits": untold(event("python", 6, seconds=5.0, busy=0.1)),
        "Python for each example": untold(event("python", 6, seconds=0.9, count=18_000, busy=0.9)),
        "a little Python": untold(event("python", 6, seconds=0.9, busy=0.9)),
        "cached too late": untold(made=("Cache", "Repeat", "Map")),
    }
    found = {name: next(feeds(ran)).cause for name, ran in causes.items()}
    assert list(found.values()) == ["unknown", "python", "serial", "python", "unknown", "order"], found
    findings = [f for ran in causes.values() for f in diagnose(ran, all_rules()).findings]
    assert [(f.rule, f.cost and round(f.cost.seconds, 1)) for f in findings] == [
        ("input-bound", 6.0), ("python-in-pipeline", 5.0), ("serial-map", pytest.approx(5.0, rel=0.6)),
        ("python-in-pipeline", 0.9), ("input-bound", 6.0), ("pipeline-order", pytest.approx(6.0, rel=0.6)),
    ]  # fmt: skip
    assert "does not tell which stage" in findings[0].message


@pytest.mark.parametrize(("seconds", "line"), [(0.6, 6), (5.0, 7)])
def test_a_map_that_fills_the_whole_shuffle_before_it_is_looked_at_is_named(seconds: float, line: int) -> None:
    made = [
        {"stage": name, "line": f"{PROGRAM}:{at}"} for name, at in (("Batch", 8), ("Shuffle", 7), ("ParallelMap", 6))
    ]
    stages = [{"stage": name, "parallel": 1.0, "buffered": 0.0} for name in ("BatchV2", "Shuffle")]
    totals = {"read": 100.0, "0:BatchV2 seconds": 0.1, "1:Shuffle seconds": seconds, "1:Shuffle elements": 100.0}
    looked = Event("pipeline", stack(20), totals=totals, examples=({"stages": stages, "made": made},))
    taken = replace(event("input", 20, seconds=6.0), subject=f"{PROGRAM}:20")
    ran = recording([LOOP], events=[looked, taken, event("iterator", 20, count=2)])
    (finding,) = find_rule("input-bound").diagnose(ran)  # type: ignore[misc]
    assert finding.place.line == line
    assert ("`shuffle` takes in all elements" in finding.message) == (line == 6)


def test_what_the_source_says_of_a_pipeline_stands_where_its_stages_could_not_be_measured() -> None:
    source = [Finding("map-before-batch", Place(PROGRAM, 20), "", "static", "high")]
    assert [f.rule for f in diagnose(untold(), all_rules(), source).findings] == ["input-bound", "map-before-batch"]
    quick = replace(untold(), events=(), samples=())
    assert not diagnose(quick, all_rules(), source).findings  # it ran, and nothing waited for it


def test_a_loop_over_rows_that_the_source_names_costs_what_its_ops_took_beside_their_kernels() -> None:
    source = Finding("row-by-row", LOOP.place, "", "static", "high", loop=LOOP.place)
    ran = recording([LOOP], [replace(eager(8.0, 20), op_seconds=3.0), sample("input", 2.0, 20)])
    (finding,) = diagnose(ran, [find_rule("row-by-row")], [source]).findings
    assert finding.basis == "both"
    assert finding.cost is not None
    assert finding.cost.seconds == pytest.approx(5.0, rel=0.02)
    few = loop(10, 30, [0.1] * 4)
    assert not diagnose(recording([few], [eager(0.4, 20)]), [find_rule("row-by-row")], [source]).findings


def test_examples_that_an_eager_step_takes_one_by_one_cost_the_time_of_their_loop_and_not_of_the_training() -> None:
    examples = loop(14, 16, [0.01] * 640, runs=20)
    ran = recording([loop(10, 30, [0.5] * 20), examples], [eager(6.4, 15), eager(3.0, 18)])
    source = Finding("example-loop-in-step", Place(PROGRAM, 15), "", "static", "medium", loop=examples.place)
    (finding,) = diagnose(ran, [find_rule("example-loop-in-step")], [source]).findings
    assert finding.cost is not None
    assert finding.cost.seconds == pytest.approx(6.2, rel=0.02)


def test_two_lines_in_one_loop_have_one_cost_in_the_sentence() -> None:
    ran = recording(
        [loop(10, 20, [0.1] * 100)],
        events=[event("predict", at, seconds=4.0, count=100, rows=100.0, batches=100.0) for at in (12, 15)],
    )
    measured = list(predict_in_loop.diagnose(ran))
    source = Finding("predict-in-loop", Place(PROGRAM, 11, 0, 16), "", "static", "high", loop=measured[0].loop)
    (finding,) = merge(measured, [source])
    assert finding.cost is not None
    assert f"({words.duration(finding.cost.seconds)} of" in finding.message
    assert finding.message.endswith(f"With that of {PROGRAM}:15.")


def test_a_loop_that_waits_for_a_queue_or_for_a_service_is_told_where() -> None:
    queue = recording([LOOP], [sample("input", 6.0, 12), sample("compute", 3.0, 14)])
    (finding,) = diagnose(queue, all_rules()).findings
    assert (finding.rule, finding.place.line) == ("input-bound", 12)
    assert finding.cost is not None
    assert finding.cost.seconds == pytest.approx(6.0)

    def asking(busy: float, queued: float = 0.0) -> Recording:
        """Six of ten seconds go by on a line of Python, in a generator that the loop goes over."""
        from_afar = replace(sample("python", 6.0, 3), stack=stack(3, 31, 10))
        reading = loop(30, 32, [0.1] * 100, yields=True)
        looks = tuple(0.5 * number for number in range(21))
        cpu, others = (
            Series(name, "seconds", looks, tuple(part * at for at in looks))
            for name, part in (("cpu", busy), ("queued", queued))
        )
        ran = recording([LOOP, reading], [from_afar, sample("compute", 3.0, 14)])
        return replace(ran, cpu=cpu, queued=others)

    (finding,) = diagnose(asking(busy=0.3), all_rules()).findings
    assert (finding.rule, finding.place.line, finding.loop and finding.loop.line) == ("input-bound", 3, 10)
    assert finding.cost is not None
    assert finding.cost.seconds == pytest.approx(3.0), "only what is computed can go on meanwhile"
    assert not diagnose(asking(busy=0.95), all_rules()).findings
    assert not diagnose(asking(busy=0.3, queued=0.6), all_rules()).findings, "others had the cores"


@pytest.mark.parametrize(("traced", "ops", "named"), [(8.0, 700, True), (8.0, 900, False), (3.0, 700, False)])
def test_a_model_for_each_fold_is_named_where_tracing_alike_ones_is_most_of_the_work(
    traced: float, ops: int, named: bool
) -> None:
    defined = "keras/src/backend/tensorflow/trainer.py:1"
    steps = Event(
        "trace.new-function", stack(14), "one_step_on_data", count=19, seconds=traced,
        examples=({"defined": defined, "ops": 700.0}, {"defined": defined, "ops": float(ops)}),
    )  # fmt: skip
    ran = recording(
        [loop(10, 30, [0.5] * 20)],
        [sample("trace", traced, 14)],
        events=[
            Event("built", stack(12), "Sequential", count=20, seconds=0.1, totals={"models": 20.0, "dropped": 18.0}),
            event("fit", 14, seconds=9.0, count=20, batches=200.0),
            event("predict", 15, seconds=0.5, count=20, rows=20.0, batches=20.0),
            steps,
            replace(steps, stack=stack(15), subject="one_step_on_data_distributed", seconds=0.4),
        ],
    )
    found = list(model_built_in_loop.diagnose(ran))
    assert [finding.place.line for finding in found] == [12] * named
    assert all("20 times in 20 steps" in finding.message for finding in found)
    (asked,) = predict_in_loop.diagnose(ran)
    assert asked.cost
    assert asked.cost.seconds == pytest.approx(0.1), "a new model's step is traced however it is asked"


def test_of_runs_that_are_all_fed_the_same_the_costliest_stays() -> None:
    def saving(again: float) -> float:
        trained = event("session.run", 16, seconds=6.0, again=again)
        others = [event("session.run", line, seconds=1.5, again=100.0, updated=100.0) for line in (17, 18)]
        (finding,) = find_rule("fetch-per-step").diagnose(recording([LOOP], events=[trained, *others]))  # type: ignore[misc]
        assert finding.cost is not None
        return finding.cost.seconds

    assert saving(again=0.0) == pytest.approx(3.0), "each step has data of its own"
    assert saving(again=100.0) == pytest.approx(3.0), "the same data in every step"


def test_models_that_are_loaded_anew_are_charged_with_the_traces_of_their_steps_unless_others_are_built_there() -> None:
    traced = Event(
        "trace.new-function", stack(14), count=99, seconds=3.0,
        examples=({"defined": "keras/src/backend/tensorflow/trainer.py:1"},),
    )  # fmt: skip
    again = replace(traced, stack=stack(14), examples=({"defined": f"{PROGRAM}:3"},))
    loads = [event("load", line, seconds=1.0) for line in (12, 13)]
    built = replace(event("built", 15, models=100.0), subject="Sequential")

    def costs(*events: Event) -> list[float]:
        found = find_rule("model-load-in-loop").diagnose(recording([LOOP], events=events))  # type: ignore[misc]
        return [finding.cost.seconds for finding in found if finding.cost]

    assert costs(*loads, traced) == pytest.approx([2.49, 2.49])
    assert costs(*loads, again) == costs(*loads, traced, built) == pytest.approx([0.99, 0.99])


def test_two_models_that_are_compiled_again_share_what_is_traced() -> None:
    def compiled(line: int) -> Event:
        return event("compile", line, seconds=0.1, count=100, again=99.0)

    traced = Event(
        "trace.new-function", stack(14), count=200, seconds=8.0,
        examples=({"defined": "keras/src/backend/tensorflow/trainer.py:1"},),
    )  # fmt: skip
    ran = recording([LOOP], [sample("trace", 8.0, 14)], events=[compiled(11), compiled(12), traced])
    costs = [finding.cost.seconds for finding in find_rule("compile-in-loop").diagnose(ran) if finding.cost]  # type: ignore[misc]
    assert costs == [pytest.approx(4.1, abs=0.02)] * 2


# -- values that are fetched one by one --------------------------------------------------------------------------------


def fetched_again(count: int, **totals: float) -> list[Finding]:
    runs = [event("session.run", 12), event("session.run", 14, count=count, again=float(count), **totals)]
    return list(fetch_per_step.diagnose(recording([LOOP], [], events=runs)))


def test_a_look_at_the_loss_now_and_then_is_no_fetch_per_step() -> None:
    assert fetched_again(20, updated=20.0) == []
    (finding,) = fetched_again(100, updated=100.0)
    assert "with the same feed 1 times a step in 100 steps" in finding.message


def test_values_that_a_look_now_and_then_fetches_one_by_one_are_counted() -> None:
    (finding,) = fetched_again(20)
    assert "with the same feed 20 times in 100 steps" in finding.message
