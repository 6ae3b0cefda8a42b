"""The better fix: one `predict` on all rows before the loop, where they are all there by then."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop.rules.hoisting import free_name
from hotloop.rules.moving import MODEL_CHANGES, changed_names, names_in, put_before, root_name
from hotloop.rules.on_batch import renamed_call
from hotloop.rules.row_loops import Head, handed, iterated, named, zipped
from hotloop.rules.single_rows import adds_axis, all_of, drop_row, is_array, reshaped, row_of, spelled, whole_of
from hotloop.rules.vectors import index_of, is_tensor
from hotloop.source.module import Call, Comprehension, Loop
from hotloop.source.rewrite import Rewriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotloop.source import Project

LEAVES = (ast.Break, ast.Return, ast.Yield, ast.YieldFrom, ast.Raise, ast.Await)
CHANGES = MODEL_CHANGES | {"assign", "assign_add", "assign_sub", "apply_gradients", "set_weights", "trainable"}


@dataclass(frozen=True)
class _Rows:
    """All rows that a loop takes, and the name that counts them; "" where it goes over them."""

    whole: str
    index: str


def predict_at_once(rewriter: Rewriter, call: Call, names: Sequence[str], project: Project) -> bool:
    """False where the rows are not known before the loop, or the model changes in it."""
    loop, data = call.where.loop, call.argument(0, "x")
    head = _head(loop) if loop is not None else None
    if loop is None or head is None or data is None:
        return False
    if call.where.tests or call.where.fallible or not is_steady(call, loop, project):
        return False
    given = _numbered(data, loop, project) or _plain(rewriter, data, loop, head, project)
    if given is None or (given.index and not isinstance(loop.node, ast.For)):
        return False
    scope = call.where.scope
    predicted = _predicted(rewriter, call, names, given.whole)
    output = free_name("outputs" if given.index else "output", scope)
    if isinstance(loop.node, Comprehension) and not named("output", loop.node, ast.expr_context):
        output = "output"  # its names are its own
    if isinstance(loop.node, ast.For):
        outputs = output if given.index else free_name("outputs", scope)
        line: Any = rewriter.parse_block(f"{outputs} = None")[0]
        assign = line.body[0].with_changes(value=predicted)
        put_before(rewriter, loop.node, line.with_changes(body=[assign]))
    else:
        outputs = rewriter.code(predicted)
    if not given.index:
        zipped(rewriter, loop, head, data, output, outputs)
    _use(rewriter, call, loop, output, given.index)
    if isinstance(loop.node, ast.For):
        drop_row(rewriter, data, call, loop)
    return True


def _head(loop: Loop) -> Head | None:
    """What a loop goes over; None where not every row is taken, or more than rows."""
    if isinstance(loop.node, ast.For):
        return loop.node if not loop.node.orelse else None
    at_once = isinstance(loop.node, ast.ListComp | ast.SetComp | ast.DictComp)  # a generator takes its rows later
    parts = loop.node.generators if at_once else []  # type: ignore[union-attr]
    return parts[0] if len(parts) == 1 and not parts[0].ifs and not parts[0].is_async else None


def _predicted(rewriter: Rewriter, call: Call, names: Sequence[str], whole: str) -> Any:
    """The call of `predict`, on all rows."""
    new: Any = renamed_call(rewriter, call, "predict", names, {"x", "verbose"})
    at = next(i for i, name in enumerate(n for n in names if n in ("x", "verbose")) if name == "x")
    arguments = list(new.args)
    arguments[at] = arguments[at].with_changes(value=rewriter.parse_expression(whole))
    return new.with_changes(args=arguments)


def _use(rewriter: Rewriter, call: Call, loop: Loop, output: str, index: str) -> None:
    """What was predicted, in the place of `predict(...)`; without an axis that is taken off again, as in `[0, 1]`."""
    node: ast.expr = call.node
    text = f"{output}[{index} : {index} + 1]" if index else f"{output}[None]"
    around = next((n for n in ast.walk(loop.node) if isinstance(n, ast.Subscript) and n.value is call.node), None)
    taken = [] if around is None else around.slice.elts if isinstance(around.slice, ast.Tuple) else [around.slice]
    first, *others = [ast.unparse(part) for part in taken] or [""]
    if around is not None and first == "0":
        inner = ", ".join([index, *others] if index else others)
        node, text = around, f"{output}[{inner}]" if inner else output
    rewriter.replace(rewriter.expression(node), rewriter.parse_expression(text))


def is_steady(call: Call, loop: Loop, project: Project) -> bool:
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


def _numbered(data: ast.expr, loop: Loop, project: Project) -> _Rows | None:
    """`for i in range(n)`, and `x[i : i + 1]`, or `x[i].reshape(1, 8)`."""
    index, counted, scope = index_of(loop, project), loop.iterable, loop.where.scope
    if index is None or not isinstance(counted, ast.Call) or len(counted.args) != 1:
        return None
    said = spelled(data, scope)
    shape = reshaped(said, scope, project) if said is not None else None
    found = row_of(shape[0], index, scope, project) if shape else whole_of(data, index, loop, project)
    if found is None or set(names_in([found[0]]).reads) & changed_names(loop).keys():
        return None
    whole, row = found
    sliced = isinstance(row, ast.Subscript) and isinstance(row.slice, ast.Slice)
    if not sliced and not is_array(whole, loop.where, project):
        return None
    rows = all_of(ast.unparse(whole), ast.unparse(counted.args[0]))
    if shape is None:
        return _Rows(rows, index)
    reshape = _reshaped(rows, shape[1], whole, loop, project)
    return _Rows(reshape, index) if reshape else None


def _plain(rewriter: Rewriter, data: ast.expr, loop: Loop, head: Head, project: Project) -> _Rows | None:
    """`for row in rows`, also with its number or beside something else, and `row[None]` or `row.reshape(1, 8)`."""
    scope = loop.where.scope
    said, again = handed(data, head, scope)
    shape = reshaped(said, scope, project) if said is not None else None
    row = shape[0] if shape else adds_axis(said, scope, project) if said is not None else None
    if not isinstance(row, ast.Name) or len(named(row.id, loop.node, ast.Store)) != 1 + again:
        return None
    rows, index = iterated(head, row.id)
    if (
        rows is None
        or not is_array(rows, loop.where, project)
        or set(names_in([rows]).reads) & changed_names(loop).keys()
    ):
        return None
    whole = rewriter.code(rewriter.expression(rows))
    if shape:
        whole = _reshaped(whole, shape[1], rows, loop, project)
    return _Rows(whole, index) if whole else None


def _reshaped(whole: str, sizes: Sequence[ast.expr], rows: ast.expr, loop: Loop, project: Project) -> str:
    """All rows in the shape that each is given; "" where that is not known before the loop."""
    if is_tensor(rows, loop.where, project) or set(names_in(sizes).reads) & changed_names(loop).keys():
        return ""
    return f"{whole}.reshape({', '.join([f'len({whole})', *map(ast.unparse, sizes)])})"
