"""Keep what is used: the number that is made of each tensor later, the last few, or nothing."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.moving import call_at, changed_names, statements_around
from hotloop.rules.tensors_kept.tensors import size_of
from hotloop.source.module import Call, Scope, names_read, names_stored
from hotloop.source.project import loops_of
from hotloop.source.rewrite import Refused, Rewriter
from hotloop.source.splice import Splice

if TYPE_CHECKING:
    from hotloop.source import Project

PURE = ("tf.", "np.", "keras.ops.", "math.")  # what may be computed earlier than it was
NUMBERS = {"float", "int", "abs", "round", "len"}


@dataclass(frozen=True)
class _List:
    """A list of the program: where it is made and filled, and who else reads it, each with what is around it."""

    made: ast.Assign
    append: Call
    readers: list[tuple[ast.Name, list[ast.AST]]]  # outwards
    scope: Scope

    @property
    def name(self) -> str:
        return ast.unparse(self.made.targets[0])


def keep_less(finding: Finding, project: Project) -> Fix:
    kept = _list(call_at(project.modules[finding.place.path], finding.place), project)
    if not kept.readers:
        return _forget(kept)
    if (last := _last_few(kept)) is not None:
        return _keep_last(kept, last)
    if len(kept.readers) == 1 and isinstance(kept.readers[0][1][0], ast.comprehension):
        return _reduce_in_step(kept, project)
    if size_of(kept.append.node.args[0], kept.scope, project) == "scalar":
        return _as_numbers(kept, project)
    raise Refused("what is used of them is computed of all together: add it up in the step by hand", kept.append.node)


def _list(append: Call, project: Project) -> _List:
    func, scope = append.node.func, append.where.scope
    receiver = func.value if isinstance(func, ast.Attribute) else func
    if not isinstance(receiver, ast.Name):
        raise Refused(f"`{ast.unparse(receiver)}` is not a local list: others may read it", receiver)
    bindings = project.bindings(receiver.id, scope)
    made = bindings[0].node if len(bindings) == 1 and bindings[0].where.scope is scope else None
    if not (isinstance(made, ast.Assign) and len(made.targets) == 1 and isinstance(made.targets[0], ast.Name)):
        raise Refused(f"`{receiver.id}` is not made by one plain assignment in this function", append.node)
    parents = {child: node for node in ast.walk(scope.node) for child in ast.iter_child_nodes(node)}
    readers = []
    for node in ast.walk(scope.node):
        if isinstance(node, ast.Name) and node.id == receiver.id and isinstance(node.ctx, ast.Load):
            around = _around(node, parents)
            if node is not receiver:
                readers.append((node, around))
        elif isinstance(node, ast.Name) and node.id == receiver.id and isinstance(node.ctx, ast.Del):
            raise Refused(f"`{receiver.id}` is deleted", node)
    return _List(made, append, readers, scope)


def _around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> list[ast.AST]:
    found = []
    while node in parents:
        node = parents[node]
        found.append(node)
    return found


def _statement(kept: _List) -> ast.Expr:
    statement = kept.append.where.statement
    if not isinstance(statement, ast.Expr) or statement.value is not kept.append.node:
        raise Refused("the `append` is part of a larger statement", kept.append.node)
    return statement


def _forget(kept: _List) -> Fix:
    """Nothing reads it."""
    if not kept.scope.is_function:
        raise Refused(f"nothing in this file reads `{kept.name}`: drop the `append` if nothing else does", kept.made)
    if not isinstance(kept.append.node.args[0], ast.Name):
        raise Refused("what is appended is also computed there: keep the call, drop the `append`", kept.append.node)
    splice, module = Splice(kept.scope.module), kept.scope.module
    splice.remove(kept.made, statements_around(module, kept.made))
    splice.remove(_statement(kept), statements_around(module, _statement(kept)))
    return splice.fix("drop the list that nothing reads", "verify")


# -- the last few ------------------------------------------------------------------------------------------------------


def _last_few(kept: _List) -> int | None:
    """How many from the end are read, where nothing else is."""
    deepest = 0
    for _, (parent, *_) in kept.readers:
        index = parent.slice if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load) else None
        if not (isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)):
            return None
        if not (isinstance(index.operand, ast.Constant) and isinstance(index.operand.value, int)):
            return None
        deepest = max(deepest, index.operand.value)
    return deepest


def _keep_last(kept: _List, count: int) -> Fix:
    rewriter = Rewriter(kept.scope.module)
    made = rewriter.parse_expression(f"collections.deque(maxlen={count})")
    rewriter.replace(rewriter.expression(kept.made.value), made)
    rewriter.require_import("collections")
    return rewriter.fix("keep the last ones only", "verify")


# -- one number of each ------------------------------------------------------------------------------------------------


def _reduce_in_step(kept: _List, project: Project) -> Fix:
    """`xs.append(x)` and `ys = [f(x) for x in xs]` later: `ys.append(f(x))` at once."""
    name, around = kept.readers[0]
    part, later, made = around[0], around[1], around[2]
    if not (isinstance(part, ast.comprehension) and isinstance(later, ast.ListComp) and len(later.generators) == 1):
        raise Refused("the list is read by more than a plain comprehension", name)
    if part.ifs or part.iter is not name or not isinstance(part.target, ast.Name):
        raise Refused("the list is read by more than a plain comprehension", name)
    if not (isinstance(made, ast.Assign) and len(made.targets) == 1 and isinstance(made.targets[0], ast.Name)):
        raise Refused("what is made of the list has no name of its own", later)
    result = made.targets[0].id
    _require_early(kept, later, part.target.id, made, project)
    splice, module = Splice(kept.scope.module), kept.scope.module
    splice.replace(splice.span(kept.made.targets[0]), result)
    append = kept.append.node
    splice.replace(splice.span(append.func.value), result)  # type: ignore[attr-defined]
    splice.replace(splice.span(append.args[0]), _with(later.elt, part.target.id, append.args[0], splice))
    splice.replace(*_removed(splice, made, statements_around(module, made)))
    return splice.fix("keep one number of each", "verify")


def _removed(splice: Splice, statement: ast.stmt, block: list[ast.stmt]) -> tuple[tuple[int, int], str]:
    if len(block) == 1:
        raise Refused("what is made of the list stands in a block of its own", statement)
    return splice.lines_of(statement), ""


def _with(expr: ast.expr, name: str, value: ast.expr, splice: Splice) -> str:
    """The text of `expr` with `value` for a name."""
    uses = [n for n in ast.walk(expr) if isinstance(n, ast.Name) and n.id == name]
    if len(uses) > 1 and not isinstance(value, ast.Name):
        raise Refused(f"`{ast.unparse(value)}` would be computed twice: give it a name first", value)
    if not isinstance(value, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
        raise Refused(f"`{ast.unparse(value)}` has no name: give it one first", value)
    start, end = splice.span(expr)
    text = splice.data[start:end]
    for use in sorted(uses, key=splice.span, reverse=True):
        first, last = splice.span(use)
        text = text[: first - start] + splice.text(value).encode() + text[last - start :]
    return text.decode()


def _require_early(kept: _List, later: ast.ListComp, target: str, made: ast.Assign, project: Project) -> None:
    """What is computed of each may be computed in the step: it is pure, and reads nothing that has changed since."""
    loops = list(loops_of(kept.append.where))
    block = statements_around(kept.scope.module, kept.made)
    if made not in block or any(made in ast.walk(loop.node) for loop in loops):
        raise Refused("what is made of the list does not stand beside it", made)
    needed = names_read(later.elt) - {target}
    changed: dict[str, ast.AST] = {
        n: s for s in block[block.index(kept.made) : block.index(made)] for n in names_stored(s)
    }
    changed |= {name: at for loop in loops for name, at in changed_names(loop).items()}
    for name in sorted(needed & set(changed)):
        raise Refused(f"`{name}` has changed by the time it is used", changed[name])
    result = made.targets[0].id  # type: ignore[attr-defined]
    early = block[: block.index(made)]
    if len(kept.scope.bindings.get(result, [])) != 1 or any(result in names_read(s) for s in early):
        raise Refused(f"`{result}` has another value before", made)
    for node in ast.walk(later.elt):
        if isinstance(node, ast.Call):
            called = project.name_of(node.func, kept.scope)
            if not called.startswith(PURE) and called not in NUMBERS and not ast.unparse(node).endswith(".numpy()"):
                raise Refused(f"`{ast.unparse(node.func)}` may do more than compute", node)


# -- scalars -----------------------------------------------------------------------------------------------------------


def _as_numbers(kept: _List, project: Project) -> Fix:
    """Where nothing but NumPy and the reader's eye looks at them: a number has no gradient."""
    for name, (parent, outer, *_) in kept.readers:
        called = project.name_of(parent.func, kept.scope) if isinstance(parent, ast.Call) else ""
        looked_at = isinstance(parent, ast.Subscript) and not isinstance(outer, ast.Attribute)
        if not looked_at and not called.startswith("np.") and called not in ("len", "print"):
            raise Refused(f"`{ast.unparse(outer)[:50]}` may need tensors: a number has no gradient", name)
    if any("Tape" in ast.unparse(item.context_expr) for w in kept.append.where.withs for item in w.items):
        raise Refused("it stands under a tape: a number has no gradient", kept.append.node)
    splice, value = Splice(kept.scope.module), kept.append.node.args[0]
    splice.replace(splice.span(value), f"float({splice.text(value)})")
    return splice.fix("keep numbers", "verify")
