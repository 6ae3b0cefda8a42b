"""The better fix: one `predict` on all rows before the loop, where they are all there by then."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.rules.hoisting import free_name
from hotloop.rules.moving import MODEL_CHANGES, changed_names, names_in, put_before, root_name
from hotloop.rules.on_batch import renamed_call
from hotloop.rules.single_rows import adds_axis, all_of, drop_row, is_array, reshaped, spelled, whole_of
from hotloop.rules.vectors import index_of, is_tensor
from hotloop.source.module import Call, Loop, Scope
from hotloop.source.rewrite import Rewriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotloop.source import Project

LEAVES = (ast.Break, ast.Return, ast.Yield, ast.YieldFrom, ast.Raise, ast.Await)
CHANGES = MODEL_CHANGES | {"assign", "assign_add", "assign_sub", "apply_gradients", "set_weights", "trainable"}


def predict_at_once(rewriter: Rewriter, call: Call, names: Sequence[str], project: Project) -> bool:
    """False where the rows are not known before the loop, or the model changes in it."""
    loop, data = call.where.loop, call.argument(0, "x")
    if loop is None or data is None or not isinstance(loop.node, ast.For) or loop.node.orelse:
        return False
    if call.where.tests or call.where.fallible or not _is_steady(call, loop, project):
        return False
    given = _numbered(data, loop, project) or _plain(rewriter, data, loop, project)
    if given is None:
        return False
    rows, (wanted, row) = given
    output = free_name(wanted, call.where.scope)
    new: Any = renamed_call(rewriter, call, "predict", names, {"x", "verbose"})
    at = next(i for i, name in enumerate(n for n in names if n in ("x", "verbose")) if name == "x")
    arguments = list(new.args)
    arguments[at] = arguments[at].with_changes(value=rewriter.parse_expression(rows))
    line: Any = rewriter.parse_block(f"{output} = None")[0]
    assign = line.body[0].with_changes(value=new.with_changes(args=arguments))
    put_before(rewriter, loop.node, line.with_changes(body=[assign]))
    rewriter.replace(rewriter.expression(call.node), rewriter.parse_expression(row.format(output)))
    drop_row(rewriter, data, call, loop)
    return True


def _is_steady(call: Call, loop: Loop, project: Project) -> bool:
    """Every step is taken, and none changes the model or the rows."""
    statement = call.where.statement
    if (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Tuple)
        and statement.value is call.node
    ):
        return False  # a model of several results
    changed = changed_names(loop)
    func = call.node.func
    if any(name in changed for name in root_name(func)):
        return False
    for node in ast.walk(loop.node):
        if isinstance(node, LEAVES) or (isinstance(node, ast.Attribute) and node.attr in CHANGES):
            return False
        if isinstance(node, ast.Call) and not _is_harmless(node, call, project):
            return False
    return True


def _is_harmless(node: ast.Call, call: Call, project: Project) -> bool:
    """A function of the project's own must not train, as far as it shows itself."""
    target = project.resolve(node.func, call.where.scope)
    if target is None or target.scope is None:
        return True
    inner = ast.walk(target.scope.node)
    return not any(isinstance(part, ast.Attribute) and part.attr in CHANGES for part in inner)


# -- which rows, and what takes the place of one -----------------------------------------------------------------------

Rows = tuple[str, tuple[str, str]]  # all of them; a name for what is predicted, and how one row of that is written


def _numbered(data: ast.expr, loop: Loop, project: Project) -> Rows | None:
    """`for i in range(n)`, and `x[i : i + 1]`."""
    index, counted = index_of(loop, project), loop.iterable
    if index is None or not isinstance(counted, ast.Call) or len(counted.args) != 1:
        return None
    found = whole_of(data, index, loop, project)
    if found is None or set(names_in([found[0]]).reads) & changed_names(loop).keys():
        return None
    whole, row = found
    sliced = isinstance(row, ast.Subscript) and isinstance(row.slice, ast.Slice)
    if not sliced and not is_array(whole, loop.where, project):
        return None
    return all_of(ast.unparse(whole), ast.unparse(counted.args[0])), ("outputs", f"{{}}[{index} : {index} + 1]")


