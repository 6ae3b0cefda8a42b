"""The calls of a module that go by a name. What a callee is takes long to find out: its last name is asked first."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from hotloop.source.module import Binding, Call, Module
from hotloop.source.noted import Noted

if TYPE_CHECKING:
    from hotloop.source import Project

GIVES = {"assign", "with", "walrus"}
_RENAMED: Noted[list[Call]] = Noted()


def named(module: Module, project: Project, names: Collection[str]) -> Iterator[tuple[Call, str]]:
    """The calls of what has one of these canonical names, each with its name."""
    lasts = _last_of(frozenset(names))
    spelled = module.calls_of(*[last for last in module.called if last in lasts])
    for call in (*spelled, *_renamed(module, project, lasts.__contains__)):
        name = project.name_at_sight(call.node.func, call.where.scope)
        if name in names:
            yield call, name


def spelled_like(module: Module, project: Project, fits: Callable[[str], bool]) -> Iterator[Call]:
    """The calls whose last name fits, and those of what may have been renamed."""
    yield from module.calls_of(*[last for last in module.called if fits(last)])
    yield from _renamed(module, project, fits)


def _renamed(module: Module, project: Project, fits: Callable[[str], bool]) -> Iterator[Call]:
    """The calls of what may have been renamed, less those whose last name fits."""
    renamed = _RENAMED.of(module, lambda: _all_renamed(module, project))
    return (call for call in renamed if not fits(call.last))


def _all_renamed(module: Module, project: Project) -> list[Call]:
    names = {
        binding.name for binding in module.read_all().bindings if binding.kind in GIVES or binding.kind == "import"
    }
    calls = (call for last, calls in module.called.items() if last in names for call in calls)
    return sorted((call for call in calls if _may_be_renamed(call, project)), key=_position)


def _position(call: Call) -> tuple[int, int]:
    return call.node.lineno, call.node.col_offset


def _may_be_renamed(call: Call, project: Project) -> bool:
    """A bare name that was given a value, here or where it was imported from."""
    func = call.node.func
    if not isinstance(func, ast.Name):
        return False
    owner = call.where.scope.owner(func.id)
    return owner is not None and any(_renames(binding, project) for binding in owner.bindings[func.id])


def _renames(binding: Binding, project: Project) -> bool:
    if binding.kind == "import":
        return binding.imported.rpartition(".")[2] != binding.name or project.is_value(binding)
    return binding.kind in GIVES


@functools.cache
def _last_of(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name.removesuffix("()").rpartition(".")[2] for name in names)
