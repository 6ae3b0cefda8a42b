"""Input: data sets and iterators made, elements waited for, what each stage of a pipeline took, Python inside it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any, TypeAlias

from hotloop.record.frames import Stack
from hotloop.record.log import Log, Tally
from hotloop.record.probes import unseen
from hotloop.record.probes.traces import definition
from hotloop.record.probes.watch import FAILED, part, watch

LOOK_EVERY = 0.25  # seconds between two looks into pipelines
LOOK_SHARE = 200  # a look is followed by a pause of 200 times what it cost
MOST_STAGES = 12
DEEPEST = 1000  # stages that are counted
ENDS = 0.015  # seconds in which the threads of a pipeline end when nothing holds them up
SAME = 32  # elements after which it is asked again which line takes them


_Model: TypeAlias = tuple[list[Any], list[float]]  # stages; seconds between an element given and the next asked for


class _Reader:
    """One iterator: where it was made, how many elements it gave, and what its stages had taken at the last look."""

    def __init__(self, where: str, tally: Tally, pipeline: Tally, stages: list[dict[str, Any]]) -> None:
        self.where = where
        self.tally = tally
        self.pipeline = pipeline
        self.stages = stages
        self.elements = 0
        self.taken: Tally | None = None  # where its elements are waited for
        self.has_ended = False
        self.seen: dict[str, float] = {}
        self.looked = 0.0  # when it was last looked into, or may be taken to have been; 0: never
        self.left = 0.0  # when the program let go of it
        self.before = ""  # what was done meanwhile

    def ends(self, how: str) -> None:
        """`ended`: read to its end; `dropped`: thrown away before."""
        if self.has_ended:
            return
        self.has_ended = True
        totals = self.tally.totals
        totals[how] = totals.get(how, 0.0) + 1
        totals["elements"] = totals.get("elements", 0.0) + self.elements
        if how == "dropped":
            totals["dropped after"] = totals.get("dropped after", 0.0) + self.elements


class _Farewell:
    """Goes last of all that an iterator holds, so that the end of its C++ side is timed.

    The autotuner may sleep through it: taking down the pipeline of a loop can take as long again as the loop took.
    """

    def __init__(self, log: Log, reader: _Reader) -> None:
        self._log, self._reader = log, reader

    def __del__(self) -> None:
        self._log.attempt(self._said)

    def _said(self) -> None:
        reader = self._reader
        if not reader.left or self._log.deaf:
            return
        self._log.doing = reader.before
        seconds = perf_counter() - reader.left
        slept = max(0.0, seconds - ENDS)
        (reader.taken or reader.tally).add(seconds, {"ending": seconds, "slept": slept}, count=0)


class Pipelines:
    def __init__(self) -> None:
        self._lines: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # where a data set was made
        self._known: weakref.WeakKeyDictionary[Any, list[dict[str, Any]]] = weakref.WeakKeyDictionary()  # its stages
        self._readers: dict[int, _Reader] = {}  # by id of a living iterator
        self._latest: Callable[[], Any] = lambda: None
        self._due = 0.0
        self._model: Callable[[Any], _Model | None] | None = None

    # -- data sets and iterators -------------------------------------------------------------------

    def install_datasets(self, log: Log) -> None:
        dataset = part("tensorflow.python.data.ops.dataset_ops:DatasetV2")

        def made(state: Any, seconds: float, result: Any) -> None:
            line = log.frames.nearest_user(through=("tensorflow", "wrapt"))
            if result is FAILED or line is None:
                return
            self._lines[state] = f"{line[0]}:{line[1]}"
            log.emit("dataset", _shown(state))

        watch(log, dataset, "__init__", lambda args, kwargs: args[0], made)

    def install_iterators(self, log: Log) -> None:
        iterator = part("tensorflow.python.data.ops.iterator_ops:OwnedIterator")
        eagerly = part("tensorflow.python.eager.context:executing_eagerly")
        try:
            self._model = _model_reader()
        except LookupError as missing:
            self._model = _no_model(log, unseen("what each stage of an input pipeline takes", missing))

        def made(state: Any, seconds: float, result: Any) -> None:
            dataset = getattr(state, "_dataset", None)
            if result is FAILED or dataset is None or not eagerly():
                return
            stack = log.frames.here()
            by = "" if log.frames.called_by_user(("tensorflow", "wrapt")) else "library"
            tally = log.tally("iterator", by, stack)
            tally.add(seconds, example={"stages": _depth(dataset)})
            where = f"{stack[0][0]}:{stack[0][1]}" if stack else ""
            reader = _Reader(where, tally, log.tally("pipeline", by, stack), self._stages(dataset))
            if reader.pipeline.totals.get("read"):  # else the step that takes the first element is traced before
                reader.looked = perf_counter()
            self._readers[id(state)] = reader
            self._latest = weakref.ref(state)
            weakref.finalize(state, self._drops, log, id(state), reader).atexit = False
            state._hotloop_farewell = _Farewell(log, reader)

        watch(log, iterator, "__init__", lambda args, kwargs: args[0], made)

        def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return args[0] if eagerly() else None

        def ends(state: Any, seconds: float, result: Any) -> None:
            reader = self._readers.get(id(state))
            if reader is None:
                return
            if result is FAILED:
                self._look(state, reader, last=True)
                reader.ends("ended")
                return
            if reader.taken is None or reader.elements % SAME == 0:
                reader.taken = log.tally("input", reader.where, log.frames.here())
            reader.taken.add(seconds)
            reader.elements += 1
            if perf_counter() >= self._due:
                self._look(state, reader)

        watch(log, iterator, "__next__", begins, ends)

    def _drops(self, log: Log, key: int, reader: _Reader) -> None:
        reader.ends("dropped")
        if self._readers.get(key) is reader:
            del self._readers[key]
        reader.left, reader.before, log.doing = perf_counter(), log.doing, "input"

    def look_if_due(self) -> None:
        """Into the pipeline of the latest iterator: for loops that take elements inside a compiled function."""
        if perf_counter() >= self._due and (iterator := self._latest()) is not None:
            reader = self._readers.get(id(iterator))
            if reader is not None:
                self._look(iterator, reader)

    def _stages(self, dataset: Any) -> list[dict[str, Any]]:
        """From the last stage to the source, along the first of each stage's inputs. Keras reads one in each epoch."""
        known = self._known.get(dataset)
        if known is not None:
            return known
        found: list[dict[str, Any]] = []
        stage = dataset
        while stage is not None and len(found) < MOST_STAGES:
            found.append({"stage": _shown(stage), "line": self._lines.get(stage, ""), **_about(stage)})
            inputs = stage._inputs()
            stage = inputs[0] if inputs else None
        self._known[dataset] = found
        return found

    # -- stages ------------------------------------------------------------------------------------

    def _look(self, iterator: Any, reader: _Reader, *, last: bool = False) -> None:
        """What each stage has taken since the look before, by TensorFlow's own model of the pipeline.

        At the end the early stages are gone already: `per` counts the elements that a stage was seen for. Of the time
        `between` two looks, `away` is what passed between a batch that was handed out and the call for the next.
        """
        started = perf_counter()
        model = self._model(iterator) if self._model else None
        if model is None:  # switched off by the program
            return
        nodes, gaps = model
        read = float(nodes[0].num_elements if nodes else reader.elements)
        fresh = read - reader.seen.get("read", 0.0)
        totals = {"read": fresh}
        if reader.looked and fresh > 0 and (recent := gaps[-int(fresh) :]):  # it remembers the last hundred
            between = started - reader.looked
            totals |= {"between": between, "away": min(between, sum(recent) / len(recent) * fresh)}
        reader.looked = started
        shown = []
        for number, node in enumerate(nodes):
            name = f"{number}:{node.name}"
            parallel = next((p.state_value for p in node.parameters if p.name == "parallelism"), 1.0)
            shown.append({"stage": node.name, "parallel": parallel, "buffered": node.buffered_elements})
            now = {"seconds": node.processing_time / 1e9, "elements": float(node.num_elements), "per": read}
            for what, value in now.items():
                key = f"{name} {what}"
                totals[key] = value - reader.seen.get(key, 0.0)
                reader.seen[key] = value
        reader.seen["read"] = read
        reader.pipeline.add(0.0, totals, None if last else {"stages": shown, "made": reader.stages})
        self._due = started + max(LOOK_EVERY, LOOK_SHARE * (perf_counter() - started))

    # -- Python ------------------------------------------------------------------------------------

    def install_python(self, log: Log) -> None:
        registry = part("tensorflow.python.ops.script_ops:FuncRegistry")
        known: dict[Any, tuple[str, Stack]] = {}

        def registered(state: Any, seconds: float, result: Any) -> None:
            if result is not FAILED:
                name, defined, is_users = definition(log, state)
                known[_key(result)] = (f"{name} {defined}" if is_users else "", log.frames.here())

        def called(state: Any, seconds: float, result: Any) -> None:
            token, began = state
            subject, stack = known.get(token, ("", ()))
            log.tally("python", subject, stack).add(seconds, {"busy": thread_time() - began})

        watch(log, registry, "insert", lambda args, kwargs: args[1], registered)
        watch(log, registry, "__call__", lambda args, kwargs: (_key(args[1]), thread_time()), called)


