"""A step that stands in a loop becomes a compiled function before it, and a call."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop.model import Fix
from hotloop.rules.eager_training_step.block import LOOPS, NAME, Block, step_from
from hotloop.rules.eager_training_step.collected import is_collected
from hotloop.rules.eager_training_step.floats import is_double, is_rate
from hotloop.rules.eager_training_step.metrics import made_anew
from hotloop.rules.loops import in_loop
from hotloop.rules.moving import (
    change_from_afar,
    change_of,
    changed_names,
    home,
    mutated_names,
    names_in,
    needs,
    refuse_stale_attributes,
    spaced,
    statements_around,
    tensorflow_name,
)
from hotloop.rules.tracing import refuse_arrays
from hotloop.source.flow import changing_number
from hotloop.source.heat import SOME, trips
from hotloop.source.module import Context, Loop, Scope
from hotloop.source.project import argument_for, loops_of
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project


@dataclass(frozen=True)
class Destination:
    """The loop to put the function before, what it is handed there, and metrics that are made there from now on."""

    anchor: ast.stmt
    parameters: list[str]
    metrics: list[ast.stmt]


def extract(first: ast.stmt, where: Context, project: Project) -> Fix:
    """`first`: the tape, or a call that takes gradients and returns them."""
    try:
        return _extracted(first, where, True, project)
    except Refused:
        return _extracted(first, where, False, project)


def _extracted(first: ast.stmt, where: Context, metrics: bool, project: Project) -> Fix:
    scope = where.scope
    block = step_from(first, statements_around(scope.module, first), where, metrics, project)
    handed = [name for name in block.needed if name not in block.bound]
    rates = {name for name in handed if is_rate(name, block.statements, where, project)}
    destination = _destination(block, rates, where, project)
    for name in destination.parameters:
        if name not in rates:
            _refuse_parameter(name, where, project)
    refuse_arrays(block.statements, destination.parameters, scope, project)
    floats = rates | {name for name in handed if is_double(name, block.statements, where, project)}
    names = (ast.Name(name, ast.Load()) for name in destination.parameters)
    relaxed = "(reduce_retracing=True)" if any(is_collected(name, where, project) for name in names) else ""
    return _rewrite(Rewriter(scope.module), block, destination, floats, scope, relaxed)


def _rewrite(
    rewriter: Rewriter, block: Block, destination: Destination, floats: set[str], scope: Scope, relaxed: str
) -> Fix:
    anchor, parameters = destination.anchor, destination.parameters
    name, tensorflow = rewriter.new_name(NAME, scope), tensorflow_name(scope)
    given = [f"{tensorflow}.constant({one}, {tensorflow}.float32)" if one in floats else one for one in parameters]
    call, result = f"{name}({', '.join(given)})", ", ".join(block.returned)
    made: Any = rewriter.parse_block(
        f"@{tensorflow}.function{relaxed}\ndef {name}({', '.join(parameters)}):\n    return {result or None}"
    )[0]
    called = rewriter.parse_block(f"{result} = {call}" if result else call)[0]

    moved = [rewriter.statement(statement) for statement in block.statements]
    comments = [line for line in moved[0].leading_lines if line.comment is not None]
    blank = [line for line in moved[0].leading_lines if line.comment is None]
    rewriter.replace(moved[0], called.with_changes(leading_lines=blank))
    for statement in moved[1:]:
        rewriter.replace(statement)

    before = rewriter.statement(anchor)
    siblings = statements_around(scope.module, anchor)
    top_level = siblings is scope.module.tree.body
    end = made.body.body if result else []
    body = [moved[0].with_changes(leading_lines=comments), *moved[1:], *end]
    made = made.with_changes(body=made.body.with_changes(body=body))
    first = siblings[0] is anchor and not destination.metrics
    once = [_made_once(metric, rewriter) for metric in destination.metrics]
    rewriter.before(before, *once, spaced(made, before, top_level, first))
    return rewriter.fix(f"put the step into `{name}`, compiled, before the loop", "verify")


def _made_once(metric: ast.stmt, rewriter: Rewriter) -> Any:
    """The statement that makes a metric, which now stands before the loop; in its place the metric is reset."""
    old = rewriter.statement(metric)
    name = ast.unparse(metric.targets[0])  # type: ignore[attr-defined]
    reset = rewriter.parse_block(f"{name}.reset_state()")[0]
    rewriter.replace(old, reset.with_changes(leading_lines=old.leading_lines))
    return old.with_changes(leading_lines=[])


# -- where to, and with what -------------------------------------------------------------------------------------------


def _destination(block: Block, rates: set[str], where: Context, project: Project) -> Destination:
    scope = where.scope
    loops = list(loops_of(where))
    if not loops or any(not isinstance(loop.node, LOOPS) for loop in loops):
        raise Refused("the loop is written in a way that cannot be rewritten")
    handed = {name for name in block.needed if name in changed_names(loops[0])}
    left, fixed = loops[0], set(block.needed) - handed
    metrics = {name: made for name in fixed if (made := made_anew(name, where, project))}
    once: list[ast.stmt] = []
    for outer in loops[1:]:
        changed = (_own_changes(outer, left) & fixed) - metrics.keys()
        if left.node not in getattr(outer.node, "body", []) or changed - rates:
            break
        left, handed, fixed = outer, handed | changed, fixed - changed
        once += [made for made in metrics.values() if made in getattr(outer.node, "body", [])]
    anchor: ast.stmt = left.node  # type: ignore[assignment]
    steps = trips(left, project)
    if left is not loops[-1] and steps is not None and steps < SOME:
        line = loops[loops.index(left) + 1].place.line
        raise Refused(f"each step of the loop on line {line} would trace it anew, for {steps:.0f} steps", anchor)
    for name in sorted(fixed):
        culprit = change_from_afar(name, home(name, scope))
        if culprit is not None:
            raise Refused(f"the step reads `{name}`, which another function changes", culprit)
    _refuse_through_functions(block, loops, scope, project)
    refuse_stale_attributes(block.statements, scope, project)
    for loop in loops[: loops.index(left) + 1]:
        _refuse_mutated(block, handed, loop)
    if left is loops[-1] and scope.is_function and in_loop(project, left.where):
        # The function around it runs in a loop itself: made there, the step would be traced in each of its calls.
        if scope.parent is not scope.module.scope or not isinstance(scope.node, ast.FunctionDef):
            raise Refused(f"`{scope.name}` runs in a loop itself: put the step into a method of its own first")
        anchor, handed = scope.node, {name for name in block.needed if name in scope.bindings}
    parameters = [name for name in block.needed if name in handed]
    return Destination(anchor, parameters, sorted(once, key=lambda made: made.lineno))


def _refuse_through_functions(block: Block, loops: list[Loop], scope: Scope, project: Project) -> None:
    """What a function that the step calls reads, and a loop changes: compiled, the step would not notice."""
    through = needs(block.statements, scope, project)
    for name, owner in sorted(through.items(), key=lambda item: item[0]):
        culprit = next((at for loop in loops if (at := change_of(name, owner, loop))), None)
        if culprit is not None and name not in names_in(block.statements).reads:
            line = getattr(culprit, "lineno", 0)
            raise Refused(
                f"the step reads `{name}` through a function, and line {line} changes it: pass it as an argument first",
                culprit,
            )


def _own_changes(outer: Loop, inner: Loop) -> set[str]:
    """What a loop changes outside of the loop within it."""
    body: list[ast.AST] = [node for node in getattr(outer.node, "body", []) if node is not inner.node]
    target = getattr(outer.node, "target", None)
    mutated = {name for node in body for name in mutated_names(node)}
    return mutated | set(names_in([*body, *([target] if target else [])]).binds)


def _refuse_mutated(block: Block, handed: set[str], loop: Loop) -> None:
    inside = {id(n) for statement in block.statements for n in ast.walk(statement)}
    for name, node in mutated_names(loop.node).items():
        if name in block.needed and id(node) not in inside:
            raise Refused(f"the step reads `{name}`, which the loop changes in place", node)


def _refuse_parameter(name: str, where: Context, project: Project) -> None:
    """Arguments that would be new to TensorFlow in each step, and so traced in each."""
    scope = where.scope
    bindings = scope.bindings.get(name, [])
    first = bindings[0].node if bindings else None
    if changing_number(ast.Name(name, ast.Load(), lineno=_line(where), col_offset=0), where, project):
        raise Refused(
            f"`{name}` is a Python number that changes: each value would be traced anew. Make it a tensor first", first
        )
    for binding in bindings:
        made = project.name_of(binding.value, scope) if binding.value is not None else ""
        fresh = binding.kind in ("def", "class") or made.startswith("keras.") or isinstance(binding.value, ast.Lambda)
        if fresh and binding.where.loop is not None and binding.where.loop is where.loop:
            raise Refused(f"`{name}` is made anew in each step: make it once, before the loop", binding.node)
        if binding.kind == "parameter":
            for call in project.callers(scope):
                argument = argument_for(call, scope, name)
                if argument is not None and changing_number(argument, call.where, project):
                    raise Refused(
                        f"`{name}` is a Python number that changes ({call.place}): pass a tensor first", first
                    )


def _line(where: Context) -> int:
    return where.statement.lineno if where.statement else 0
