"""Plain graphs (those of sessions): who makes them, who adds operations, who imports."""

from __future__ import annotations

import sys
from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes.watch import operations, part, watch


def install(log: Log) -> None:
    graph = part("tensorflow.python.framework.ops:Graph")
    importer = part("tensorflow.python.framework.importer")
    ops = part("tensorflow.python.framework.ops")

    def graph_begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        caller = sys._getframe(2)  # outside our own two frames: the user's, when the user wrote `tf.Graph()`
        return True if type(args[0]) is graph and log.frames.shown(caller.f_code.co_filename) else None

    def op_begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return True if type(args[0]) is graph else None  # a FuncGraph is a trace, counted as one

    def import_begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target = ops.get_default_graph()
        return (target, operations(target)) if type(target) is graph else None

    def import_ends(state: Any, seconds: float, result: Any) -> None:
        target, before = state
        log.emit("import", seconds=seconds, totals={"ops": operations(target) - before})

    watch(
        log,
        graph,
        "__init__",
        graph_begins,
        lambda state, seconds, result: log.emit("graph", seconds=seconds),
    )
    watch(
        log,
        graph,
        "_create_op_internal",
        op_begins,
        lambda state, seconds, result: log.emit("ops", seconds=seconds),
    )
    watch(log, importer, "_import_graph_def_internal", import_begins, import_ends)
