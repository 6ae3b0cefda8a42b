"""One tape for each step: the forward pass goes into a tape inside the loop, the gradient is taken after it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.moving import MUTATORS, not_found
from hotloop.source.module import Call, Loop, last_name, names_read, names_stored, place_of
from hotloop.source.project import loops_of
from hotloop.source.rewrite import Refused, Rewriter, body_of, substituted, with_body
from hotloop.source.stages import STAGES

if TYPE_CHECKING:
    from hotloop.source import Project

GIVEN = {"range", "enumerate", "zip", "tqdm", "trange", "list", "reversed", "sorted", "iter", "len", "items"}
GRADIENTS = {"gradient", "jacobian", "batch_jacobian"}


def tape_per_step(finding: Finding, project: Project) -> Fix:
    module = project.modules[finding.place.path]
    node = next((n for n, _ in module.withs if place_of(module, n) == finding.place), None)
    if not isinstance(node, ast.With):
        raise not_found(finding.place)
    item = next(i for i in node.items if _is_tape(i, module.contexts[node].scope, project))
    name = ast.unparse(item.optional_vars) if item.optional_vars is not None else ""
    taken = [c for c in module.calls if node in c.where.withs and _asked(c, name) in GRADIENTS]
    if not taken:
        raise Refused("the gradient is taken of all batches together: take one of each and add them up", node)
    loop = _loop(node, taken)
    cut = _cut(loop, taken, name)
    _require_own_steps(node, loop, cut, name, taken)
    rewriter = Rewriter(module)
    _open_inside(rewriter, node, item, loop, cut, persistent=_is_taken_often(taken, loop))
    return rewriter.fix("open a tape in each step", "verify")


def _is_tape(item: ast.withitem, scope: Any, project: Project) -> bool:
    return project.name_of(item.context_expr, scope) == "tf.GradientTape()"


def _asked(call: Call, tape: str) -> str:
    """What of the tape is called."""
    func = call.node.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == tape:
        return func.attr
    return ""


def _loop(node: ast.With, taken: list[Call]) -> Loop:
    """The innermost loop around all gradients, which must be all that the tape is open around."""
    shared = [loop for loop in loops_of(taken[0].where) if all(loop in loops_of(c.where) for c in taken)]
    loop = next((one for one in shared if isinstance(one.node, ast.For | ast.While)), None)
    if loop is None or node not in loop.where.withs:
        raise Refused("the gradients are not taken in one plain loop", taken[0].node)
    if len(node.body) != 1 or not isinstance(node.body[0], ast.For | ast.While):
        raise Refused("the tape is open around more than the loop", node)
    return loop


def _body(loop: Loop) -> list[ast.stmt]:
    return loop.node.body  # type: ignore[union-attr]


def _cut(loop: Loop, taken: list[Call], tape: str) -> int:
    """Where the forward pass ends and the gradients begin."""
    body = _body(loop)
    holding = [i for i, s in enumerate(body) if any(n is c.node for c in taken for n in ast.walk(s))]
    if not holding or holding[0] == 0:
        raise Refused("the forward pass and the gradient do not stand one after the other in the loop", taken[0].node)
    if not all(isinstance(s, ast.Assign | ast.AugAssign | ast.Expr | ast.For | ast.If) for s in body[holding[0] :]):
        raise Refused("the step leaves the loop behind its gradient", body[holding[0]])
    return holding[0]


def _is_taken_often(taken: list[Call], loop: Loop) -> bool:
    return len(taken) > 1 or next(loops_of(taken[0].where)) is not loop


# -- what must hold ----------------------------------------------------------------------------------------------------


def _require_own_steps(node: ast.With, loop: Loop, cut: int, tape: str, taken: list[Call]) -> None:
    body = _body(loop)
    forward, rest = body[:cut], body[cut:]
    _require_nothing_else(node, loop, tape)
    for call in taken:
        later = {name for statement in rest for name in names_stored(statement)}
        target = call.node.args[0] if call.node.args else None
        if not isinstance(target, ast.Name | ast.Attribute | ast.List | ast.Tuple) or names_read(target) & later:
            raise Refused("what is differentiated is computed outside the forward pass", call.node)
    for around in (loop, *loops_of(loop.where)):
        if node in around.where.withs and around.iterable is not None:
            _require_given(around.iterable)
    carried = _carried(node, loop, forward) or _collected(loop, forward)
    if carried is not None:
        raise Refused(f"`{carried[0]}` is carried from step to step, and the gradient goes through it", carried[1])


def _require_given(iterable: ast.expr) -> None:
    """What the loop goes over must not be computed under the tape."""
    for part in ast.walk(iterable):
        if isinstance(part, ast.Call) and last_name(part.func) not in GIVEN | STAGES:
            raise Refused(f"the loop goes over `{ast.unparse(part)[:50]}`, which the tape records", part)


def _require_nothing_else(node: ast.With, loop: Loop, tape: str) -> None:
    """The tape is asked for gradients, told what to watch, and forgotten with the loop."""
    scope = loop.where.scope.node
    inside = {id(n) for n in ast.walk(loop.node)}
    asked = {id(n.value): n.attr for n in ast.walk(scope) if isinstance(n, ast.Attribute)}
    for n in ast.walk(scope):
        if isinstance(n, ast.Name) and n.id == tape and isinstance(n.ctx, ast.Load):
            if id(n) not in inside or asked.get(id(n)) not in GRADIENTS | {"watch"}:
                raise Refused(f"`{tape}` is used in another way too", n)


def _carried(node: ast.With, loop: Loop, forward: list[ast.stmt]) -> tuple[str, ast.AST] | None:
    """A value that the forward pass reads from the step before, or from around the loop but under the tape."""
    recorded: dict[str, ast.AST] = {}
    for statement in ast.walk(node):
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in (part for whole in targets for part in ast.walk(whole)):
                if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
                    recorded.setdefault(ast.unparse(target), statement)
    made: set[str] = set()
    for statement in forward:
        for part in ast.walk(statement):
            read = isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Load)
            spelled = ast.unparse(part) if read else ""
            if spelled in recorded and spelled not in made:
                return spelled, recorded[spelled]
        if isinstance(statement, ast.AugAssign) and ast.unparse(statement.target) not in made:
            return ast.unparse(statement.target), statement
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.With | ast.For):
            made |= set(names_stored(statement))
    return None


def _collected(loop: Loop, forward: list[ast.stmt]) -> tuple[str, ast.AST] | None:
    """A list or dict that the step fills and the forward pass reads: `states.append(h)`, `f(states[-1])`."""
    filled: dict[str, ast.AST] = {}
    receivers: set[int] = set()
    for node in ast.walk(loop.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            filled.setdefault(ast.unparse(node.func.value), node)
            receivers.add(id(node.func.value))
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            filled.setdefault(ast.unparse(node.value), node)
            receivers.add(id(node.value))
    for part in (inner for statement in forward for inner in ast.walk(statement)):
        if isinstance(part, ast.Name | ast.Attribute) and id(part) not in receivers and ast.unparse(part) in filled:
            return ast.unparse(part), filled[ast.unparse(part)]
    return None


# -- writing -----------------------------------------------------------------------------------------------------------


def _open_inside(
    rewriter: Rewriter, node: ast.With, item: ast.withitem, loop: Loop, cut: int, persistent: bool
) -> None:
    import libcst

    outer: Any = rewriter.statement(node)
    inner: Any = rewriter.statement(loop.node)  # type: ignore[arg-type]
    top = body_of(outer)[0]
    index = node.items.index(item)
    tape = outer.items[index].with_changes(comma=libcst.MaybeSentinel.DEFAULT)
    if not persistent:
        tape = tape.with_changes(item=_fleeting(tape.item))
    statements = body_of(inner)
    step = with_body(outer, statements[:cut]).with_changes(items=[tape], leading_lines=[])
    looped = with_body(inner, [step, *statements[cut:]])
    whole = looped if top is inner else substituted(top, {inner: [looped]})
    others = [i for n, i in enumerate(outer.items) if n != index]
    if others:
        others[-1] = others[-1].with_changes(comma=libcst.MaybeSentinel.DEFAULT)
        rewriter.replace(outer, with_body(outer.with_changes(items=others), [whole]))
        return
    comments = [line for line in whole.leading_lines if line.comment is not None]
    rewriter.replace(outer, whole.with_changes(leading_lines=[*outer.leading_lines, *comments]))


def _fleeting(made: Any) -> Any:
    """The call that makes the tape, without `persistent=True`: one gradient is all that is asked."""
    import libcst

    kept = [argument for argument in made.args if not (argument.keyword and argument.keyword.value == "persistent")]
    if kept:
        kept[-1] = kept[-1].with_changes(comma=libcst.MaybeSentinel.DEFAULT)
    return made.with_changes(args=kept)
