"""What decorators make of a function: one that TensorFlow compiles, or one that runs once for what it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.source.module import Scope, last_name

if TYPE_CHECKING:
    from hotloop.source.project import Project, Value

# A library's own too: `common.function`.
COMPILES = re.compile(r"^(?!(numba|jax|torch)\.)(.*[_.])?(tf_)?(function|defun|jit)(\(\))?$")
NEVER = re.compile(  # by its last name: what it is takes long to find out
    r"(property|(static|class)method|setter|getter|abstract\w+|wraps|contextmanager|dataclass|overrid\w+|overload|\w*export"
    r"|register\w*)$"
)
KEEPS = re.compile(r"cache|memo|singleton|(^|_)once$", re.IGNORECASE)
HARMLESS = re.compile(
    r"^(staticmethod|classmethod|property|abc|typing|functools|contextlib|absl|logging|time|tf|keras|torch|np|pytest"
    r"|gin|hydra|wandb|click|typer|tqdm)\b|overrid|timer|timeit|timed|profile|log|export|regist"
)


def compiles(decorator: ast.expr, where: Scope, project: Project) -> bool:
    """`tf.function`, with arguments or without, under another name, or a function of the project that applies it."""
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    if NEVER.match(last_name(named)):
        return False
    bare = project.at_sight(named, where)
    if bare is None:
        return False
    if bare.kind == "name" and bare.name != "functools.partial":
        return COMPILES.search(bare.name) is not None
    made = project.at_sight(decorator, where)
    if made is not None and made.kind == "name":
        return COMPILES.search(made.name) is not None
    return made is not None and made.kind == "function" and made.scope is not None and _applies(made.scope, project)


def _applies(decorator: Scope, project: Project) -> bool:
    """`def compiled(f): return tf.function(f)`."""
    returned = (project.at_sight(one, decorator) for one in decorator.returns)
    return any(value is not None and value.kind == "traced" for value in returned)


def keeps(decorator: ast.expr, where: Scope, project: Project) -> bool:
    """A cache, the standard library's or any other that is called so."""
    bare = decorator.func if isinstance(decorator, ast.Call) else decorator
    names = (last_name(bare), project.name_of(bare, where).rpartition(".")[2])
    return any(KEEPS.search(name) for name in names)


def unknown(scope: Scope, project: Project) -> Iterator[str]:
    """The decorators of a function of which nobody here can say what they make of it."""
    where = scope.parent or scope.module.scope
    for decorator in scope.decorators:
        bare = decorator.func if isinstance(decorator, ast.Call) else decorator
        value: Value | None = project.resolve(bare, where)
        name = value.name if value is not None else ""
        if value is None or (value.kind == "name" and not HARMLESS.search(name)):
            yield last_name(bare)
