"""What a function in a loop captures of the step becomes an argument of it: then one function serves all steps."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.rules.hoisting import Changes
from hotloop.rules.moving import change_of, mutated_names, names_in
from hotloop.rules.vectors import is_tensor
from hotloop.source.flow import changing_number
from hotloop.source.module import Binding, Call, Context, Scope
from hotloop.source.rewrite import Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project


def captured(scope: Scope, needed: dict[str, Scope], project: Project) -> list[str]:
    """Names of the step that the function reads and that may be handed over; none unless that can be done for each."""
    node, where = scope.node, scope.where
    if where is None or where.loop is None or not isinstance(node, ast.FunctionDef):
        return []
    spec = node.args
    if spec.defaults or spec.vararg or spec.kwonlyargs or spec.kwarg or not _calls(scope):
        return []
    own, mutated = names_in([node]).reads, mutated_names(where.loop.node)
    found = []
    for name, owner in sorted(needed.items(), key=lambda item: item[0]):
        if change_of(name, owner, where.loop) is None:
            continue
        bindings = where.scope.bindings.get(name, [])
        if owner is not where.scope or name not in own or name in mutated or not bindings:
            return []
        if not all(_is_value(binding, where, project) for binding in bindings):
            return []
        found.append(name)
    return found


def _calls(scope: Scope) -> list[Call]:
    """The calls of the function in its loop; none where it is also spoken of otherwise."""
    where = scope.where
    assert where is not None
    mentions = {n for n in ast.walk(scope.module.tree) if isinstance(n, ast.Name) and n.id == scope.name}
    calls = [call for call in scope.module.calls if call.node.func in mentions and call.where.loop is where.loop]
    starred = any(isinstance(a, ast.Starred) for c in calls for a in c.node.args)
    spelled = not starred and all(k.arg for c in calls for k in c.node.keywords)
    return calls if spelled and len(calls) == len(mentions) else []


def _is_value(binding: Binding, where: Context, project: Project) -> bool:
    """A tensor, a number or an element of what the loop goes over; an object would be traced anew for each."""
    if binding.kind == "target":
        return binding.where.loop is where.loop
    if binding.value is None or binding.kind not in ("assign", "augment"):
        return False
    value = binding.value
    return is_tensor(value, binding.where, project) or changing_number(value, binding.where, project) is not None


def hand_over(rewriter: Rewriter, scope: Scope, names: list[str]) -> Changes:
    """Add the names to every call; what it returns adds them to the definition, which is about to move."""
    for call in _calls(scope):
        found: Any = rewriter.expression(call.node)
        shown = ", ".join(f"{n}={n}" if call.node.keywords else n for n in names)
        new: Any = rewriter.parse_expression(f"f({shown})")
        rewriter.replace(found, found.with_changes(args=_joined(found.args, new.args)))
    definition: Any = rewriter.statement(scope.node)  # type: ignore[arg-type]
    made: Any = rewriter.parse_block(f"def f({', '.join(names)}):\n    pass")[0]
    params = definition.params
    return {params: [params.with_changes(params=_joined(params.params, made.params.params))]}


def _joined(first: Any, more: Any) -> list[Any]:
    import libcst

    comma = libcst.Comma(whitespace_after=libcst.SimpleWhitespace(" "))
    before = list(first)
    if before:
        last = before[-1]
        more = [*more[:-1], more[-1].with_changes(comma=last.comma)]
        before[-1] = last.with_changes(comma=comma)
    return [*before, *more]