def _plain(rewriter: Rewriter, data: ast.expr, loop: Loop, project: Project) -> Rows | None:
    """`for row in rows`, also with its number or beside something else, and `row[None]` or `row.reshape(1, 8)`."""
    node, scope = loop.node, loop.where.scope
    assert isinstance(node, ast.For)
    said, again = _given(data, node, scope)
    shape = reshaped(said, scope, project) if said is not None else None
    row = shape[0] if shape else adds_axis(said, scope, project) if said is not None else None
    if not isinstance(row, ast.Name) or len(_stores(row.id, node)) != 1 + again:
        return None
    rows, index = _iterated(node, row.id)
    if (
        rows is None
        or not is_array(rows, loop.where, project)
        or set(names_in([rows]).reads) & changed_names(loop).keys()
    ):
        return None
    whole = rewriter.code(rewriter.expression(rows))
    if shape:
        whole = f"{whole}.reshape({', '.join([f'len({whole})', *map(ast.unparse, shape[1])])})"
        if is_tensor(rows, loop.where, project) or set(names_in(shape[1]).reads) & changed_names(loop).keys():
            return None
    if index:
        return whole, ("outputs", f"{{}}[{index} : {index} + 1]")
    output = free_name("output", scope)
    _zip(rewriter, node, row, again, output, free_name("outputs", scope))
    return whole, ("outputs", f"{output}[None]")


def _given(data: ast.expr, node: ast.For, scope: Scope) -> tuple[ast.expr | None, bool]:
    """What the model is given, and whether the row's own name is used for it again (`row = row[None]`)."""
    if isinstance(data, ast.Name):
        made = [s for s in node.body if isinstance(s, ast.Assign) and [ast.unparse(t) for t in s.targets] == [data.id]]
        if len(made) == 1 and data.id in names_in([made[0].value]).reads:
            return made[0].value, True
    return spelled(data, scope), False


def _stores(name: str, node: ast.For) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]


def _iterated(node: ast.For, row: str) -> tuple[ast.expr | None, str]:
    """What `row` comes from, and the name that counts it in `enumerate`."""
    if isinstance(node.target, ast.Name) and node.target.id == row:
        return node.iter, ""
    if not (isinstance(node.target, ast.Tuple) and isinstance(node.iter, ast.Call)):
        return None, ""
    names = [ast.unparse(part) for part in node.target.elts]
    called = ast.unparse(node.iter.func)
    if called == "enumerate" and names[1:] == [row] and len(node.iter.args) == 1:
        return node.iter.args[0], names[0]
    if called == "zip" and row in names and len(names) == len(node.iter.args) and not node.iter.keywords:
        return node.iter.args[names.index(row)], ""
    return None, ""


def _zip(rewriter: Rewriter, node: ast.For, row: ast.Name, again: bool, output: str, outputs: str) -> None:
    """`for row, output in zip(rows, outputs)`; without the row where nothing else reads it."""
    reads = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == row.id and isinstance(n.ctx, ast.Load)]
    single = isinstance(node.target, ast.Name)
    targets = [node.target] if isinstance(node.target, ast.Name) else list(node.target.elts)  # type: ignore[attr-defined]
    sources = [node.iter] if single else list(node.iter.args)  # type: ignore[attr-defined]
    left = [rewriter.code(rewriter.expression(part)) for part in targets]
    right = [rewriter.code(rewriter.expression(part)) for part in sources]
    at = targets.index(next(t for t in targets if ast.unparse(t) == row.id))
    if len(reads) == 1 and not again:
        left[at], right[at] = output, outputs
    else:
        left.append(output)
        right.append(outputs)
    source = right[0] if len(right) == 1 else f"zip({', '.join(right)})"
    header = f"for {', '.join(left)} in {source}:\n    pass"
    made: Any = rewriter.parse_block(header)[0]
    rewriter.replace(rewriter.expression(node.target), made.target)
    rewriter.replace(rewriter.expression(node.iter), made.iter)
