"""Keras' methods for data sets, called as those for one batch: `fit` as `train_on_batch`, `predict` as its own."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from hotloop.source.module import Call
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    import libcst as cst

    from hotloop.source import Project


def refuse_own_method(call: Call, project: Project) -> None:
    func = call.node.func
    own = project.resolve(func, call.where.scope)
    if own is not None and own.scope is not None:
        raise Refused(f"`{ast.unparse(func)}` is the class's own method, not Keras'", func)


def argument_names(node: ast.Call, positional: Sequence[str], method: str) -> list[str]:
    """What each argument is called, in the order of `ast`: positions first, then keywords."""
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if starred or any(k.arg is None for k in node.keywords) or len(node.args) > len(positional):
        raise Refused(f"the arguments of `{method}` are not spelled out", node)
    return [*positional[: len(node.args)], *[k.arg or "" for k in node.keywords]]


def refuse_data(data: ast.expr | None, call: Call, method: str, project: Project) -> None:
    """A method for one batch takes arrays; the others take data sets, generators and lists as well."""
    scope, instead = call.where.scope, call.last
    if data is None:
        return
    candidates = [data]
    if isinstance(data, ast.Name):
        bindings = project.bindings(data.id, scope)
        candidates += [b.value for b in bindings if b.value is not None and b.kind in ("assign", "walrus")]
    for value in candidates:
        shown = f"`{ast.unparse(data)}`"
        if _is_rows(value):
            raise Refused(f"{shown} is a Python list: `{method}` needs an array, such as `np.array(...)`", data)
        if isinstance(value, ast.GeneratorExp):
            raise Refused(f"{shown} is a generator, and `{method}` needs an array", data)
        if project.name_of(value, scope).startswith("tf.data."):
            raise Refused(f"{shown} is a data set: call `{instead}` once on all of it, outside the loop", data)
        maker = project.resolve(value.func, scope) if isinstance(value, ast.Call) else None
        if maker is not None and maker.scope is not None and maker.scope.yields:
            raise Refused(f"{shown} is a generator, and `{method}` needs an array", data)


def _is_rows(value: ast.expr) -> bool:
    """A list that holds rows or numbers; one of several arrays (`[image, mask]`) is a model's several inputs."""
    if isinstance(value, ast.List | ast.Tuple):
        return len(value.elts) == 1 or any(isinstance(part, ast.Constant | ast.List) for part in value.elts)
    return isinstance(value, ast.ListComp)


def renamed_call(rewriter: Rewriter, call: Call, method: str, names: Sequence[str], kept: Collection[str]) -> cst.Call:
    """The call of another method of the same model, with those of its arguments that are `kept`."""
    import libcst

    found = libcst.ensure_type(rewriter.expression(call.node), libcst.Call)
    func = libcst.ensure_type(found.func, libcst.Attribute)
    renamed = func.with_changes(attr=func.attr.with_changes(value=method))
    stay = [argument for argument, name in zip(found.args, names, strict=True) if name in kept]
    if stay:
        stay[-1] = _closed(stay[-1], found.args[-1])
    return found.with_changes(func=renamed, args=stay)


def _closed(kept: cst.Arg, last: cst.Arg) -> cst.Arg:
    """The last argument that stays, closed as the last one was."""
    import libcst

    if kept is last:
        return kept
    comma: Any = last.comma
    if isinstance(comma, libcst.Comma) and isinstance(kept.comma, libcst.Comma):
        space, end = kept.comma.whitespace_after, comma.whitespace_after
        if isinstance(space, libcst.ParenthesizedWhitespace) and isinstance(end, libcst.ParenthesizedWhitespace):
            comma = comma.with_changes(whitespace_after=space.with_changes(last_line=end.last_line, indent=end.indent))
    return kept.with_changes(comma=comma, whitespace_after_arg=last.whitespace_after_arg)
