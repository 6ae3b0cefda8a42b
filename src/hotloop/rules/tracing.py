"""What stands in the way of compiling code: Python that a `tf.function` runs only while it is traced."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from hotloop.rules.moving import MUTATORS, names_in, root_name
from hotloop.source.module import Binding, Scope
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 4  # of following the project's own functions
CONVERSIONS = {"float", "int", "bool"}
PYTHON_CALLS = {"print", "open", "input", "next", "exit", "eval", "exec", "setattr", "breakpoint"}
PYTHON_MODULES = (
    "csv.", "datetime.", "gc.", "json.", "logging.", "np.", "os.", "pickle.", "psutil.", "random.", "shutil.",
    "subprocess.", "sys.", "time.", "wandb.",
)  # fmt: skip
# Methods that act on the world outside TensorFlow, whatever they are called on.
PYTHON_METHODS = MUTATORS | {
    "add_scalar", "critical", "debug", "error", "flush", "info", "item", "log", "numpy", "set_description",
    "set_postfix", "tolist", "warning", "writerow", "evaluate", "fit", "load_weights", "predict",
    "predict_on_batch", "save", "save_weights", "test_on_batch", "train_on_batch",
}  # fmt: skip
OF_ARRAYS = {"T", "astype", "flatten", "ravel", "reshape"}  # what tensors have not
MAKES_STATE = (
    "keras.Model", "keras.Sequential", "keras.applications.", "keras.layers.", "keras.metrics.",
    "keras.models.", "keras.optimizers.",
    "tf.Variable", "tf.lookup.", "tf.optimizers.", "tf.random.Generator", "tf.train.",
)  # fmt: skip
STATEMENTS = {
    ast.Global: "`global`",
    ast.Nonlocal: "`nonlocal`",
    ast.Raise: "`raise`",
    ast.Try: "`try`",
    ast.TryStar: "`try`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield`",
    ast.Await: "`await`",
}


def refuse_python(nodes: Sequence[ast.AST], scope: Scope, what: str, project: Project) -> None:
    """Raises Refused at the first thing in these nodes of `scope` that must run in Python in each step."""
    names = names_in(nodes)
    own = {name for name in set(names.binds) - names.declared if _is_made_here(scope.bindings.get(name, []))}
    _refuse(nodes, scope, own, what, project, set())


def refuse_arrays(nodes: Iterable[ast.AST], handed: Collection[str], scope: Scope, project: Project) -> None:
    """Raises Refused where code does with what it is `handed` what an array or a number allows, and a tensor does not.

    A compiled function gets tensors for the arrays that it is given.
    """
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Call) and node.args and project.name_of(node.func, scope) == "tf.constant":
            if isinstance(node.args[0], ast.Name) and node.args[0].id in handed:
                name, maker = node.args[0].id, ast.unparse(node.func)
                instead = maker.replace("constant", "convert_to_tensor")
                raise Refused(f"`{maker}` takes no tensor, and `{name}` becomes one: call `{instead}` first", node)
        elif isinstance(node, ast.Attribute) and node.attr in OF_ARRAYS and isinstance(node.value, ast.Name):
            if node.value.id in handed:
                raise Refused(f"`{ast.unparse(node)}` is NumPy's, and `{node.value.id}` becomes a tensor", node)


def _refuse(
    nodes: Iterable[ast.AST],
    scope: Scope,
    local: set[str],
    what: str,
    project: Project,
    seen: set[Scope],
    layer: bool = False,
) -> None:
    """`layer`: it belongs to a model or layer, whose `call` is written to be traced: but for the values of tensors."""
    scopes = {inner.node: inner for inner in scope.module.scopes}
    stack = [(node, scope, local) for node in nodes][::-1]
    while stack:
        node, at, own = stack.pop()
        reason = _value_taken(node) if layer else _reason(node, at, own, project)
        if reason:
            raise Refused(f"{reason} in `{what}` must run in Python in each step: move it out first", node)
        if isinstance(node, ast.Call):
            _refuse_callee(node, at, what, project, seen, layer)
        inside = scopes.get(node)  # type: ignore[call-overload]
        if inside is not None and inside.is_function:
            at, own = inside, own | _locals(inside)
        stack += [(child, at, own) for child in ast.iter_child_nodes(node)][::-1]


def _refuse_callee(node: ast.Call, scope: Scope, what: str, project: Project, seen: set[Scope], layer: bool) -> None:
    """The same of the project's own functions, models and layers that are called from there."""
    target, name = project.resolve(node.func, scope), ""
    if target is not None and target.kind == "object" and target.scope is not None:
        name = ast.unparse(node.func)
        target, layer = project.member(target.scope, "call") or project.member(target.scope, "__call__"), True
    callee = target.scope if target and target.kind == "function" else None
    if callee is None or callee in seen or len(seen) > DEPTH or isinstance(callee.node, ast.Module | ast.ClassDef):
        return
    body = callee.node.body if isinstance(callee.node.body, list) else [callee.node.body]
    name = name or callee.name
    try:
        _refuse(body, callee, _locals(callee), name, project, {*seen, callee}, layer)
    except Refused as refused:
        at = f"{callee.module.path}:{getattr(refused.node, 'lineno', 0)}"
        raise Refused(f"`{what}` calls `{name}`, and {refused.reason} ({at})", node) from None


