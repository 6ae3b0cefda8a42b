"""Which statements make a value grow: `x = concat([x, y])` with nothing in the loop that needs or resets `x`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hotloop.rules.calls import spelled_like
from hotloop.source.guards import is_guarded
from hotloop.source.module import Context, Loop, Module, last_name, names_read, names_stored
from hotloop.source.project import loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

TENSOR = {"tf.concat", "tf.experimental.numpy.concatenate", "keras.backend.concatenate", "keras.ops.concatenate",
          "keras.ops.append", "tf.experimental.numpy.append"}  # fmt: skip
ARRAY = {"np.concatenate", "np.vstack", "np.hstack", "np.append", "np.row_stack"}
SPELLED = {name.rpartition(".")[2] for name in TENSOR | ARRAY}
USES_PANDAS = re.compile(rb"\bpandas\b")
LOOKS = {"len", "print", "type", "isinstance", "id"}  # reads that do not need the values
FIRST = re.compile(r"first|^not \w+$|\w == 0$")  # what asks whether this is the first step
OPTIONS = "set_loop_options"
SHAPES = {"shape", "dtype", "ndim", "size", "nbytes"}


@dataclass(frozen=True)
class Growth:
    statement: ast.Assign
    where: Context
    target: str
    spelled: str  # the function that makes it grow
    kind: Literal["tensor", "array", "table"]
    loops: tuple[Loop, ...]  # in which it keeps growing, innermost first


def growths(module: Module, project: Project) -> Iterator[Growth]:
    for call in spelled_like(module, project, SPELLED.__contains__):
        statement = call.where.statement
        if call.where.loop is None or not isinstance(statement, ast.Assign) or grown(statement) is not call.node:
            continue
        name = project.name_of(call.node.func, call.where.scope)
        if name not in TENSOR | ARRAY or len(statement.targets) != 1:
            continue
        target = ast.unparse(statement.targets[0])
        if target in _parts(call.node):
            kind: Literal["tensor", "array"] = "tensor" if name in TENSOR else "array"
            yield from _growth(statement, call.where, target, ast.unparse(call.node.func), kind)
    if USES_PANDAS.search(module.data):
        yield from _tables(module, project)


def _growth(
    statement: ast.Assign, at: Context, target: str, spelled: str, kind: Literal["tensor", "array", "table"]
) -> Iterator[Growth]:
    where = _before_else(at)
    loops = tuple(_loops_of_growth(statement, target, where))
    if loops and not is_guarded(where):
        yield Growth(statement, where, target, spelled, kind, loops)


def _tables(module: Module, project: Project) -> Iterator[Growth]:
    """Of pandas: `df = pd.concat([df, row])`, `df = df.append(row)`, `df.loc[len(df)] = row`."""
    for statement, where in module.contexts.items():
        if where.loop is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, call = statement.targets[0], statement.value
        if table := _enlarged(target):
            yield from _growth(statement, where, table, f"{ast.unparse(target)} = ...", "table")
        elif isinstance(call, ast.Call) and ast.unparse(target) in _parts(call):
            name = project.name_of(call.func, where.scope)
            if name == "pandas.concat" or (last_name(call.func) == "append" and name not in TENSOR | ARRAY):
                yield from _growth(statement, where, ast.unparse(target), ast.unparse(call.func), "table")


def _enlarged(target: ast.expr) -> str:
    """The table of which `df.loc[len(df)]` is the row after the last."""
    match target:
        case ast.Subscript(value=ast.Attribute(value=table, attr="loc"), slice=row):
            name = ast.unparse(table)
            after = {f"len({name})", f"len({name}.index)", f"{name}.shape[0]", f"{name}.index.max() + 1"}
            row = row.elts[0] if isinstance(row, ast.Tuple) and row.elts else row
            return name if ast.unparse(row) in after else ""
    return ""


def grown(statement: ast.Assign) -> ast.expr:
    """What it is given in all steps but the first: `concat([x, y])` of `y if x is None else concat([x, y])`."""
    value, target = statement.value, ast.unparse(statement.targets[0])
    if not isinstance(value, ast.IfExp):
        return value
    if has_begun(value.test, target):
        return value.body
    tells_first = FIRST.search(ast.unparse(value.test)) or target in names_read(value.test)
    return value.orelse if tells_first else value  # `y if full else concat([x, y])` starts afresh now and then


def is_graph_code(where: Context, project: Project) -> bool:
    """Whether TensorFlow traces it, or it is written so: a loop over `tf.range` around it, or `set_loop_options`."""
    if project.traced(where) or any(is_tensor_loop(loop, project) for loop in loops_of(where)):
        return True
    return any(call.where.scope is where.scope for call in where.scope.module.calls_of(OPTIONS))


def is_tensor_loop(loop: Loop, project: Project) -> bool:
    iterable = loop.iterable
    return isinstance(iterable, ast.Call) and project.name_of(iterable.func, loop.where.scope) == "tf.range"


def _parts(call: ast.Call) -> list[str]:
    return [ast.unparse(part) for part in _joined(call)]


def _joined(call: ast.Call) -> list[ast.expr]:
    """What is put together: `concat([a, b], 0)`, `np.append(a, b)`, `values=`, `arrays=` or `objs=`, `df.append(b)`."""
    named = (k.value for k in call.keywords if k.arg in ("values", "arrays", "objs"))
    given = call.args[0] if call.args else next(named, None)
    if isinstance(given, ast.List | ast.Tuple):
        return given.elts
    if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and given is not None:
        own = [call.func.value] if len(call.args) == 1 else []
        return [*own, given]
    return [given] if given is not None and len(call.args) > 1 else []


def _before_else(where: Context) -> Context:
    """Without the tests in whose `else` the statement stands: `if x is None: x = y; else: x = concat([x, y])`."""
    loop = where.loop
    if loop is None or not where.tests:
        return where
    ifs = [node for node in ast.walk(loop.node) if isinstance(node, ast.If) and node.test in where.tests]
    elses = {node.test for node in ifs if any(where.statement is n for part in node.orelse for n in ast.walk(part))}
    return where.asked(tuple(test for test in where.tests if test not in elses))


def _loops_of_growth(statement: ast.Assign, target: str, where: Context) -> Iterator[Loop]:
    """The loops around, up to the first that starts afresh or needs the value in each step."""
    for loop in loops_of(where):
        if _is_reset(target, statement, loop) or _is_needed(target, loop) or _ends(statement, loop):
            return
        yield loop


def _is_reset(target: str, growth: ast.Assign, loop: Loop) -> bool:
    """Given another value in the loop, unless under an `if` that only begins it."""
    body = loop.node.body if isinstance(loop.node, ast.For | ast.AsyncFor | ast.While) else []
    if names_read(growth.targets[0]) & {*names_stored(loop.node)} or target in loop.targets:
        return True  # another one in each step: `rows[key] = np.append(rows[key], 0)`
    ifs = [node for node in ast.walk(loop.node) if isinstance(node, ast.If)]
    beginnings = {
        *(s for node in ifs if any(growth is n for part in node.orelse for n in ast.walk(part)) for s in node.body),
        *(s for node in ifs if growth in node.body and has_begun(node.test, target) for s in node.orelse),
    }
    stack: list[ast.stmt] = list(body)
    while stack:
        node = stack.pop()
        if node in beginnings:
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node is not growth:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stored = {ast.unparse(part) for one in targets for part in _flat(one)}
            if target in stored and not (isinstance(node, ast.Assign) and _grows_too(node, target)):
                return True
        stack += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return False


def has_begun(test: ast.expr, target: str) -> bool:
    """`if x is not None: x = concat([x, y])`, before `else: x = y`."""
    return ast.unparse(test) == f"{target} is not None"


def _grows_too(node: ast.Assign, target: str) -> bool:
    """`x = concat([x, y])`; not `scores = model([x, y])`, which needs `x`."""
    given, value = [ast.unparse(one) for one in node.targets], grown(node)
    return given == [target] and isinstance(value, ast.Call) and target in _parts(value)


def _flat(target: ast.expr) -> list[ast.expr]:
    return (
        [part for one in target.elts for part in _flat(one)] if isinstance(target, ast.Tuple | ast.List) else [target]
    )


def _is_needed(target: str, loop: Loop) -> bool:
    """Read in the loop by more than its own growth, a look at its length or shape, or a test of it."""
    excused = {part for node in ast.walk(loop.node) for look in _only_looking(node, target) for part in ast.walk(look)}
    excused.update(part for node in ast.walk(loop.node) if isinstance(node, ast.If) for part in ast.walk(node.test))
    return any(
        isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and node not in excused
        and ast.unparse(node) == target
        for node in ast.walk(loop.node)
    )


def _only_looking(node: ast.AST, target: str) -> Iterator[ast.AST]:
    """What in a node reads the target without need of its values; of a growth, the target itself: not what is added."""
    if isinstance(node, ast.Call):
        if last_name(node.func) == OPTIONS or (isinstance(node.func, ast.Name) and node.func.id in LOOKS):
            yield node
    elif isinstance(node, ast.Attribute):
        if node.attr in SHAPES:
            yield node
    elif isinstance(node, ast.Assign) and isinstance(value := grown(node), ast.Call) and _grows_too(node, target):
        yield from (part for part in _joined(value) if ast.unparse(part) == target)
        yield from [node.value.test] if isinstance(node.value, ast.IfExp) else []
    elif isinstance(node, ast.Assign) and _enlarged(node.targets[0]) == target:
        yield node.targets[0]


def _ends(statement: ast.Assign, loop: Loop) -> bool:
    """Followed by `return` or `break` in its own block: it runs once."""
    for node in ast.walk(loop.node):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(block, list) and statement in block:
                return isinstance(block[-1], ast.Return | ast.Break)
    return False
