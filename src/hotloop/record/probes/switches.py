"""Switches that a program throws: eager functions, threads and precision of all TensorFlow, options of pipelines."""

from __future__ import annotations

from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes.compilers import HOME
from hotloop.record.probes.watch import FAILED, keras_part, part, watch, watch_everywhere


class Switches:
    """`eagerly`: the user's line that last made every `tf.function` run eagerly; "" while they are compiled."""

    def __init__(self) -> None:
        self.eagerly = ""
        self._calls_are_watched = False

    def install_eagerly(self, log: Log) -> None:
        module = part(f"{HOME}.eager_function_run", f"{HOME}.polymorphic_function")  # the latter up to 2.12

        def thrown(state: Any, seconds: float, result: Any) -> None:
            line = log.frames.nearest_user()
            self.eagerly = f"{line[0]}:{line[1]}" if line and state[0] else ""
            if self.eagerly and not self._calls_are_watched:
                self._calls_are_watched = True  # calls are many: watched only once there is something to see
                self._watch_calls(log)

        watch_everywhere(log, module, "run_functions_eagerly", lambda args, kwargs: (*args, *kwargs.values()), thrown)

    def _watch_calls(self, log: Log) -> None:
        function = part(f"{HOME}.polymorphic_function:Function")
        executing_eagerly = part("tensorflow.python.eager.context:executing_eagerly")
        inside: list[Any] = []

        def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not self.eagerly or inside or not executing_eagerly():
                return None
            inside.append(args[0])
            return self.eagerly, getattr(args[0], "_name", "")

        def ends(state: Any, seconds: float, result: Any) -> None:
            inside.clear()
            log.emit("eager.call", str(state[1]), seconds, example={"eagerly": state[0]})

        watch(log, function, "__call__", begins, ends)

    def install_threads(self, log: Log) -> None:
        module = part("tensorflow.python.framework.config")
        watch_everywhere(
            log, module, "set_intra_op_parallelism_threads",
            lambda args, kwargs: (*args, *kwargs.values()),
            lambda state, seconds, result: log.emit("threads", example={"intra": int(state[0])}),
        )  # fmt: skip

    def install_pipelines(self, log: Log) -> None:
        """What the program itself switches off of all that tf.data does of its own accord: Keras has its reasons."""
        options = part("tensorflow.python.data.util.options:OptionsBase")

        def thrown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
            off = len(args) == 3 and args[2] is False
            return str(args[1]) if off and log.frames.called_by_user() else None

        watch(
            log, options, "__setattr__", thrown,
            lambda name, seconds, result: log.emit("option", name) if result is not FAILED else None,
        )  # fmt: skip

    def install_precision(self, log: Log, package: str) -> None:
        module = keras_part(package, "backend.config", "backend_config")
        watch_everywhere(
            log, module, "set_floatx",
            lambda args, kwargs: (*args, *kwargs.values()),
            lambda state, seconds, result: log.emit("floatx", str(state[0])),
        )  # fmt: skip
