"""The better fix: one `predict` on all rows before the loop, where they are all there by then."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop.rules.hoisting import free_name
from hotloop.rules.moving import MODEL_CHANGES, changed_names, names_in, put_before, root_name
from hotloop.rules.on_batch import renamed_call
from hotloop.rules.single_rows import adds_axis, all_of, drop_row, is_array, reshaped, row_of, spelled, whole_of
from hotloop.rules.vectors import index_of, is_tensor
from hotloop.source.module import Call, Comprehension, Loop, Scope
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
    if call.where.tests or call.where.fallible or not _is_steady(call, loop, project):
        return False
    given = _numbered(data, loop, project) or _plain(rewriter, data, loop, head, project)
    if given is None or (given.index and not isinstance(loop.node, ast.For)):
        return False
    scope = call.where.scope
    predicted = _predicted(rewriter, call, names, given.whole)
    output = free_name("outputs" if given.index else "output", scope)
    if isinstance(loop.node, Comprehension) and not _named("output", loop.node, ast.expr_context):
        output = "output"  # its names are its own
    if isinstance(loop.node, ast.For):
        outputs = output if given.index else free_name("outputs", scope)
        line: Any = rewriter.parse_block(f"{outputs} = None")[0]
        assign = line.body[0].with_changes(value=predicted)
        put_before(rewriter, loop.node, line.with_changes(body=[assign]))
    else:
        outputs = rewriter.code(predicted)
    if not given.index:
        _zip(rewriter, loop, head, data, output, outputs)
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

Head = ast.For | ast.comprehension


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
    said, again = _given(data, head, scope)
    shape = reshaped(said, scope, project) if said is not None else None
    row = shape[0] if shape else adds_axis(said, scope, project) if said is not None else None
    if not isinstance(row, ast.Name) or len(_named(row.id, loop.node, ast.Store)) != 1 + again:
        return None
    rows, index = _iterated(head, row.id)
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


def _given(data: ast.expr, head: Head, scope: Scope) -> tuple[ast.expr | None, bool]:
    """What the model is given, and whether the row's own name is used for it again (`row = row[None]`)."""
    if isinstance(data, ast.Name) and isinstance(head, ast.For):
        made = [s for s in head.body if isinstance(s, ast.Assign) and [ast.unparse(t) for t in s.targets] == [data.id]]
        if len(made) == 1 and data.id in names_in([made[0].value]).reads:
            return made[0].value, True
    return spelled(data, scope), False


def _named(name: str, node: ast.AST, kind: type[ast.expr_context]) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, kind)]


def _iterated(head: Head, row: str) -> tuple[ast.expr | None, str]:
    """What `row` comes from, and the name that counts it in `enumerate`."""
    target, source, counter = head.target, head.iter, ""
    if isinstance(target, ast.Tuple) and _called(source, "enumerate", 1) and len(target.elts) == 2:
        counter, target, source = ast.unparse(target.elts[0]), target.elts[1], source.args[0]  # type: ignore[attr-defined]
    if isinstance(target, ast.Name) and target.id == row:
        return source, counter
    names = [ast.unparse(part) for part in target.elts] if isinstance(target, ast.Tuple) else []
    if row in names and _called(source, "zip", len(names)):
        return source.args[names.index(row)], counter  # type: ignore[attr-defined]
    return None, ""


def _called(node: ast.expr, name: str, arguments: int) -> bool:
    plain = isinstance(node, ast.Call) and not node.keywords and len(node.args) == arguments
    return plain and ast.unparse(node.func) == name  # type: ignore[attr-defined]


def _zip(rewriter: Rewriter, loop: Loop, head: Head, data: ast.expr, output: str, outputs: str) -> None:
    """`for row, output in zip(rows, outputs)`; without the row where nothing else reads it."""
    said, again = _given(data, head, loop.where.scope)
    single = isinstance(head.target, ast.Name)
    targets = [head.target] if single else list(head.target.elts)  # type: ignore[attr-defined]
    sources = [head.iter] if single else list(head.iter.args)  # type: ignore[attr-defined]
    left = [rewriter.code(rewriter.expression(part)) for part in targets]
    right = [rewriter.code(rewriter.expression(part)) for part in sources]
    at = next(i for i, t in enumerate(targets) if said is not None and ast.unparse(t) in names_in([said]).reads)
    if len(_named(ast.unparse(targets[at]), loop.node, ast.Load)) == 1 and not again:
        left[at], right[at] = output, outputs
    else:
        left.append(output)
        right.append(outputs)
    source = right[0] if len(right) == 1 else f"zip({', '.join(right)})"
    header = f"for {', '.join(left)} in {source}:\n    pass"
    made: Any = rewriter.parse_block(header)[0]
    rewriter.replace(rewriter.expression(head.target), made.target)
    rewriter.replace(rewriter.expression(head.iter), made.iter)
