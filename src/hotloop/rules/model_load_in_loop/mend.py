"""Load once: before the loop where the load stands in it, else in a function that remembers what it loaded."""

from __future__ import annotations

import ast
from typing import Any

from hotloop.model import Finding, Fix
from hotloop.rules.model_load_in_loop import is_restore
from hotloop.rules.moving import MODEL_CHANGES
from hotloop.rules.once import Step, bound_names, extract, fills, lift, remember_call, same_object, step_at
from hotloop.source.module import Call, Scope, names_read
from hotloop.source.project import Project, argument_for
from hotloop.source.rewrite import Refused, Rewriter

# These build into a graph or an object that is already there; the others return the model.
INTO_GRAPH = {
    "tf.import_graph_def",
    "tf.train.Saver().restore",
    "tf.train.Checkpoint().restore",
    "tf.saved_model.loader.load",
}
RESETS = {"save", "save_weights", "clear_session", "reset_default_graph", "exists", "isfile"}
CHANGES = MODEL_CHANGES | {"add", "pop"}
SAVES = {"save", "save_model", "save_weights"}


def load_once(finding: Finding, project: Project) -> Fix:
    call, step = step_at(finding, project)
    _require_unchanged(call, step)
    _require_kept_file(call, step)
    rewriter = Rewriter(step.scope.module)
    return rewriter.fix(_choose(rewriter, call, step), "verify")


