"""A step that stands in a loop becomes a compiled function before it, and a call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop.model import Fix
from hotloop.rules.eager_training_step import UPDATES
from hotloop.rules.eager_training_step.aside import stays_behind
from hotloop.rules.eager_training_step.live import carried, read_later
from hotloop.rules.eager_training_step.rates import is_rate
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
from hotloop.rules.tracing import refuse_python
from hotloop.source.flow import changing_number
from hotloop.source.module import Context, Function, Loop, Scope
from hotloop.source.project import argument_for, loops_of
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

NAME = "train_step"
LOOPS = (ast.For, ast.AsyncFor, ast.While)
BRANCHES = (*LOOPS, ast.If, ast.Match, ast.Try)


@dataclass(frozen=True)
class Block:
    """Statements of one scope that become a function: what they need, bind and hand on."""

    statements: list[ast.stmt]
    needed: list[str]
    bound: list[str]
    returned: list[str]


def extract(node: ast.With | ast.AsyncWith, where: Context, project: Project) -> Fix:
    scope = where.scope
    around = statements_around(scope.module, node)
    block = _block(node, around, where, project)
    rates = {name for name in block.needed if is_rate(name, block.statements, where, project)} - {*block.bound}
    anchor, parameters = _destination(block, rates, where, project)
    for name in parameters:
        if name not in rates:
            _refuse_parameter(name, where, project)
    rewriter = Rewriter(scope.module)
    return _rewrite(rewriter, block, anchor, parameters, rates, scope)


def _rewrite(
    rewriter: Rewriter, block: Block, anchor: ast.stmt, parameters: list[str], rates: set[str], scope: Scope
) -> Fix:
    name, tensorflow = rewriter.new_name(NAME, scope), tensorflow_name(scope)
    given = [f"{tensorflow}.constant({one}, {tensorflow}.float32)" if one in rates else one for one in parameters]
    call, result = f"{name}({', '.join(given)})", ", ".join(block.returned)
    made: Any = rewriter.parse_block(
        f"@{tensorflow}.function\ndef {name}({', '.join(parameters)}):\n    return {result or None}"
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
    rewriter.before(before, spaced(made, before, top_level, first=siblings[0] is anchor))
    return rewriter.fix(f"put the step into `{name}`, compiled, before the loop", "verify")


# -- which statements --------------------------------------------------------------------------------------------------


def _block(node: ast.With | ast.AsyncWith, around: list[ast.stmt], where: Context, project: Project) -> Block:
    """From the tape to the last update; what follows stays outside where it must run in Python."""
    start = around.index(node)
    tapes = {n for item in node.items for n in names_in([item]).binds}
    ends = [i for i in range(start, len(around)) if _updates(around[i], tapes, around[start:i])]
    least = max((i for i in ends if _is_essential(around[i], tapes)), default=None)
    if least is None:
        raise Refused("the gradients are taken in another block than the tape", node)
    for end in sorted((i for i in ends if i >= least), reverse=True):
        behind = stays_behind(around[start : end + 1], where, NAME, project)
        statements = [statement for statement in around[start : end + 1] if statement not in behind]
        try:
            _refuse_leaving(statements)
            refuse_python(statements, where.scope, NAME, project)
            return _measured(statements, where, tapes, set(names_in(behind).reads))
        except Refused:
            if end == least:
                raise
    raise AssertionError("the last candidate returns or raises")


def _updates(statement: ast.stmt, tapes: set[str], before: list[ast.stmt]) -> bool:
    """Whether a statement takes gradients, or updates something by what was computed since the tape."""
    reads = set(names_in([statement]).reads)
    computed = tapes | set(names_in(before).binds)
    return any(call.attr in UPDATES | {"gradient"} for call in _methods(statement)) and bool(
        reads & computed or isinstance(statement, ast.With)
    )


def _is_essential(statement: ast.stmt, tapes: set[str]) -> bool:
    for call in _methods(statement):
        taken = call.attr == "gradient" and isinstance(call.value, ast.Name) and call.value.id in tapes
        if taken or call.attr in ("apply_gradients", "apply", "minimize", "assign_sub"):
            return True
    return False


def _methods(statement: ast.stmt) -> Iterator[ast.Attribute]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func


def _refuse_leaving(statements: list[ast.stmt]) -> None:
    """Statements that act on the loop or the function around the block."""
    stack: list[tuple[ast.AST, bool]] = [(statement, False) for statement in statements]
    while stack:
        node, inner = stack.pop()
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not inner):
            word = type(node).__name__.lower()
            raise Refused(f"the `{word}` between the tape and the update cannot move into a function", node)
        if not isinstance(node, Function):
            stack += [(child, inner or isinstance(node, LOOPS)) for child in ast.iter_child_nodes(node)]


def _measured(statements: list[ast.stmt], where: Context, tapes: set[str], behind: set[str]) -> Block:
    """`behind`: what Python reads that stood between the statements and now follows the call."""
    scope = where.scope
    outermost = [loop.node for loop in loops_of(where)][-1]
    later = read_later(statements, scope.node, outermost)  # type: ignore[arg-type]
    inside = names_in(statements)
    outside = _bound_outside(statements, scope)
    needed: dict[str, None] = {}
    bound: set[str] = set()
    for statement in _flat(statements):
        names = names_in([statement] if not isinstance(statement, ast.With) else statement.items)
        simple = not isinstance(statement, BRANCHES)
        # In a compound statement, a name that only the block itself binds is bound there before it is read.
        reads = [n for n in names.reads if n not in bound and (simple or n in outside)]
        needed.update(dict.fromkeys(reads))
        bound |= set(names.binds) if simple else set()
    again = carried((n for n in needed if n in inside.binds), statements, scope.node, outermost)  # type: ignore[arg-type]
    returned = [name for name in inside.binds if name in later or name in again or name in behind]
    for name in returned:
        if name in tapes:
            raise Refused(f"the tape `{name}` is used after the update", later.get(name))
    shared = [n for n in inside.binds if n in scope.outer_names]
    if shared:
        raise Refused(f"`{shared[0]}` is a global variable that the step sets", inside.binds[shared[0]])
    return Block(statements, list(needed), list(inside.binds), returned)


def _flat(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in the order they run; the body of a `with` always runs."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.With):
            yield from _flat(statement.body)


def _bound_outside(statements: list[ast.stmt], scope: Scope) -> set[str]:
    """Names that the scope binds anywhere but in these statements."""
    first, last = statements[0].lineno, statements[-1].end_lineno or 0
    return {
        name
        for name, bindings in scope.bindings.items()
        if any(b.kind == "parameter" or not first <= getattr(b.node, "lineno", 0) <= last for b in bindings)
    }


# -- where to, and with what -------------------------------------------------------------------------------------------


def _destination(block: Block, rates: set[str], where: Context, project: Project) -> tuple[ast.stmt, list[str]]:
    """The loop to put the function before, and the names it must be handed there."""
    scope = where.scope
    loops = list(loops_of(where))
    if not loops or any(not isinstance(loop.node, LOOPS) for loop in loops):
        raise Refused("the loop is written in a way that cannot be rewritten")
    handed = {name for name in block.needed if name in changed_names(loops[0])}
    left, fixed = loops[0], set(block.needed) - handed
    for outer in loops[1:]:
        changed = _own_changes(outer, left) & fixed
        if left.node not in getattr(outer.node, "body", []) or changed - rates:
            break
        left, handed, fixed = outer, handed | changed, fixed - changed
    anchor: ast.stmt = left.node  # type: ignore[assignment]
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
    return anchor, [name for name in block.needed if name in handed]


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
