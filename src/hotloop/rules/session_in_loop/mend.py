"""One session: around the loop where it stands in the loop, kept by a cached function where a loop calls it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from hotloop.model import Finding, Fix
from hotloop.rules.names import is_op
from hotloop.rules.once import Step, bound_names, lift, remember_call, same_object, step_at
from hotloop.rules.session_in_loop.fresh import refuse_state
from hotloop.source.module import Call, names_read
from hotloop.source.project import Project, loops_of
from hotloop.source.rewrite import Refused, Rewriter


def open_once(finding: Finding, project: Project) -> Fix:
    call, step = step_at(finding, project)
    _require_no_ops(call, step)
    for value in (*call.node.args, *[k.value for k in call.node.keywords]):
        if not same_object(value, step):
            raise Refused(f"the session needs `{ast.unparse(value)}`, which is made anew in each step", value)
    refuse_state(step)
    rewriter = Rewriter(step.scope.module)
    if step.chain:
        _keep(rewriter, call, step)
        return rewriter.fix("open the session once and keep it", "verify")
    _around(rewriter, call, step)
    return rewriter.fix("open one session around the loop", "verify")


def _require_no_ops(call: Call, step: Step) -> None:
    """A session that outlives the step must not meet new ops in each: the graph would grow under it."""
    for other in call.where.scope.module.calls:
        name = step.project.name_of(other.node.func, other.where.scope)
        inside = other.where.scope is step.scope and (step.chain or step.loop in loops_of(other.where))
        if inside and (is_op(name) or name in ("tf.import_graph_def", "tf.reset_default_graph")):
            raise Refused(f"`{name}` changes the graph in each step: mend that first", other.node)
        if inside and _builds(other, step.project):
            raise Refused(
                f"`{ast.unparse(other.node.func)}` adds to the graph in each step: mend that first", other.node
            )


def _builds(call: Call, project: Project) -> bool:
    """A call of the project's own function that makes ops, and makes them anew."""
    target = project.resolve(call.node.func, call.where.scope)
    if target is None or target.scope is None or target.kind != "function" or project.is_cached(target.scope):
        return False
    inner = [c for c in target.scope.module.calls if c.where.scope is target.scope]
    return any(is_op(project.name_of(c.node.func, c.where.scope)) for c in inner)


def _around(rewriter: Rewriter, call: Call, step: Step) -> None:
    blocks, statement = _blocks(call, step), call.where.statement
    if isinstance(statement, ast.With):
        for item in statement.items:
            if item.context_expr is not call.node and not same_object(item.context_expr, step):
                raise Refused("the `with` also opens something that changes in each step", statement)
        lift(rewriter, step, _made_for([*blocks, statement], step), [*blocks, statement])
        return
    if not (
        isinstance(statement, ast.Assign)
        and statement.value is call.node
        and isinstance(statement.targets[0], ast.Name)
    ):
        raise Refused("the session is neither a `with` nor assigned to a name", call.node)
    if call.where.tests or call.where.fallible:
        raise Refused("the session is opened under a condition or in a `try`", statement)
    name = statement.targets[0].id
    holder = step.holding(statement) if not blocks else statement
    if holder is not statement:
        raise Refused("the session is opened in a nested block", statement)
    if len(step.scope.bindings.get(name, [])) > 1:
        raise Refused(f"`{name}` is bound more than once", statement)
    guard = [] if blocks else _guards(name, step)
    closes = _closes(name, step.statements)
    _require_left_open(name, [*closes, *[close for block in guard for close in block.finalbody]], step)
    moved = step.needs([statement]) if not blocks else [*_made_for(blocks, step), statement]
    step.require_movable([s for s in moved if s is not statement])
    lift(rewriter, step, moved, [*blocks, *guard], after=closes)


def _made_for(blocks: Sequence[ast.With], step: Step) -> list[ast.stmt]:
    """The statements of the step that make what the blocks are opened with: they go before the loop as well."""
    read = {name for block in blocks for item in block.items for name in names_read(item.context_expr)}
    before = step.needs([s for s in step.statements if s.lineno < blocks[0].lineno and bound_names(s) & read])
    step.require_movable(before)
    return before


def _blocks(call: Call, step: Step) -> list[ast.With]:
    """The `with` blocks between the loop and the session that must be lifted along; each must not change."""
    outer = set(map(id, step.loop.where.withs))
    blocks = [w for w in call.where.withs if id(w) not in outer]
    for block in blocks:
        for item in block.items:
            if not isinstance(block, ast.With) or step.varies(item.context_expr):
                raise Refused("the session stands in a block that changes in each step", block)
    if call.where.tests or call.where.fallible:
        raise Refused("the session is opened under a condition or in a `try`", call.node)
    return blocks  # type: ignore[return-value]


def _guards(name: str, step: Step) -> list[ast.Try]:
    """`try: ... finally: session.close()`, which can as well go around the loop."""
    found = [s for s in step.statements if isinstance(s, ast.Try) and not s.handlers and not s.orelse]
    return [s for s in found if _closes(name, s.finalbody) == s.finalbody][:1]


def _closes(name: str, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    return [
        s
        for s in statements
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and ast.unparse(s.value) == f"{name}.close()"
    ]


def _require_left_open(name: str, closes: list[ast.stmt], step: Step) -> None:
    """Any other `close`, or a `with` on the session itself, would end the one that is kept."""
    kept = {id(n) for close in closes for n in ast.walk(close)}
    for statement in step.statements:
        for node in ast.walk(statement):
            ends = isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.close" and id(node) not in kept
            entered = isinstance(node, ast.withitem) and ast.unparse(node.context_expr) == name
            if ends or entered:
                raise Refused(f"`{name}` is closed in a way that cannot be moved", statement)


def _keep(rewriter: Rewriter, call: Call, step: Step) -> None:
    if any(".as_default" in ast.unparse(item.context_expr) for w in call.where.withs for item in w.items):
        raise Refused("the session stands under a graph that the function sets as default", call.node)
    if not call.node.keywords and not call.node.args:
        outer = [w for link in step.chain for w in link.where.withs]
        if any(".as_default" in ast.unparse(item.context_expr) for w in outer for item in w.items):
            raise Refused("the session belongs to whichever graph its caller sets as default", call.node)
    statement = call.where.statement
    # Leaving `with session` would close it; as the default it lasts only as long as the block.
    in_with = isinstance(statement, ast.With)
    name = "session_for" if any(not isinstance(k.value, ast.Constant) for k in call.node.keywords) else "open_session"
    remember_call(rewriter, call, name, ["target", "graph", "config"], ".as_default()" if in_with else "")
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        closes = _closes(statement.targets[0].id, step.statements)
        _require_left_open(statement.targets[0].id, closes, step)
        for close in closes:
            rewriter.replace(rewriter.statement(close))
    elif not in_with:
        raise Refused("the session is neither a `with` nor assigned to a name", call.node)
