"""The labelling job beyond one machine: Ray Data hands shards of the list to a pool of workers, one Predictor each.

A worker returns the rows of a shard whole, and this process writes them: only the images, the model and its labels
have to be at the same path on every machine. A worker that dies is started again, and so is the shard that it had, a
few times: Ray alone would go on for ever where an image kills whoever decodes it.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.label.job import Summary, label, prepared, settings_of
from hotloop.label.options import Options
from hotloop.label.rows import Row, to_json
from hotloop.label.shards import Shards, shard_size
from hotloop.model import HotloopError

if TYPE_CHECKING:
    from hotloop.label.job import Sink, Step

TRIES = 4  # of a shard
STORE = 256 << 20  # bytes for rows on their way, in a Ray of our own
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


@dataclasses.dataclass(frozen=True)
class Share:
    """What of a machine a worker gets."""

    workers: int
    cpus: int
    gpus: float

    @property
    def resources(self) -> dict[str, float]:
        return {"num_cpus": self.cpus, "num_gpus": self.gpus}


@dataclasses.dataclass(frozen=True)
class Ready:
    """What the first worker found out about the model."""

    batch: int = 0
    width: int = 0
    prepared: str = ""
    wrong: str = ""


def run(
    options: Options,
    paths: Sequence[str],
    sink: Sink,
    step: Step | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Summary:
    """As `hotloop.label.job.run`, on many workers; always to an output."""
    output = options.output_path
    if output is None:
        raise HotloopError("--engine ray writes a file: name it with --output.")
    options = dataclasses.replace(options, model=os.path.abspath(options.model), labels=_absolute(options.labels))
    with _cluster(options) as share:
        ready = _first_look(options, len(paths), share)
        settings = {**settings_of(options), "batch": ready.batch}
        settings["shard"] = shard_size(len(paths), share.workers, ready.batch)
        shards = Shards(Path(output), settings, paths, options.resume)
        options = dataclasses.replace(options, batch=shards.settings["batch"])
        try:
            summary = _label(options, shards, share, step, clock)
            shards.publish(options.raw, ready.width)
        finally:
            shards.close()
    return dataclasses.replace(summary, batch=shards.settings["batch"], prepared=ready.prepared)


def _label(options: Options, shards: Shards, share: Share, step: Step | None, clock: Callable[[], float]) -> Summary:
    missing, total = shards.missing(), len(shards.paths)
    done = total - sum(len(shards[shard]) for shard in missing)
    summary = Summary(resumed=done)
    began = clock()
    for shard, lines, part in _computed(options, shards, missing, share):
        shards.keep(shard, lines)
        for name in ("images", "failures", "decode", "compute", "write"):
            setattr(summary, name, getattr(summary, name) + getattr(part, name))
        summary.failed += part.failed[: 5 - len(summary.failed)]
        if part.failed and options.fail_fast:
            raise HotloopError(f"{part.failed[0].path}: {part.failed[0].error}.")
        if step is not None:
            step(done + summary.images, total)
    summary.seconds = clock() - began
    return summary


def _computed(options: Options, shards: Shards, missing: list[int], share: Share) -> Iterator[tuple[int, str, Summary]]:
    """Shards as they come: which one, its rows, how it went."""
    import ray

    if not missing:
        return
    tries = ray.remote(num_cpus=0)(Tries).remote()
    told = {"options": options, "here": os.getcwd(), "cpus": share.cpus, "tries": tries}
    # As JSON: names that are not UTF-8 are no text for Arrow.
    work = [{"shard": shard, "paths": json.dumps(list(shards[shard]))} for shard in missing]
    pool = ray.data.ActorPoolStrategy(size=min(share.workers, len(missing)), max_tasks_in_flight_per_actor=2)
    shared = ray.data.from_items(work, override_num_blocks=len(work))
    computed = shared.map(Labeller, fn_constructor_kwargs=told, compute=pool, **share.resources)
    try:
        for row in computed.iter_rows():
            if row["wrong"]:
                raise HotloopError(row["wrong"])
            yield int(row["shard"]), str(row["lines"]), _summary(json.loads(row["summary"]))
    except ray.exceptions.RayError as error:
        raise HotloopError(f"Ray gave up: {_reason(error)} --resume goes on from here.") from error


class Tries:
    """How often each shard was begun: kept by a process that decodes nothing."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def another(self, shard: int) -> int:
        self.counts[shard] += 1
        return self.counts[shard]


