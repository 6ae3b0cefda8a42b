"""What differs between the arguments of two traces: which leaf, what it is now, what it was before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

Difference = tuple[str, str, str, str]  # kind, argument, now, before

_WORST_FIRST = ("structure", "value", "dtype", "shape", "other")
_LENGTH = 60
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def difference(now: Any, earlier: Sequence[Any]) -> Difference:
    """Against the most similar of the earlier signatures, latest first; kind `same` when nothing differs."""
    best: list[Difference] | None = None
    for before in earlier:
        found = list(_signatures(now, before))
        if best is None or len(found) < len(best):
            best = found
    if not best:
        return ("same", "", "", "")
    return min(best, key=lambda one: _WORST_FIRST.index(one[0]))


def taken(now: Any) -> list[list[Any]] | None:
    """Name, dtype and shape of each argument; None unless all are plain tensors of a known rank."""
    found = []
    for name, parameter in now.parameters.items():
        spec = parameter.type_constraint
        if not hasattr(spec, "shape") or not hasattr(spec, "dtype") or getattr(spec.shape, "rank", None) is None:
            return None
        found.append([name, _dtype(spec), list(spec.shape)])
    return found


def _signatures(now: Any, before: Any) -> Iterator[Difference]:
    ours, theirs = now.parameters, before.parameters
    if list(ours) != list(theirs):
        yield ("structure", "", ", ".join(ours), ", ".join(theirs))
        return
    for name in ours:
        yield from _leaves(name, ours[name].type_constraint, theirs[name].type_constraint)


def _leaves(name: str, now: Any, before: Any) -> Iterator[Difference]:
    if now == before:
        return
    if type(now) is not type(before):
        yield ("structure", name, _short(now), _short(before))
    elif hasattr(now, "shape") and hasattr(now, "dtype"):
        yield from _tensors(name, now, before)
    elif hasattr(now, "value"):
        yield ("value", name, _short(now.value), _short(before.value))
    elif (parts := _parts(now)) is not None:
        yield from _containers(name, parts, _parts(before) or {}, now, before)
    elif hasattr(now, "_ref"):
        yield ("value", name, _short(now._ref()), _short(before._ref()))
    else:
        yield ("other", name, _short(now), _short(before))


def _tensors(name: str, now: Any, before: Any) -> Iterator[Difference]:
    if now.dtype != before.dtype:
        yield ("dtype", name, _dtype(now), _dtype(before))
    elif str(now.shape) != str(before.shape):
        yield ("shape", name, str(now.shape), str(before.shape))
    else:
        yield ("other", name, _short(now), _short(before))


def _containers(name: str, ours: dict[str, Any], theirs: dict[str, Any], now: Any, before: Any) -> Iterator[Difference]:
    if list(ours) != list(theirs):
        yield ("structure", name, _short(now), _short(before))
        return
    for key in ours:
        yield from _leaves(f"{name}{key}", ours[key], theirs[key])


def _parts(container: Any) -> dict[str, Any] | None:
    """The leaves of TensorFlow's Tuple, List, Dict, NamedTuple and Attrs types, by how one indexes them."""
    if hasattr(container, "mapping"):
        return {f"[{key!r}]": item for key, item in container.mapping.items()}
    inner = getattr(container, "components_tuple", container)
    if hasattr(inner, "components"):
        return {f"[{index}]": item for index, item in enumerate(inner.components)}
    if hasattr(inner, "attributes"):
        names = getattr(container, "attribute_names", range(len(inner.attributes)))
        return {f".{key}": item for key, item in zip(names, inner.attributes, strict=False)}
    return None


def _dtype(spec: Any) -> str:
    return str(getattr(spec.dtype, "name", spec.dtype))


def _short(value: Any) -> str:
    text = _ADDRESS.sub("", repr(value))
    return text if len(text) <= _LENGTH else text[: _LENGTH - 3] + "..."