def _model_reader() -> Callable[[Any], _Model | None]:
    """Nodes from the last stage to the source, and the gaps; None where the program has switched the model off."""
    ask = part("tensorflow.python.ops.gen_experimental_dataset_ops:iterator_get_model_proto")
    model = part("tensorflow.core.framework.model_pb2:ModelProto")

    def read(iterator: Any) -> _Model | None:
        try:
            said = model.FromString(_value(ask(iterator._iterator_resource)))
        except Exception:  # noqa: BLE001  `NotFoundError` without autotuning; whatever else, the program goes on
            return None
        nodes = [said.nodes[number] for number in sorted(said.nodes)][:MOST_STAGES]
        return (nodes, [gap / 1e6 for gap in getattr(said, "gap_times", ())]) if nodes else None

    return read


def _no_model(log: Log, note: str) -> Callable[[Any], _Model | None]:
    """No nodes, which is said once there is a pipeline to look into: how it is made is seen all the same."""

    def read(iterator: Any) -> _Model | None:
        log.note(note)
        return [], []

    return read


def _about(dataset: Any) -> dict[str, Any]:
    """What tells stages of one kind apart: how large a buffer, how often repeated, whether random, whether it reads."""
    about: dict[str, Any] = {}
    buffer, count = getattr(dataset, "_buffer_size", None), getattr(dataset, "_count", None)
    if buffer is not None:
        about |= {"buffer": _number(buffer), "element": _bytes(dataset.element_spec)}
    if count is not None:
        about["count"] = _number(count)
    graph = getattr(getattr(getattr(dataset, "_map_func", None), "function", None), "graph", None)
    if graph is not None:
        kinds = {operation.type for operation in graph.get_operations()}
        about["random"] = any("Random" in kind or ("Stateless" in kind and "Partitioned" not in kind) for kind in kinds)
        about["reads"] = any(kind.startswith(("ReadFile", "Decode")) for kind in kinds)
    return about


def _depth(dataset: Any) -> int:
    """How many stages an element goes through, from the source on along the first of each stage's inputs."""
    depth, inputs = 1, dataset._inputs()
    while inputs and depth < DEEPEST:
        depth, inputs = depth + 1, inputs[0]._inputs()
    return depth


def _number(tensor: Any) -> int:
    return int(_value(tensor))


def _value(tensor: Any) -> Any:
    """Not by `numpy()`: that is watched, and this is none of the program's own."""
    return tensor._numpy_internal() if hasattr(tensor, "_numpy_internal") else tensor


def _bytes(spec: Any) -> int:
    """Of one element, where its shape is known."""
    if isinstance(spec, tuple | list | dict):
        return sum(_bytes(one) for one in (spec.values() if isinstance(spec, dict) else spec))
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    elements = shape.num_elements() if shape is not None else None
    return int(elements or 0) * int(getattr(dtype, "size", 0) or 0)


def _key(token: Any) -> Any:
    return token.decode() if isinstance(token, bytes) else token


def _shown(dataset: Any) -> str:
    """`_ParallelMapDataset` as `ParallelMap`."""
    return type(dataset).__name__.strip("_").removesuffix("V2").removesuffix("Dataset")