def _require_kept_file(call: Call, step: Step) -> None:
    """What the loop itself saves, a step may have to load again."""
    for node in ast.walk(step.loop.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAVES:
            reason = f"the loop saves a model (`{ast.unparse(node.func)}`): the next step may have to load that one"
            raise Refused(reason, node if call.where.scope.module is step.loop.where.scope.module else None)


def _choose(rewriter: Rewriter, call: Call, step: Step) -> str:
    """What a careful engineer would do, by where the load stands."""
    if not step.chain:
        _before_loop(rewriter, call, step)
        return "load the model before the loop"
    if step.project.name_of(call.node.func, call.where.scope) not in INTO_GRAPH:
        remember_call(rewriter, call, _name(call), ["path"])
        return "load the model once and remember it"
    if _is_factory(step):
        rewriter.require_import("functools")
        definition: Any = rewriter.statement(step.scope.node)  # type: ignore[arg-type]
        decorated: Any = rewriter.parse_block("@functools.cache\ndef f():\n    pass")[0]
        marked = definition.with_changes(decorators=[*decorated.decorators, *definition.decorators])
        rewriter.replace(definition, marked)
        return f"let `{step.scope.name}` remember what it loaded"
    _extract(rewriter, call, step)
    return "import the graph once and remember it"


def _require_unchanged(call: Call, step: Step) -> None:
    """A model that the step trains or alters would carry the change over."""
    name = step.project.name_of(call.node.func, call.where.scope)
    if is_restore(name) and (graph := _own_graph(step)) is not None:
        raise Refused("each step restores into a graph of its own: build one for all of them first", graph)
    if is_restore(name):
        raise Refused("restoring sets the variables back: what the step did to them would last", call.node)
    statement, scope = call.where.statement, step.scope
    _refuse_changes(scope, bound_names(statement) if isinstance(statement, ast.Assign) else set(), step.project)
    if call.node in scope.returns or (isinstance(statement, ast.Return) and scope.is_function):
        for use in step.project.callers(scope):
            at = use.where.statement
            _refuse_changes(use.where.scope, bound_names(at) if isinstance(at, ast.Assign) else set(), step.project)
    for other in step.statements:
        for node in ast.walk(other):
            method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
            if method in RESETS:
                raise Refused(f"the step also calls `{method}`, which the load may depend on", node)


def _own_graph(step: Step) -> ast.Call | None:
    """The `tf.Graph()` that each step makes."""
    calls = (n for statement in step.statements for n in ast.walk(statement) if isinstance(n, ast.Call))
    return next((call for call in calls if step.project.name_of(call.func, step.scope) == "tf.Graph"), None)


def _refuse_changes(scope: Scope, names: set[str], project: Project, depth: int = 0) -> None:
    """Refuses where code of `scope`, or a project function that it hands the model to, changes the model."""
    for call in scope.module.calls:
        func = call.node.func
        if call.where.scope is not scope:
            continue
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            if func.attr in CHANGES and func.value.id in names:
                raise Refused(
                    f"the step changes the model (`{ast.unparse(func)}`): it cannot be shared", call.node, scope.module
                )
        target = project.resolve(func, scope)
        if target is None or target.scope is None or not target.scope.is_function or depth > 2:
            continue
        handed = {p for p in target.scope.parameters if _is_one_of(argument_for(call, target.scope, p), names)}
        if handed:
            _refuse_changes(target.scope, handed, project, depth + 1)


def _is_one_of(value: ast.expr | None, names: set[str]) -> bool:
    return isinstance(value, ast.Name) and value.id in names


def _before_loop(rewriter: Rewriter, call: Call, step: Step) -> None:
    if call.where.tests or call.where.fallible:
        raise Refused("the model is loaded under a condition or in a `try`", call.node)
    outer = set(map(id, step.loop.where.withs))
    blocks = [w for w in call.where.withs if id(w) not in outer]
    holder = step.holding(call.node)
    try:
        moved = step.needs([holder])
        step.require_movable(moved)
        lift(rewriter, step, moved, [])
    except Refused:
        if not blocks or not isinstance(holder, ast.With):
            raise
        _with_blocks(rewriter, call, step, blocks)


def _with_blocks(rewriter: Rewriter, call: Call, step: Step, blocks: list[Any]) -> None:
    """The load stands in `with graph.as_default():` beside code that must stay: lift the block around the loop."""
    for depth in range(1, len(blocks) + 1):
        around = blocks[:depth]
        level = around[-1].body
        seed = next(s for s in level if any(n is call.node for n in ast.walk(s)))
        moved = _needed(level, seed)
        try:
            for block in around:
                for item in block.items:
                    step_varies = step.varies(item.context_expr)
                    if step_varies:
                        raise Refused("it stands in a block that changes in each step", block)
            before = step.needs([step.holding(call.node)])
            first = [s for s in before if s is not blocks[0] and bound_names(s) & names_read(_header(blocks[0]))]
            step.require_movable([*first, *moved])
            lift(rewriter, step, [*first, *moved], around)
            return
        except Refused:
            if depth == len(blocks):
                raise


def _header(block: ast.With) -> ast.expr:
    return ast.Tuple([item.context_expr for item in block.items], ast.Load())


def _needed(level: list[ast.stmt], seed: ast.stmt) -> list[ast.stmt]:
    chosen, wanted = [seed], names_read(seed)
    for statement in reversed(level[: level.index(seed)]):
        used = bound_names(statement) & wanted or fills(statement, wanted)
        if used:
            chosen.insert(0, statement)
            wanted |= names_read(statement)
    return chosen


def _name(call: Call) -> str:
    last = ast.unparse(call.node.func).rpartition(".")[2]
    return f"{last.lower()}_once" if "load" in last.lower() else f"load_{last.lower()}_once"


def _is_factory(step: Step) -> bool:
    """A function that only makes the graph, from the same arguments in each step."""
    scope = step.scope
    if not isinstance(scope.node, ast.FunctionDef) or scope.is_method or not step.chain:
        return False
    last = step.chain[-1]
    caller = Step(last.where.scope, step.loop, step.chain[:-1], step.project)
    for parameter in scope.parameters:
        value = argument_for(last, scope, parameter)
        if value is not None and not same_object(value, caller):
            return False
    try:
        step.require_movable([s for s in step.statements if not isinstance(s, ast.Return)])
    except Refused:
        return False
    return not any(_runs(scope, c) for c in scope.module.calls)


def _runs(scope: Scope, call: Call) -> bool:
    return call.where.scope is scope and isinstance(call.node.func, ast.Attribute) and call.node.func.attr == "run"


def _extract(rewriter: Rewriter, call: Call, step: Step) -> None:
    holder = step.holding(call.node)
    moved = step.needs([holder])
    step.require_movable(moved)
    later = {n for s in step.statements if s not in moved for n in names_read(s)}
    results = sorted({n for s in moved for n in bound_names(s)} & later)
    extract(rewriter, step, moved, "load_graph_once", results, [rewriter.statement(s) for s in moved])