class Labeller:
    """A worker."""

    def __init__(self, options: Options, here: str, cpus: int, tries: Any) -> None:
        _keep_to(cpus)
        self.tries = tries
        with suppress(OSError):  # where all names are absolute, the folder need not exist on this machine
            os.chdir(here)
        self.predictor, self.rows = prepared(options, 0)

    def __call__(self, work: dict[str, Any]) -> dict[str, Any]:
        import ray

        paths = json.loads(work["paths"])
        done = {"shard": work["shard"], "lines": "", "summary": "", "wrong": ""}
        if ray.get(self.tries.another.remote(work["shard"])) > TRIES:
            part = f"{len(paths)} images from {paths[0]} to {paths[-1]}"
            return done | {"wrong": f"{TRIES} workers died while they labelled the {part}."}
        lines: list[str] = []

        def sink(made: Sequence[Row]) -> None:
            lines.extend(f"{to_json(row)}\n" for row in made)

        summary = label(self.predictor, self.rows, paths, 0, sink, False, None, time.perf_counter)
        return done | {"lines": "".join(lines), "summary": json.dumps(dataclasses.asdict(summary))}


def _summary(told: dict[str, Any]) -> Summary:
    return Summary(**{**told, "failed": [Row(**row) for row in told["failed"]]})


def _first_look(options: Options, images: int, share: Share) -> Ready:
    """On a worker: this machine may have no TensorFlow and no GPU, and its memory is for the workers."""
    import ray

    look: Any = ray.remote(max_calls=1, max_retries=1, **share.resources)(_look)
    ready: Ready = ray.get(look.remote(options, images, share.cpus))
    if ready.wrong:
        raise HotloopError(ready.wrong)
    return ready


def _look(options: Options, images: int, cpus: int) -> Ready:
    _keep_to(cpus)
    try:
        predictor, rows = prepared(options, images)
    except HotloopError as error:
        return Ready(wrong=str(error))
    width = predictor.classes if rows.raw else rows.top_k
    return Ready(predictor.batch, width, predictor.decoder.prepare.told)


def _keep_to(cpus: int) -> None:
    """TensorFlow takes every core it sees; the other workers on this machine have theirs."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(cpus)
    tf.config.threading.set_inter_op_parallelism_threads(cpus)


@contextmanager
def _cluster(options: Options) -> Iterator[Share]:
    """A Ray of our own on this machine, or the one at the address."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise HotloopError("--engine ray needs Ray: pip install 'hotloop[ray]'.") from error
    own: dict[str, Any] = {} if options.address else {"include_dashboard": False, "object_store_memory": STORE}
    try:
        with _hushed():
            ray.init(options.address or "local", log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise HotloopError(_no_cluster(options.address, error)) from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield workers_for(options, ray.cluster_resources(), len(ray.nodes()))
    finally:
        ray.shutdown()


@contextmanager
def _hushed() -> Iterator[None]:
    """Ray's core says on stderr that it has been told to say nothing."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def workers_for(options: Options, resources: dict[str, float], machines: int) -> Share:
    """One worker for each GPU or, without, for each machine: a Predictor uses all cores that it is given."""
    gpus = options.gpus_per_worker
    if gpus > resources.get("GPU", 0.0):
        raise HotloopError(f"--gpus-per-worker {gpus:g}: Ray sees {resources.get('GPU', 0.0):g} GPUs.")
    workers = options.workers or (int(resources["GPU"] // gpus) if gpus else machines)
    cores = int(resources.get("CPU", 1.0))
    if workers > cores:
        raise HotloopError(f"--workers {workers}: Ray has {cores} CPUs, and a worker needs one.")
    return Share(workers, cores // workers, gpus)


def _absolute(path: str | None) -> str | None:
    return os.path.abspath(path) if path else path


def _no_cluster(address: str | None, error: BaseException) -> str:
    if "AuthToken" in f"{error} {error.__cause__}":
        return f"the Ray cluster at {address} wants a token: RAY_AUTH_MODE=token and RAY_AUTH_TOKEN hand it one."
    where = f"there is no Ray cluster at {address}" if address else "no Ray could be started here"
    return f"{where}: {_reason(error)}"


def _reason(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") + "."
