"""Elements of a tensor that are read one by one: each makes ops of its own, and waits."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hotloop.rules.loops import InLoop, in_loop
from hotloop.rules.moving import changed_names, root_name
from hotloop.rules.names import LOADERS, is_model, is_op
from hotloop.source.heat import SOME, trips
from hotloop.source.module import Call, Loop, Module, Scope, names_read

if TYPE_CHECKING:
    from hotloop.source import Project

MANY = re.compile(r"tf\.(unstack|split|meshgrid|gradients|linalg\.\w+|nn\.\w+|unique\w*|io\.\w+|data\.\w+|map_fn)$")
WRITES = re.compile(r"assign|scatter|apply_gradients")
LOADED = {f"{name}()" for name in LOADERS}
DEPTH = 4


@dataclass(frozen=True)
class Reads:
    """What one loop reads of tensors that it does not make."""

    calls: tuple[Call, ...]  # `boxes[0][i].numpy()`, `float(scores[0][i])`
    found: InLoop

    @property
    def tensors(self) -> list[ast.expr]:
        """What stays the same of each: `out["scores"][0]` of `out["scores"][0][i]`."""
        return [
            _parts(part, changed_names(self.found.loop))[-1].value for call in self.calls if (part := part_of(call))
        ]


def reads(module: Module, project: Project) -> Iterator[Reads]:
    if b"tensorflow" not in module.data or b"import torch" in module.data:
        return
    by_loop: dict[Loop, list[Call]] = {}
    for call in module.calls_of("numpy", "float", "int"):
        loop, part = call.where.loop, part_of(call)
        if loop is not None and part is not None and _is_read(call, part, loop, project):
            by_loop.setdefault(loop, []).append(call)
    for loop, calls in by_loop.items():
        found = in_loop(project, calls[0].where)
        if found is not None:
            # Once, it is some milliseconds: it matters for each of many pictures.
            again = any(len(running.loops) > 1 for running in project.running(calls[0].where))
            found = replace(found.lowered() if again else found.lowered().lowered(), loop=loop, chain=())
            yield Reads(tuple(sorted(calls, key=lambda call: call.place.line)), found)


def part_of(call: Call) -> ast.Subscript | None:
    """`boxes[0][i]` of `boxes[0][i].numpy()` and of `float(boxes[0][i])`."""
    func, args = call.node.func, call.node.args
    if isinstance(func, ast.Attribute) and func.attr == "numpy" and not args and isinstance(func.value, ast.Subscript):
        return func.value
    alone = isinstance(func, ast.Name) and len(args) == 1 and not call.node.keywords
    return args[0] if alone and isinstance(args[0], ast.Subscript) else None


def _is_read(call: Call, part: ast.Subscript, loop: Loop, project: Project) -> bool:
    """Of a tensor that stays as it is in the loop, at a place that changes with the step."""
    root = next(root_name(part), "")
    steps = trips(loop, project) if root and _parts(part) else 0
    if steps is not None and steps < SOME:
        return False
    changed = changed_names(loop)
    if root in changed or not _parts(part, changed):
        return False
    if any(isinstance(n, ast.Attribute) and WRITES.search(n.attr) for n in ast.walk(loop.node)):
        return False
    return _is_tensor(part, call, changed, project)


def _parts(part: ast.expr, changed: Container[str] | None = None) -> list[ast.Subscript]:
    """`x["scores"][0][i]` and `x["scores"][0]`, outwards in: those whose place has a name in it (that is changed)."""
    found = []
    while isinstance(part, ast.Subscript):
        if any(changed is None or name in changed for name in names_read(part.slice)):
            found.append(part)
        part = part.value
    return found


def _indices(part: ast.expr) -> list[ast.expr]:
    """`[0]` and `[i]` of `out["scores"][0][i]`."""
    found = []
    while isinstance(part, ast.Subscript):
        if not _is_key(part):
            found += part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
        part = part.value
    return found


def _is_key(part: ast.Subscript) -> bool:
    return isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str)


def _is_tensor(part: ast.Subscript, call: Call, changed: Container[str], project: Project) -> bool:
    """Whether it is a part of one tensor, and not one of a list of them, nor of an array."""
    scope, indices, keyed = call.where.scope, 0, False
    first = _parts(part, changed)[-1]
    # `outputs[i][0]` may be of a list, one of which is a tensor; `outputs[0][i]`, `boxes[i, 0]` are of a tensor.
    inner = not _indices(first.value) and not isinstance(first.slice, ast.Tuple)
    here: ast.expr | None = part
    for _ in range(DEPTH):
        if not isinstance(here, ast.Subscript):
            break
        indices += len(_indices(here))
        keyed = keyed or any(isinstance(node, ast.Subscript) and _is_key(node) for node in ast.walk(here))
        here = _made(_root(here), scope, call, project)
        inner = inner and not (isinstance(here, ast.Subscript) and _indices(here))
    if call.last == "numpy" and indices > 1 and (keyed or not inner):
        return True  # of a list of lists there are few
    return isinstance(here, ast.Call) and _makes_tensor(here, scope, keyed or not inner, project)


def _root(part: ast.expr) -> ast.expr:
    while isinstance(part, ast.Subscript):
        part = part.value
    return part


def _made(root: ast.expr, scope: Scope, call: Call, project: Project) -> ast.expr | None:
    """What a name was last given in the same function: a call, or a part of something else."""
    if not isinstance(root, ast.Name):
        return root if isinstance(root, ast.Call) else None
    bound = [b for b in project.bindings(root.id, scope) if getattr(b.node, "lineno", 0) < call.node.lineno]
    last = bound[-1] if bound else None
    if last is None or last.kind not in ("assign", "other") or last.where.scope is not scope:
        return None
    value = last.value
    known = isinstance(value, ast.Call) or (isinstance(value, ast.Subscript) and last.kind == "assign")
    return value if known else None


def _makes_tensor(made: ast.Call, scope: Scope, is_part: bool, project: Project) -> bool:
    """`is_part`: what it gives may be a dict or a list of tensors, of which this is a part of one."""
    value = project.resolve(made.func, scope)
    name = value.name if value else ""
    if is_op(name):
        return MANY.match(name) is None
    return is_part and value is not None and (name in LOADED or is_model(name) or value.kind == "traced")
