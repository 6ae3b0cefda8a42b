"""One session: around the loop where it stands in the loop, kept by a cached function where a loop calls it."""

from __future__ import annotations

import ast

from hotloop.model import Finding, Fix
from hotloop.rules.names import is_op
from hotloop.rules.once import Step, lift, remember_call, same_object, step_at
from hotloop.source.module import Call, Loop
from hotloop.source.project import Project, loops_of
from hotloop.source.rewrite import Refused, Rewriter


def open_once(finding: Finding, project: Project) -> Fix:
    call, step = step_at(finding, project)
    _require_no_ops(call, step)
    for value in (*call.node.args, *[k.value for k in call.node.keywords]):
        if not same_object(value, step):
            raise Refused(f"the session needs `{ast.unparse(value)}`, which is made anew in each step", value)
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
        inside = other.where.scope is step.scope and (step.chain or step.loop in _loops_of(other))
        if inside and (is_op(name) or name == "tf.import_graph_def"):
            raise Refused(f"`{name}` adds to the graph in each step: mend that first", other.node)


def _loops_of(call: Call) -> list[Loop]:
    return list(loops_of(call.where))


def _around(rewriter: Rewriter, call: Call, step: Step) -> None:
    blocks, statement = _blocks(call, step), call.where.statement
    if isinstance(statement, ast.With):
        lift(rewriter, step, [], [*blocks, statement])
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
    lift(rewriter, step, [statement], blocks, after=_closes(name, step))


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


def _closes(name: str, step: Step) -> list[ast.stmt]:
    return [
        s
        for s in step.statements
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and ast.unparse(s.value) == f"{name}.close()"
    ]


def _keep(rewriter: Rewriter, call: Call, step: Step) -> None:
    if any(".as_default" in ast.unparse(item.context_expr) for w in call.where.withs for item in w.items):
        raise Refused("the session stands under a graph that the function sets as default", call.node)
    statement = call.where.statement
    # Leaving `with session` would close it; as the default it lasts only as long as the block.
    in_with = isinstance(statement, ast.With)
    name = "session_for" if any(not isinstance(k.value, ast.Constant) for k in call.node.keywords) else "open_session"
    remember_call(rewriter, call, name, ["target", "graph", "config"], ".as_default()" if in_with else "")
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        for close in _closes(statement.targets[0].id, step):
            rewriter.replace(rewriter.statement(close))
    elif not in_with:
        raise Refused("the session is neither a `with` nor assigned to a name", call.node)
