"""Keras models and the data they are handed: is this a model, and does the expression hold one row or a few of them?"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hotloop.rules.names import is_model
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.heat import number
from hotloop.source.module import Binding, Loop, Scope, last_name
from hotloop.source.project import argument_for

if TYPE_CHECKING:
    from hotloop.rules.loops import InLoop
    from hotloop.source import Project

DEPTH = 4  # steps from name to name, and from a function to its caller
FEW_ROWS = 8  # a call: with more, the work begins to outweigh the fixed cost
OTHER_LIBRARIES = re.compile(rb"sklearn|xgboost|lightgbm|catboost|torch|statsmodels")
MODEL_WORDS = re.compile(r"model|net\b|network|classifier|encoder|generator")
WRAPPERS = {"np.expand_dims", "tf.expand_dims", "np.atleast_2d"}
RESHAPES = {"tf.reshape", "np.reshape"}
MAKERS = {
    "np.array",
    "np.asarray",
    "np.stack",
    "np.vstack",
    "tf.stack",
    "tf.convert_to_tensor",
    "tf.constant",
}
FILLED = {f"{library}.{maker}" for library in ("np", "tf") for maker in ("zeros", "ones", "empty", "full", "fill")} | {
    "tf.random.normal",
    "tf.random.uniform",
}
PREPARED = ("preprocess_input", "pad_sequences")
ROW_FOR_ROW = {"texts_to_matrix", "texts_to_sequences", "transform"}  # methods of tokenizers and scalers
ROW_CALLS = (
    {name.rpartition(".")[2] for name in WRAPPERS | RESHAPES | MAKERS | FILLED}
    | {"astype", "copy", *PREPARED}
    | ROW_FOR_ROW
)


def holds_model(receiver: ast.expr, scope: Scope, project: Project, by_name: bool = False) -> bool | None:
    """True: a Keras model; False: looks like one; None: is none. `by_name`: where nothing else speaks for one."""
    looks_like_one = MODEL_WORDS.search(_spelled(receiver).lower()) is not None
    value = (project.at_sight if by_name and not looks_like_one else project.resolve)(receiver, scope)
    if value is not None and (value.name or value.scope):
        if value.kind == "object" and value.scope is not None:
            names = [f"{name}()" for name in project.ancestry(value.scope)]
            return True if any(is_model(name) or name.startswith("keras.") for name in names) else None
        if not (looks_like_one and _may_make_model(value.name)):
            return True if is_model(value.name) else None
    module = scope.module
    if not looks_like_one:
        return None
    return None if OTHER_LIBRARIES.search(module.data) or b"keras" not in module.data else False


def _may_make_model(name: str) -> bool:
    """`nets.build_model()`, of a module that is not at hand."""
    made = MODEL_WORDS.search(name.rpartition(".")[2].lower())
    return name.endswith("()") and made is not None and not name.startswith(("tf.", "keras."))


def _spelled(expr: ast.expr) -> str:
    """What `ast.unparse` says, sooner for the usual."""
    if isinstance(expr, ast.Name):
        return expr.id
    if isinstance(expr, ast.Attribute) and isinstance(expr.value, ast.Name):
        return f"{expr.value.id}.{expr.attr}"
    return ast.unparse(expr)


def one_row(data: ast.expr, scope: Scope, found: InLoop, project: Project, depth: int = 0) -> bool:
    """`np.expand_dims(image, 0)`, `x[None]`, `x[i:i + 1]`, `[x]`, `x.reshape(1, -1)`, or a name that holds one."""
    if depth > DEPTH:
        return False
    if isinstance(data, ast.Name):
        given = [b for b in project.bindings(data.id, scope) if b.kind == "assign"]
        if any(b.value and one_row(b.value, scope, found, project, depth + 1) and _of_step(b, found) for b in given):
            return True
        return _is_handed_one_row(data.id, scope, found, project, depth)
    if isinstance(data, ast.List) and len(data.elts) < 2:
        return len(data.elts) == 1
    if isinstance(data, ast.List | ast.Dict):  # one for each input
        parts = data.elts if isinstance(data, ast.List) else data.values
        return bool(parts) and all(one_row(part, scope, found, project, depth + 1) for part in parts)
    if isinstance(data, ast.Subscript):
        return may_be_row(data, scope)
    if isinstance(data, ast.Call) and may_be_row(data, scope):
        return _makes_one_row(data, scope, found, project, depth)
    return isinstance(data, ast.BinOp) and one_row(data.left, scope, found, project, depth + 1)


def _makes_one_row(call: ast.Call, scope: Scope, found: InLoop, project: Project, depth: int) -> bool:
    name, method = (
        project.name_at_sight(call.func, scope),
        call.func.attr if isinstance(call.func, ast.Attribute) else "",
    )
    if name in WRAPPERS:
        return True
    if name in MAKERS and call.args:
        return isinstance(call.args[0], ast.List) and len(call.args[0].elts) == 1
    if name in RESHAPES and len(call.args) > 1:
        return _is_one(call.args[1])
    if (name in FILLED or method == "reshape") and call.args:
        return _is_one(call.args[0])
    if isinstance(call.func, ast.Attribute) and method in ("astype", "copy"):
        return one_row(call.func.value, scope, found, project, depth + 1)
    prepares = name.endswith(tuple(f".{last}" for last in PREPARED)) or method in ROW_FOR_ROW
    return bool(prepares and call.args) and one_row(call.args[0], scope, found, project, depth + 1)


def may_be_row(data: ast.expr, scope: Scope) -> bool:
    """By its spelling, before anything is looked up; the bare name of what is called may be another one for it."""
    if isinstance(data, ast.Subscript):
        return _adds_axis(data.slice) or _is_one_wide(data.slice)
    if not isinstance(data, ast.Call):
        return False
    renamed = isinstance(data.func, ast.Name) and scope.owner(data.func.id) is not None
    return renamed or last_name(data.func) in ROW_CALLS


def _of_step(binding: Binding, found: InLoop) -> bool:
    """Whether the step binds it or fills it; the latter takes long to see."""
    return bool(found.chain) or stands_in(binding.where, found.loop) or _is_filled(binding.name, found.loop)


def _is_filled(name: str, loop: Loop) -> bool:
    """`x[0, t] = 1`, in each step, of an array that was made before the loop."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(loop.node)
    )


