"""Which probes go in when the program has imported each library."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes import (
    Install,
    arrays,
    built,
    concats,
    eager,
    graphs,
    install_all,
    keras,
    loads,
    observe,
    rows,
    sessions,
    traces,
    unrolled,
)
from hotloop.record.probes.data import Pipelines
from hotloop.record.probes.eager import OpCounter
from hotloop.record.probes.switches import Switches
from hotloop.record.recorder import Recorder

InstallOf = Callable[[Log, str], None]  # of the Keras that is imported by this name


def arrivals(recorder: Recorder, ops: OpCounter, options: Mapping[str, Any]) -> dict[str, Callable[[], None]]:
    """What to do when the program has imported each library."""
    log, switches, found = recorder.log, Switches(), traces.Traces()
    pipelines = Pipelines()
    loops = keras.KerasLoops(recorder.tracks, switches, pipelines)
    observer = observe.Observer(recorder.observables) if options["observe"] else None
    if observer is not None:
        recorder.living["observed"] = lambda: observer.count
    for_tensorflow: list[tuple[str, Install]] = [
        ("compiled functions made", found.install_functions),
        ("traces", found.install_traces),
        ("compiled calls", found.install_calls),
        ("large constants", unrolled.install_constants),
        ("concatenations", concats.install),
        ("row by row", rows.install_map_fn),
        ("tapes", rows.install_tapes),
        ("sessions", sessions.install),
        ("graphs", graphs.install),
        ("models loaded", loads.install_tensorflow),
        ("gradients", eager.install_gradients),
        ("updates by v1 optimizers", eager.install_v1_updates),
        ("data sets", pipelines.install_datasets),
        ("waiting for input", pipelines.install_iterators),
        ("Python in input pipelines", pipelines.install_python),
        ("functions run eagerly", switches.install_eagerly),
        ("threads", switches.install_threads),
        ("options of input pipelines", switches.install_pipelines),
    ]
    for_keras: list[tuple[str, InstallOf]] = [
        ("Keras loops", loops.install),
        ("Keras models compiled", loops.install_compile),
        ("Keras objects made", built.install),
        ("precision", switches.install_precision),
        ("Keras models loaded", loads.install_keras),
        ("updates by Keras optimizers", eager.install_updates),
    ]
    if options["sample"]:
        for_tensorflow += [
            ("eager operations", ops.install),
            ("arrays handed over", lambda log: arrays.install(log, ops)),
        ]
    if observer is not None:
        for_tensorflow += [
            ("session results", observer.install_sessions),
            ("results", observer.install_tensors),
        ]
        for_keras.append(("predictions", observer.install_keras))

    if options["seed"] is not None:
        for_tensorflow.append(("seeds of graphs", lambda log: observe.seed_graphs(log, int(options["seed"]))))

    def seed() -> None:
        if options["seed"] is not None:
            observe.seed_everything(int(options["seed"]))

    def tensorflow_arrived() -> None:
        install_all(log, for_tensorflow)
        seed()

    def keras_arrived(package: str) -> None:
        install_all(log, [(what, _of(package, install)) for what, install in for_keras])

    seed()
    return {
        **({"numpy": seed} if options["seed"] is not None else {}),
        "tensorflow": tensorflow_arrived,
        "keras": functools.partial(keras_arrived, "keras"),
        "tf_keras": functools.partial(keras_arrived, "tf_keras"),  # Keras 2, also beside Keras 3
    }


def _of(package: str, install: InstallOf) -> Install:
    return lambda log: install(log, package)
