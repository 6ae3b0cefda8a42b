"""Double precision: arrays of NumPy's that become tensors as they are, and what is multiplied and solved in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hotloop.record.log import Log

LARGE = 10_000  # elements: of less, next to nothing is computed
LONG = 2e-4  # seconds of an operation: of a shorter one, nobody asks
_PRODUCTS = ("MatMul", "BatchMatMul", "Conv", "DepthwiseConv", "Einsum")
_NEED_DIGITS = (
    "Cholesky", "MatrixSolve", "MatrixTriangularSolve", "MatrixInverse", "MatrixDeterminant", "SelfAdjointEig", "Eig",
    "Svd", "Qr", "LogMatrixDeterminant", "BandedTriangularSolve", "TridiagonalSolve",
)  # fmt: skip


def converted(log: Log, array: Any, dtype: Any) -> None:
    """An array becomes a tensor."""
    if dtype is None and array.size >= LARGE and array.dtype.char == "d":
        log.emit("doubles.array", totals={"bytes": float(array.nbytes)})


def computed(log: Log, operation: str, seconds: float, result: Any) -> None:
    """An eager operation has taken long; `seconds` with those that it stands for."""
    kind = _kind(operation)
    if kind and _is_double(result):
        log.emit(kind, seconds=seconds)


def traced(graph: Any) -> dict[str, float]:
    """How many operations of each kind a function has, those of its loops included; one that is handed no doubles is
    not gone through."""
    found: dict[str, float] = {}
    if any(map(_is_double, getattr(graph, "inputs", ()))):
        for operation in _operations(graph):
            kind = _kind(operation.type)
            if kind and operation.outputs and _is_double(operation.outputs[0]):
                found[kind] = found.get(kind, 0.0) + 1.0
    return found


def _operations(graph: Any) -> Iterator[Any]:
    yield from graph.get_operations()
    for function in getattr(graph, "_functions", {}).values():
        inner = getattr(function, "graph", None)
        if inner is not None:
            yield from inner.get_operations()


def _kind(operation: str) -> str:
    if operation.startswith(_PRODUCTS):
        return "doubles.multiplied"
    return "doubles.solved" if operation.startswith(_NEED_DIGITS) else ""


def _is_double(tensor: Any) -> bool:
    return getattr(getattr(tensor, "dtype", None), "name", "") == "float64"
