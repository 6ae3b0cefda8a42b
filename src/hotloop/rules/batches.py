"""Data that is called or drawn as a batch, and its rows."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from hotloop.source.flow import in_loop as stands_in
from hotloop.source.module import Call, Scope, last_name, names_read
from hotloop.source.project import argument_for

if TYPE_CHECKING:
    from hotloop.rules.loops import InLoop
    from hotloop.source import Project

BATCH = re.compile(r"(?:^|[^a-z])(?:mini_?)?batch(?!=|_?size|es|_?norm|e)|(?:^|\.|_)(?:sample\w*|choice)\(")

ARRAYS = re.compile(r"tf\.(?!data\.)|np\.")
DATA_SET = re.compile(r"data_?set|(?:^|_)ds(?:_|$)|loader|generator", re.IGNORECASE)


def is_row_of_batch(data: ast.expr, call: Call, project: Project) -> bool:
    """`for state, action in minibatch: fit(state, ...)`."""
    loop = call.where.loop
    if not (isinstance(data, ast.Name) and loop and data.id in loop.targets and loop.iterable is not None):
        return False
    iterable, scope = loop.iterable, call.where.scope
    if isinstance(iterable, ast.Call) and project.name_of(iterable.func, scope) in ("enumerate", "zip", "tqdm.tqdm"):
        return any(BATCH.search(ast.unparse(a)) for a in iterable.args) and not BATCH.search(data.id)
    return BATCH.search(ast.unparse(iterable)) is not None and not BATCH.search(data.id)


def is_batch(
    data: ast.expr, scope: Scope, found: InLoop, chain: tuple[Call, ...], project: Project, depth: int = 0
) -> bool:
    """Named or drawn as a batch: `x_batch`, rows of `random.sample(memory, 32)`, here or where the loop calls us."""
    if BATCH.search(ast.unparse(data)):
        return True
    if depth > 3:
        return False
    for name in names_read(data):
        for binding in scope.bindings.get(name, []):
            if binding.kind == "parameter" and chain:
                argument = argument_for(chain[-1], scope, name)
                caller = chain[-1].where.scope
                if argument is not None and is_batch(argument, caller, found, chain[:-1], project, depth + 1):
                    return True
            elif binding.value is not None and (chain or stands_in(binding.where, found.loop)):
                if is_batch(binding.value, scope, found, chain, project, depth + 1):
                    return True
    return False


def is_data_set(data: ast.expr, scope: Scope, project: Project) -> bool:
    """A `tf.data.Dataset`, as far as source shows."""
    values = [data]
    if isinstance(data, ast.Name):
        bound = project.bindings(data.id, scope)
        values += [b.value for b in bound if b.value is not None and b.kind in ("assign", "walrus")]
    return any(project.name_of(value, scope).startswith("tf.data.") for value in values)


def is_called_data_set(data: ast.expr, scope: Scope, project: Project) -> bool:
    """`test_dataset`, `self.loader`, or what `make_dataset(files)` gives, where nobody knows better."""
    if isinstance(data, ast.Call):
        return DATA_SET.search(last_name(data.func)) is not None
    if not isinstance(data, ast.Name | ast.Attribute):
        return False
    bound = scope.bindings.get(data.id, []) if isinstance(data, ast.Name) else []
    made = [b.value for b in bound if isinstance(b.value, ast.Call)]
    if any(ARRAYS.match(project.name_of(value.func, scope)) for value in made):
        return False
    return any(DATA_SET.search(one) for one in (last_name(data), *[last_name(value.func) for value in made]))