def _value_taken(node: ast.AST) -> str:
    taken = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy"
    return f"`{ast.unparse(node.func)}(...)`" if taken and not node.args else ""  # type: ignore[attr-defined]


def _reason(node: ast.AST, scope: Scope, local: set[str], project: Project) -> str:
    """What about this node has to run in Python; "" when nothing has."""
    if type(node) in STATEMENTS:
        return STATEMENTS[type(node)]
    if isinstance(node, ast.Call):
        return _reason_of_call(node, scope, local, project)
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return f"the assignment to `{ast.unparse(node)}`"
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and not _is_local(node, local):
        return f"the assignment to `{ast.unparse(node)}`"
    return ""


def _reason_of_call(node: ast.Call, scope: Scope, local: set[str], project: Project) -> str:
    name = project.name_of(node.func, scope)
    shown = f"`{ast.unparse(node.func)}(...)`"
    if name in CONVERSIONS:
        return "" if all(_is_static(a) for a in node.args) else shown
    if name in PYTHON_CALLS:
        return shown
    if name.startswith(PYTHON_MODULES):
        return "" if node.args and all(_is_static(a) for a in node.args) and "random" not in name else shown
    if name.startswith(MAKES_STATE) and "(" not in name and name.rpartition(".")[2][:1].isupper():
        return shown
    if isinstance(node.func, ast.Attribute) and node.func.attr in PYTHON_METHODS:
        tensorflow = name.startswith(("tf.", "keras.")) and "(" not in name
        kept = node.func.attr in MUTATORS and _is_local(node.func, local)
        return "" if tensorflow or kept else shown
    return ""


def _locals(scope: Scope) -> set[str]:
    """What a function makes itself: a list that it was handed is not its own."""
    return {name for name, bound in scope.bindings.items() if _is_made_here(bound)}


def _is_made_here(bindings: Sequence[Binding]) -> bool:
    """Not handed in, and not another name for something that lives elsewhere."""
    aliases = (ast.Name, ast.Attribute, ast.Subscript)
    return all(b.kind != "parameter" and not isinstance(b.value, aliases) for b in bindings)


def _is_local(node: ast.AST, local: set[str]) -> bool:
    return any(name in local for name in root_name(node))


def _is_static(node: ast.expr) -> bool:
    """A number that tracing knows: constants, shapes and lengths."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return True
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return True
    if isinstance(node, ast.BinOp):
        return _is_static(node.left) and _is_static(node.right)
    return isinstance(node, ast.Constant)
