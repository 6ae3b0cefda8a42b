"""A session that closes at the end of its step: a `with` around what uses it, in place of a list that keeps it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.calls import named
from hotloop.rules.loops import in_loop
from hotloop.rules.moving import statements_around
from hotloop.rules.names import SESSIONS
from hotloop.source.module import Call, Scope, place_of
from hotloop.source.rewrite import Refused, Rewriter, with_body, without_blank_lines

if TYPE_CHECKING:
    from hotloop.model import Place
    from hotloop.source import Project


def close_after_use(finding: Finding, project: Project) -> Fix:
    call, body = _made(finding, project)
    made = call.where.statement
    if not (isinstance(made, ast.Assign) and made in body and made.value is call.node and len(made.targets) == 1):
        raise Refused("the session gets no name in the body of the loop", call.node)
    if not isinstance(made.targets[0], ast.Name):
        raise Refused("the session is kept in an attribute or an item", made)
    name, scope = made.targets[0].id, call.where.scope
    keeper = None if place_of(scope.module, call.node) == finding.place else _keeper(body, finding.place, scope)
    _require_local(name, made, body, scope)
    if project.name_of(call.node.func, scope) == "tf.InteractiveSession":
        _require_default_unused(call, body, scope)
    rewriter = Rewriter(scope.module)
    first = _forget_container(rewriter, keeper, scope) if keeper is not None else None
    _close(rewriter, call, name, body, [made, *([keeper] if keeper is not None else [])])
    if first is not None:
        rewriter.replace(rewriter.statement(first))
    return rewriter.fix("close each session after use", "verify")


def _made(finding: Finding, project: Project) -> tuple[Call, list[ast.stmt]]:
    """The call that makes the session, and the body of the loop that it stands in."""
    module = project.modules[finding.place.path]
    for call, _ in named(module, project, SESSIONS):
        found = in_loop(project, call.where)
        if found is None or found.loop.place != finding.loop:
            continue
        if found.chain or not isinstance(found.loop.node, ast.For | ast.While):
            raise Refused("the session is not made in the body of a plain loop: keep one, or close each", call.node)
        inside = found.loop.node.body
        if any(
            place_of(module, n) == finding.place
            for s in inside
            for n in ast.walk(s)
            if isinstance(n, ast.expr | ast.stmt)
        ):
            return call, inside
    raise Refused("the session is made elsewhere than where it is kept: keep one, or close each after use")


def _keeper(body: list[ast.stmt], place: Place, scope: Scope) -> ast.stmt:
    """`sessions.append(session)` or `sessions[key] = session`, a statement of its own."""
    for statement in body:
        value = statement.value if isinstance(statement, ast.Expr) else statement
        if place_of(scope.module, value) == place:
            return statement
    raise Refused("what keeps the session does not stand in the body of the loop itself")


def _require_local(name: str, made: ast.Assign, body: list[ast.stmt], scope: Scope) -> None:
    """The session is used in the rest of the step alone."""
    if len(scope.bindings.get(name, [])) != 1:
        raise Refused(f"`{name}` is bound more than once", made)
    inside = {id(n) for s in body[body.index(made) :] for n in ast.walk(s)}
    for node in ast.walk(scope.node):
        if isinstance(node, ast.Name) and node.id == name and id(node) not in inside:
            raise Refused(f"`{name}` is used outside its step", node)


def _require_default_unused(call: Call, body: list[ast.stmt], scope: Scope) -> None:
    """`InteractiveSession` cannot stand in a `with`; a `Session` can, and is the default only so long."""
    if not (isinstance(call.node.func, ast.Attribute) and call.last == "InteractiveSession"):
        raise Refused("the `InteractiveSession` goes by another name", call.node)
    inside = {id(n) for s in body for n in ast.walk(s)}
    for other in scope.module.called.get("eval", ()):
        if id(other.node) not in inside:
            raise Refused("`eval` runs in the session that is left open", other.node)


def _forget_container(rewriter: Rewriter, keeper: ast.stmt, scope: Scope) -> ast.stmt | None:
    """The statement that makes the list or dict, which nothing else may read; None where it makes more."""
    container = _container(keeper)
    if not isinstance(container, ast.Name):
        raise Refused(f"`{ast.unparse(container)}` may be read elsewhere: close what is in it there", keeper)
    home = scope.owner(container.id)
    bindings = home.bindings[container.id] if home is not None else []
    for node in ast.walk(scope.module.tree):
        if isinstance(node, ast.Name) and node.id == container.id and isinstance(node.ctx, ast.Load):
            if node is not container:
                raise Refused(f"the sessions in `{container.id}` are used again: close them there", node)
    if len(bindings) != 1 or home is not scope:
        raise Refused(f"`{container.id}` is not made by one plain assignment here", keeper)
    first = bindings[0].node
    alone = isinstance(first, ast.Assign) and isinstance(first.targets[0], ast.Name) and len(first.targets) == 1
    if not alone or not isinstance(first, ast.stmt) or len(statements_around(scope.module, first)) == 1:
        return None
    return first


def _container(keeper: ast.stmt) -> ast.expr:
    if isinstance(keeper, ast.Expr) and isinstance(keeper.value, ast.Call):
        func = keeper.value.func
        if isinstance(func, ast.Attribute) and len(keeper.value.args) == 1:
            if isinstance(keeper.value.args[0], ast.Name):
                return func.value
    plain = isinstance(keeper, ast.Assign) and isinstance(keeper.value, ast.Name) and len(keeper.targets) == 1
    if plain and isinstance(keeper.targets[0], ast.Subscript):  # type: ignore[attr-defined]
        return keeper.targets[0].value  # type: ignore[attr-defined]
    raise Refused("something else is kept together with the session", keeper)


def _close(rewriter: Rewriter, call: Call, name: str, body: list[ast.stmt], gone: list[ast.stmt]) -> None:
    """`with tf.Session() as session:` around the rest of the step."""
    made: Any = rewriter.statement(gone[0])
    rest = [rewriter.statement(s) for s in body[body.index(gone[0]) + 1 :] if s not in gone]
    if not rest:
        raise Refused("nothing is done with the session in its step", gone[0])
    text = rewriter.code(rewriter.expression(call.node))
    func = rewriter.code(rewriter.expression(call.node.func))
    text = func.replace("InteractiveSession", "Session") + text[len(func) :]
    block: Any = rewriter.parse_block(f"with {text} as {name}:\n    pass")[0]
    for statement in body[body.index(gone[0]) + 1 :]:
        rewriter.replace(rewriter.statement(statement))
    rest[0] = without_blank_lines(rest[0])
    block = with_body(block, rest).with_changes(leading_lines=made.leading_lines)
    header = made.trailing_whitespace
    block = block.with_changes(body=block.body.with_changes(header=header)) if header.comment is not None else block
    rewriter.replace(made, block)
