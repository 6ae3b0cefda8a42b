"""The fix: `predict_on_batch`, which runs the same compiled function without the machinery around it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.moving import call_at
from hotloop.source.module import Call
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    import libcst as cst

    from hotloop.source import Project

POSITIONAL = ("x", "batch_size", "verbose", "steps", "callbacks")
DROPPED = {"batch_size", "verbose"}


def predict_on_batch(finding: Finding, project: Project) -> Fix:
    import libcst

    call = call_at(project.modules[finding.place.path], finding.place)
    func = call.node.func
    own = project.resolve(func, call.where.scope)
    if own is not None and own.scope is not None:
        raise Refused(f"`{ast.unparse(func)}` is the class's own method, not Keras'", func)
    kept = _kept(call.node)
    _refuse_data(call.argument(0, "x"), call, project)

    rewriter = Rewriter(call.where.scope.module)
    found = libcst.ensure_type(rewriter.expression(call.node), libcst.Call)
    method = libcst.ensure_type(found.func, libcst.Attribute)
    renamed = method.with_changes(attr=method.attr.with_changes(value="predict_on_batch"))
    rewriter.replace(found, found.with_changes(func=renamed, args=[_alone(found.args[kept], found.args[-1])]))
    return rewriter.fix(f"call `{ast.unparse(func)}_on_batch`", "verify")


def _kept(node: ast.Call) -> int:
    """Where among the arguments the data is; all others must be ones that may be dropped."""
    names = [*POSITIONAL[: len(node.args)], *[keyword.arg for keyword in node.keywords]]
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if starred or None in names or len(node.args) > len(POSITIONAL):
        raise Refused("the arguments of `predict` are not spelled out", node)
    for name in names:
        if name != "x" and name not in DROPPED:
            raise Refused(f"`predict_on_batch` knows no `{name}`", node)
    return names.index("x")


def _refuse_data(data: ast.expr | None, call: Call, project: Project) -> None:
    """`predict_on_batch` takes arrays; `predict` takes data sets, generators and lists as well."""
    scope = call.where.scope
    if data is None:
        return
    candidates = [data]
    if isinstance(data, ast.Name):
        bindings = project.bindings(data.id, scope)
        candidates += [b.value for b in bindings if b.value is not None and b.kind in ("assign", "walrus")]
    for value in candidates:
        shown = f"`{ast.unparse(data)}`"
        if _is_rows(value):
            raise Refused(f"{shown} is a Python list: `predict_on_batch` needs an array, such as `np.array(...)`", data)
        if isinstance(value, ast.GeneratorExp):
            raise Refused(f"{shown} is a generator, and `predict_on_batch` needs an array", data)
        if project.name_of(value, scope).startswith("tf.data."):
            raise Refused(f"{shown} is a data set: call `predict` once on all of it, outside the loop", data)
        maker = project.resolve(value.func, scope) if isinstance(value, ast.Call) else None
        if maker is not None and maker.scope is not None and maker.scope.yields:
            raise Refused(f"{shown} is a generator, and `predict_on_batch` needs an array", data)


def _is_rows(value: ast.expr) -> bool:
    """A list that holds rows or numbers; one of several arrays (`[image, mask]`) is a model's several inputs."""
    if isinstance(value, ast.List | ast.Tuple):
        return len(value.elts) == 1 or any(isinstance(part, ast.Constant | ast.List) for part in value.elts)
    return isinstance(value, ast.ListComp)


def _alone(kept: cst.Arg, last: cst.Arg) -> cst.Arg:
    """The one argument that stays, closed as the last one was."""
    import libcst

    if kept is last:
        return kept
    comma: Any = last.comma
    if isinstance(comma, libcst.Comma) and isinstance(kept.comma, libcst.Comma):
        space, end = kept.comma.whitespace_after, comma.whitespace_after
        if isinstance(space, libcst.ParenthesizedWhitespace) and isinstance(end, libcst.ParenthesizedWhitespace):
            comma = comma.with_changes(whitespace_after=space.with_changes(last_line=end.last_line, indent=end.indent))
    return kept.with_changes(comma=comma, whitespace_after_arg=last.whitespace_after_arg)
