"""A loop over the examples themselves, `for x, y in zip(xs, ys)`: the model is called once, on all of `xs`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.model import Fix
from hotloop.rules.example_loop_in_step.mean import is_keras_loss, start_of
from hotloop.rules.hoisting import free_name
from hotloop.rules.moving import changed_names, names_in, put_before, statements_around
from hotloop.rules.row_loops import iterated, named, zipped
from hotloop.rules.single_rows import adds_axis, drop_row, is_array, spelled
from hotloop.source.module import Call, Loop
from hotloop.source.project import argument_for
from hotloop.source.rewrite import Refused, Rewriter, body_of, substituted

if TYPE_CHECKING:
    from hotloop.source import Project

SINGLE = "the loop goes over single examples: count them, or call the model before it"


def over_examples(call: Call, loop: Loop, node: ast.For, project: Project) -> Fix:
    scope, data = loop.where.scope, call.node.args[0]
    said = spelled(data, scope)
    row = adds_axis(said, scope, project) if said is not None else None
    rows, index = iterated(node, row.id) if isinstance(row, ast.Name) else (None, "")
    if rows is None or not isinstance(row, ast.Name) or call.where.tests or node.orelse:
        raise Refused(SINGLE, call.node)
    if not _is_batch(rows, loop, project):
        raise Refused(f"`{ast.unparse(rows)}` may be a list of examples: make one array or tensor of them first", rows)
    changed = changed_names(loop)
    for name in names_in([rows]).reads:
        if name in changed:
            raise Refused(f"`{name}` changes in the loop", changed[name])
    refuse_varying(call, loop)
    rewriter = Rewriter(scope.module)
    if not _mean(rewriter, call, loop, node, project):
        _call_before(rewriter, call, loop, node, rows, index)
    return rewriter.fix(f"call `{ast.unparse(call.node.func)}` once, on the whole batch", "verify")


def refuse_varying(call: Call, loop: Loop) -> None:
    statement = call.where.statement
    if (
        isinstance(statement, ast.Assign)
        and statement.value is call.node
        and isinstance(statement.targets[0], ast.Tuple)
    ):
        raise Refused("the model gives several results", statement)
    changed = changed_names(loop)
    others = [call.node.func, *call.node.args[1:], *[k.value for k in call.node.keywords]]
    for name in names_in(others).reads:
        if name in changed:
            raise Refused(f"the model is called with `{name}`, which the loop changes", changed[name])


def _is_batch(rows: ast.expr, loop: Loop, project: Project) -> bool:
    """An array or a tensor, as far as the callers show; a model takes a list for several inputs."""
    scope = loop.where.scope
    if is_array(rows, loop.where, project):
        return True
    if not (isinstance(rows, ast.Name) and rows.id in scope.parameters):
        return False
    if project.is_compiled(scope):
        return True
    arguments = [(argument_for(caller, scope, rows.id), caller.where) for caller in project.callers(scope)]
    return bool(arguments) and all(
        value is not None and (is_array(value, where, project) or _is_element(value, where.loop, project))
        for value, where in arguments
    )


def _is_element(value: ast.expr, loop: Loop | None, project: Project) -> bool:
    """What a loop over a data set is at."""
    while loop is not None:
        if isinstance(value, ast.Name) and value.id in loop.targets and loop.iterable is not None:
            return project.name_of(loop.iterable, loop.where.scope).startswith("tf.data.")
        loop = loop.where.loop
    return False


def called_before(rewriter: Rewriter, call: Call, whole: ast.expr, anchor: ast.stmt) -> str:
    """Put `outputs = model(x)`, on all rows, before a loop; returns the name."""
    name = free_name("outputs", call.where.scope)
    found: Any = rewriter.expression(call.node)
    given = found.args[0].with_changes(value=rewriter.expression(whole))
    line: Any = rewriter.parse_block(f"{name} = None")[0]
    assign = line.body[0].with_changes(value=found.with_changes(args=[given, *found.args[1:]]))
    put_before(rewriter, anchor, line.with_changes(body=[assign]))
    return name


def _call_before(rewriter: Rewriter, call: Call, loop: Loop, node: ast.For, rows: ast.expr, index: str) -> None:
    scope, data = call.where.scope, call.node.args[0]
    outputs, output = called_before(rewriter, call, rows, node), free_name("output", scope)
    if not index:
        zipped(rewriter, loop, node, data, output, outputs)
    text = f"{outputs}[{index} : {index} + 1]" if index else f"{output}[None]"
    rewriter.replace(rewriter.expression(call.node), rewriter.parse_expression(text))
    drop_row(rewriter, data, call, loop)


# -- a mean over the examples ------------------------------------------------------------------------------------------


def _mean(rewriter: Rewriter, call: Call, loop: Loop, node: ast.For, project: Project) -> bool:
    """`total += loss(y[None], model(x[None]))` and `total / len(xs)` as one call of the loss; False: it is not that."""
    scope = loop.where.scope
    *before, last = node.body
    if not (isinstance(last, ast.AugAssign) and isinstance(last.op, ast.Add) and isinstance(last.target, ast.Name)):
        return False
    block, total = statements_around(scope.module, node), last.target.id
    start, at = start_of(node, total, scope), block.index(node)
    after = block[at + 1] if at + 1 < len(block) else None
    named_before = [s for s in before if isinstance(s, ast.Assign) and s.value is call.node]
    if start is None or len(before) > 1 or named_before != before or not is_keras_loss(last.value, scope, project):
        return False
    source = scope.module.data.splitlines()
    if any(b"#" in source[line - 1] for line in (start.lineno, last.lineno, last.end_lineno or 0)):
        return False  # a remark that would get lost
    changes = _batches(rewriter, node, project, loop)
    reads = [n for n in named(total, scope.node, ast.Load) if n.lineno > (node.end_lineno or 0)]
    divided = after.value if isinstance(after, ast.Assign) and isinstance(after.value, ast.BinOp) else None
    if changes is None or divided is None or not isinstance(divided.op, ast.Div) or [divided.left] != reads:
        return False
    sources = {ast.unparse(iterated(node, name)[0] or node) for name in loop.targets}
    counts = {f"len({one})" for one in sources} | {f"{one}.shape[0]" for one in sources}
    bound = names_in(node.body).binds.keys() | loop.targets
    later = {n.id for s in block[at + 1 :] for n in ast.walk(s) if isinstance(n, ast.Name)}
    if ast.unparse(divided.right) not in counts or (bound - {total}) & later:
        return False
    kept: Any = rewriter.statement(node)
    lines = [substituted(line, changes) for line in body_of(kept)[:-1]]
    first, result = rewriter.statement(start), rewriter.statement(after)  # type: ignore[arg-type]
    loss = substituted(rewriter.expression(last.value), changes)
    new: list[Any] = [*lines, substituted(result, {rewriter.expression(divided): [loss]})]
    new[0] = new[0].with_changes(leading_lines=[*first.leading_lines, *kept.leading_lines, *new[0].leading_lines])
    rewriter.replace(first)
    rewriter.replace(kept, *new)
    rewriter.replace(result)
    return True


def _batches(rewriter: Rewriter, node: ast.For, project: Project, loop: Loop) -> dict[Any, list[Any]] | None:
    """For each `x[None]` of the loop, the batch; None where an example is used otherwise."""
    scope = loop.where.scope
    changes: dict[Any, list[Any]] = {}
    left = {id(n) for name in loop.targets for part in node.body for n in named(name, part, ast.Load)}
    for part in (inner for line in node.body for inner in ast.walk(line) if isinstance(inner, ast.expr)):
        row = adds_axis(part, scope, project)
        rows, _ = iterated(node, row.id) if isinstance(row, ast.Name) else (None, "")
        if rows is not None and row is not None and id(row) in left:
            changes[rewriter.expression(part)] = [rewriter.expression(rows)]
            left.discard(id(row))
    return changes if not left else None
