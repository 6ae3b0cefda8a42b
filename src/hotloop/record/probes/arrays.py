"""Arrays that eager code hands to TensorFlow: only how much that is, and only while operations are counted."""

from __future__ import annotations

import functools
import sys
from typing import Any

from hotloop.record.log import Log
from hotloop.record.probes import doubles
from hotloop.record.probes.eager import OpCounter
from hotloop.record.probes.watch import disguise, part, put

NAME = "convert_to_eager_tensor"


def install(log: Log, ops: OpCounter) -> None:
    """Each number in a sum passes here as well: to look at all of them would cost a twentieth of a tiny operation."""
    module = part("tensorflow.python.framework.constant_op")
    original = part(f"tensorflow.python.framework.constant_op:{NAME}")
    array = sys.modules["numpy"].ndarray

    @functools.wraps(original)
    def converted(value: Any, ctx: Any, dtype: Any = None) -> Any:
        if value.__class__ is array:
            log.handed += value.size * ops.stands_for
            doubles.converted(log, value, dtype)
        return original(value, ctx, dtype)

    disguise(converted, original)
    put(log, module, NAME, converted)
    ops.beside = lambda is_open: setattr(module, NAME, converted if is_open else original)