def _is_handed_one_row(name: str, scope: Scope, found: InLoop, project: Project, depth: int) -> bool:
    """`agent.act(state.reshape(1, -1))`: what the call that leads here from the loop gives for a parameter."""
    given = argument_for(found.chain[-1], scope, name) if found.chain else None
    if given is None:
        return False
    nearer = replace(found, chain=found.chain[:-1])
    return one_row(given, found.chain[-1].where.scope, nearer, project, depth + 1)


def is_wide(data: ast.expr, scope: Scope, project: Project, depth: int = 0) -> bool:
    """`x[i:i + CHUNK]`, or `x[order[i:i + CHUNK]]`: many rows a call, on purpose."""
    if depth > DEPTH:
        return False
    if isinstance(data, ast.Name):
        bound = project.bindings(data.id, scope)  # by each of several loops, say
        cuts = [b.value for b in bound if b.kind == "assign" and isinstance(b.value, ast.Subscript)]
        home = bound[0].where.scope if bound else scope
        return 0 < len(cuts) == len(bound) and all(is_wide(cut, home, project, depth + 1) for cut in cuts)
    index = data.slice if isinstance(data, ast.Subscript) else None
    if isinstance(index, ast.Name | ast.Subscript):
        return is_wide(index, scope, project, depth + 1)
    upper = index.upper if isinstance(index, ast.Slice) else None
    if not (isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add)):
        return False
    width = number(upper.right, scope, project)
    return width is None or width > FEW_ROWS


def _is_one(shape: ast.expr) -> bool:
    first = shape.elts[0] if isinstance(shape, ast.Tuple | ast.List) and shape.elts else shape
    return isinstance(first, ast.Constant) and first.value == 1


def _adds_axis(index: ast.expr) -> bool:
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(first, ast.Constant):
        return first.value is None
    return isinstance(first, ast.Name | ast.Attribute) and last_name(first) == "newaxis"


def _is_one_wide(index: ast.expr) -> bool:
    """`x[i:i + 1]`."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if not (isinstance(first, ast.Slice) and first.lower is not None and isinstance(first.upper, ast.BinOp)):
        return False
    upper = first.upper
    one = isinstance(upper.right, ast.Constant) and upper.right.value == 1 and isinstance(upper.op, ast.Add)
    return one and ast.dump(upper.left) == ast.dump(first.lower)
