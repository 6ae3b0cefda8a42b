"""The fix: compile once, before the loop; a learning rate that changes is set in the compiled model."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.hoisting import Changes, hoist_statement
from hotloop.rules.moving import call_at, needs, way_out
from hotloop.rules.optimizers import is_stateless, rate_of
from hotloop.source.flow import varies
from hotloop.source.module import Call
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

USES = {"fit", "evaluate", "train_on_batch", "test_on_batch", "fit_generator"}
ON_BATCH = {"train_on_batch", "test_on_batch"}  # these add to metrics that a new compilation had set to zero
DEFAULT = ast.Constant("rmsprop")


@dataclass(frozen=True)
class Compilation:
    call: Call
    model: str  # as it is spelled
    optimizer: ast.expr
    rate: ast.expr | None  # of a learning rate that changes


def compile_once(finding: Finding, project: Project) -> Fix:
    call = call_at(project.modules[finding.place.path], finding.place)
    found = _read(call, project)
    anchor = _anchor(found, project)
    scope, statement = call.where.scope, call.where.statement
    assert statement is not None
    rewriter = Rewriter(scope.module)
    lines: list[str] = []
    changes: Changes = {}
    if found.rate is not None:
        rate = rewriter.code(rewriter.expression(found.rate))
        lines.append(f"{found.model}.optimizer.learning_rate = {rate}")
        changes = _without_rate(rewriter, found)
    if _calls_on_batch(found):
        lines.append(f"{found.model}.reset_metrics()")
    instead = rewriter.parse_block("\n".join(lines)) if lines else []
    hoist_statement(rewriter, statement, anchor, *instead, changes=changes)
    if not isinstance(found.optimizer, ast.Name | ast.Attribute) and not is_stateless(found.optimizer, scope, project):
        title = f"compile `{found.model}` once: its optimizer then remembers from step to step"
        return rewriter.fix(title, "advice")
    return rewriter.fix(f"compile `{found.model}` once, before the loop", "verify")


def _read(call: Call, project: Project) -> Compilation:
    func = call.node.func
    assert isinstance(func, ast.Attribute)
    if func.attr != "compile":
        raise Refused(f"`{func.attr}` is called on purpose: call it once, before the loop", call.node)
    where = call.where
    if where.loop is None:
        raise Refused(f"it is compiled in each call of `{where.scope.name}`: compile it where it is made", call.node)
    statement = where.statement
    if not isinstance(statement, ast.Expr) or statement not in getattr(where.loop.node, "body", []):
        raise Refused("it is compiled in a block within the loop, not in each step", call.node)
    if any(k.arg is None for k in call.node.keywords) or any(isinstance(a, ast.Starred) for a in call.node.args):
        raise Refused("the arguments of `compile` are not spelled out", call.node)
    optimizer = call.argument(0, "optimizer") or DEFAULT
    rate = rate_of(optimizer) if isinstance(optimizer, ast.Call) else None
    changes = rate is not None and varies(rate, where.scope, where.loop, (), project, calls_vary=True)
    return Compilation(call, ast.unparse(func.value), optimizer, rate if changes else None)


def _anchor(found: Compilation, project: Project) -> ast.stmt:
    call, where = found.call, found.call.where
    assert where.loop is not None
    _refuse_other_uses(found)
    parts = [node for node in ast.walk(call.node) if isinstance(node, ast.Name)]
    apart = {id(node) for node in ast.walk(found.rate)} if found.rate is not None else set()
    fixed: list[ast.AST] = [node for node in parts if id(node) not in apart]
    lambdas = [node for node in ast.walk(call.node) if isinstance(node, ast.Lambda)]
    own = {a.arg for node in lambdas for a in node.args.args}
    needed = {n: at for n, at in needs(fixed, where.scope, project).items() if n not in own}
    return way_out(where, needed, f"{found.model}.compile", "compile it after each change, or change it once")


def _refuse_other_uses(found: Compilation) -> None:
    """What freezes layers must be compiled again; what is trained before has the compilation of the step before."""
    loop, call = found.call.where.loop, found.call
    assert loop is not None
    for node in ast.walk(loop.node):
        if isinstance(node, ast.Attribute) and node.attr == "trainable" and isinstance(node.ctx, ast.Store):
            raise Refused(f"`{ast.unparse(node)}` changes in the loop, and `compile` takes it up", node)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)) or node is call.node:
            continue
        if ast.unparse(node.func.value) != found.model:
            continue
        if node.func.attr == "compile":
            raise Refused(f"`{found.model}` is compiled in two ways", node)
        if node.func.attr in USES and node.lineno < call.node.lineno:
            raise Refused(f"the step uses `{found.model}` before it compiles it", node)


def _calls_on_batch(found: Compilation) -> bool:
    assert found.call.where.loop is not None
    spelled = {f"{found.model}.{method}" for method in ON_BATCH}
    nodes = ast.walk(found.call.where.loop.node)
    return any(isinstance(node, ast.Call) and ast.unparse(node.func) in spelled for node in nodes)


def _without_rate(rewriter: Rewriter, found: Compilation) -> Changes:
    """`SGD(rate)` as `SGD()`: each step sets its own."""
    made: Any = rewriter.expression(found.optimizer)
    rate = rewriter.expression(found.rate) if found.rate is not None else None
    stay = [argument for argument in made.args if argument.value is not rate]
    if stay and stay[-1] is not made.args[-1]:
        stay[-1] = stay[-1].with_changes(comma=made.args[-1].comma)
    return {made: [made.with_changes(args=stay)]}
