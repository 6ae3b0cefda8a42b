"""Keras `predict()` is called in a loop on one example at a time.

**Why**

`predict()` is made for data sets. Each call builds a data pipeline, an iterator and a set of callbacks, runs one batch
through it and takes it all down again: tens of milliseconds whatever the model, where the computation may need one.

**Instead**

Collect the examples and call `predict` once on the whole array. Where they come one by one (a camera, a game), call
`model.predict_on_batch(x)`, or `model(x, training=False)` through a `tf.function`.

**Not when**

Each call gets a whole data set (a validation set per epoch, a fold). There the fixed cost disappears in the work.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.loops import InLoop, each, in_loop
from hotloop.rules.names import is_model
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.flow import varies
from hotloop.source.heat import number
from hotloop.source.module import Call, Scope

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

FEW_ROWS = 8  # a call: with more, the work begins to outweigh the fixed cost
OTHER_LIBRARIES = re.compile(rb"sklearn|xgboost|lightgbm|catboost|torch|statsmodels")
WRAPPERS = {"np.expand_dims", "tf.expand_dims", "np.atleast_2d"}
MAKERS = {
    "np.array",
    "np.asarray",
    "np.stack",
    "np.vstack",
    "tf.stack",
    "tf.convert_to_tensor",
    "tf.constant",
}


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in module.calls:
            func = call.node.func
            if not (isinstance(func, ast.Attribute) and func.attr == "predict"):
                continue
            sure = _is_model(func.value, call.where.scope, project)
            found = in_loop(project, call.where) if sure is not None else None
            data = call.argument(0, "x")
            if found is None or data is None:
                continue
            found = _judged(found, data, call, project)
            if found:
                found = found if sure else found.lowered()
                message = (
                    f"`{ast.unparse(func)}` is called {each(found, call.place)}: its fixed cost is paid per example. "
                    "Predict all at once, or call `predict_on_batch`."
                )
                yield RULE.finding(call.place, message, **found.where)


def _judged(found: InLoop, data: ast.expr, call: Call, project: Project) -> InLoop | None:
    """As sure as the argument makes us: one row; something else of this step; or the same data each time."""
    scope = call.where.scope
    if _one_row(data, scope, found, project):
        return found
    if _is_wide(data, scope, project):
        return None
    if varies(data, scope, found.loop, found.chain, project, calls_vary=True):
        return found.lowered()
    return None


def _is_model(receiver: ast.expr, scope: Scope, project: Project) -> bool | None:
    """True: a Keras model; False: looks like one; None: is none."""
    value = project.resolve(receiver, scope)
    if value is not None and (value.name or value.scope):
        if value.kind == "object" and value.scope is not None:
            names = [f"{name}()" for name in project.ancestry(value.scope)]
            return True if any(is_model(name) or name.startswith("keras.") for name in names) else None
        return True if is_model(value.name) else None
    words = ast.unparse(receiver).lower()
    module = scope.module
    if not re.search(r"model|net\b|network|classifier|encoder|generator", words):
        return None
    return None if OTHER_LIBRARIES.search(module.data) or b"keras" not in module.data else False


def _one_row(data: ast.expr, scope: Scope, found: InLoop, project: Project) -> bool:
    if isinstance(data, ast.Name):
        values = [
            b.value
            for b in project.bindings(data.id, scope)
            if b.value is not None and b.kind == "assign" and (found.chain or stands_in(b.where, found.loop))
        ]
        return any(not isinstance(v, ast.Name) and _one_row(v, scope, found, project) for v in values)
    if isinstance(data, ast.List):
        return len(data.elts) == 1
    if isinstance(data, ast.Subscript):
        return _adds_axis(data.slice) or _is_one_wide(data.slice)
    if isinstance(data, ast.Call):
        name = project.name_of(data.func, scope)
        if name in WRAPPERS:
            return True
        if name in MAKERS and data.args:
            return isinstance(data.args[0], ast.List) and len(data.args[0].elts) == 1
        if isinstance(data.func, ast.Attribute) and data.func.attr == "reshape" and data.args:
            first = data.args[0].elts[0] if isinstance(data.args[0], ast.Tuple) else data.args[0]
            return isinstance(first, ast.Constant) and first.value == 1
        if isinstance(data.func, ast.Attribute) and data.func.attr in ("astype", "copy"):
            return _one_row(data.func.value, scope, found, project)
    return isinstance(data, ast.BinOp) and _one_row(data.left, scope, found, project)


def _adds_axis(index: ast.expr) -> bool:
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(first, ast.Constant):
        return first.value is None
    return ast.unparse(first).endswith("newaxis")


def _is_wide(data: ast.expr, scope: Scope, project: Project) -> bool:
    """`x[i:i + CHUNK]`: many rows a call, on purpose."""
    if isinstance(data, ast.Name):
        found = project.literal(data.id, scope)
        return found is not None and not isinstance(found[0], ast.Name) and _is_wide(*found, project)
    index = data.slice if isinstance(data, ast.Subscript) else None
    upper = index.upper if isinstance(index, ast.Slice) else None
    if not (isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add)):
        return False
    width = number(upper.right, scope, project)
    return width is None or width > FEW_ROWS


def _is_one_wide(index: ast.expr) -> bool:
    """`x[i:i + 1]`."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if not (isinstance(first, ast.Slice) and first.lower is not None and isinstance(first.upper, ast.BinOp)):
        return False
    upper = first.upper
    one = isinstance(upper.right, ast.Constant) and upper.right.value == 1 and isinstance(upper.op, ast.Add)
    return one and ast.dump(upper.left) == ast.dump(first.lower)


def diagnose(recording: Recording) -> Iterator[Finding]:
    for at in measured.recurring(recording, recording.of_kind("predict")):
        rows = at.total("rows") / at.count
        if not 0 < rows <= FEW_ROWS:
            continue
        here = {event.stack for event in at.events}
        once = sum(e.seconds for e in recording.of_kind("trace.first") if e.stack in here)
        compute = sum(e.seconds for e in recording.of_kind("call") if e.stack in here)
        seconds = max(0.0, at.seconds - once - compute)
        each = at.seconds / at.count
        yield measured.finding(
            RULE, recording, at, seconds,
            f"`predict` was called {at.often} on {words.plural(round(rows), 'row')} a call {{cost}}: "
            f"{words.duration(each)} each, of which the model itself needs {words.duration(compute / at.count)}. "
            "Predict all at once, or call `predict_on_batch`.",
            evidence=[Evidence("calls", at.count), Evidence("rows per call", rows), Evidence("each", each, "s")],
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.predict_in_loop.on_batch import predict_on_batch

    return predict_on_batch(finding, project)
