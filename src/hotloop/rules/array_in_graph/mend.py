"""The array as a tensor beside it, made once: compiled functions refer to a tensor and do not copy it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hotloop.model import Fix
from hotloop.rules.arrays import array_type, changed_in_place
from hotloop.rules.moving import tensorflow_name
from hotloop.source.module import Binding, Module, Scope
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice

if TYPE_CHECKING:
    from hotloop.source import Project

PLAIN = {"float32", "float16", "int8", "uint8", "int16", "int32", "int64", "bool"}
CONVERTS = {"tf.constant", "tf.convert_to_tensor"}


def as_tensor(uses: Sequence[ast.expr], scope: Scope, project: Project) -> Fix:
    """`uses` are the places of one function where the array is taken whole."""
    spelled, splice = ast.unparse(uses[0]), Splice(scope.module)
    binding = _binding(uses[0], scope)
    home = binding.where.scope
    if home.module is not scope.module:
        raise Refused(f"`{spelled}` is made in another file", uses[0])
    _require_one_type(spelled, binding, project)
    changed = changed_in_place(spelled, scope.module)
    if changed is not None:
        raise Refused(f"`{spelled}` is changed in place", changed)
    tensor = _made_already(spelled, home, project)
    if not tensor:
        tensor = _free(f"{spelled}_tensor", scope.module)
        _make(splice, spelled, tensor, binding)
    kind = _type(binding, project)
    for use in uses:
        splice.replace(splice.span(_conversion(use, kind, scope, project) or use), tensor)
    return splice.fix("make a tensor of the array once", "verify")


def _binding(use: ast.expr, scope: Scope) -> Binding:
    """The one assignment that makes the array."""
    if isinstance(use, ast.Attribute):
        owner = scope.parent
        bindings = owner.attributes.get(use.attr, []) if owner is not None else []
    else:
        home = scope.owner(ast.unparse(use))
        bindings = home.bindings[ast.unparse(use)] if home is not None else []
    statement = bindings[0].node if len(bindings) == 1 else None
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1 and bindings[0].kind == "assign"):
        raise Refused(f"`{ast.unparse(use)}` is not made by one plain assignment", statement or use)
    if bindings[0].where.loop is not None:
        raise Refused(f"`{ast.unparse(use)}` is made anew in a loop", statement)
    return bindings[0]


def _require_one_type(spelled: str, binding: Binding, project: Project) -> None:
    """An array of doubles becomes what its partner is, a tensor of doubles does not."""
    if _type(binding, project) not in PLAIN:
        raise Refused(
            f"`{spelled}` may be float64, which TensorFlow converts in an array but not in a tensor: give it a type "
            "first, with `astype`",
            binding.node,
        )


def _type(binding: Binding, project: Project) -> str | None:
    return array_type(binding.value, binding.where.scope, project) if binding.value is not None else None


def _conversion(use: ast.expr, kind: str | None, scope: Scope, project: Project) -> ast.expr | None:
    """`tf.constant(table)` around a use, which goes too: of a tensor it would make a constant of the graph again."""
    for call in scope.module.calls:
        node = call.node
        if node.args[:1] != [use] or project.name_of(node.func, call.where.scope) not in CONVERTS:
            continue
        wanted = [
            ast.unparse(value) for value in (*node.args[1:], *[k.value for k in node.keywords if k.arg != "name"])
        ]
        if len(wanted) > 1 or any(text.rpartition(".")[2].strip("'\"") != kind for text in wanted):
            raise Refused(f"`{ast.unparse(node)}` also converts the array: make the tensor by hand", node)
        return node
    return None


def _made_already(spelled: str, home: Scope, project: Project) -> str:
    """The tensor that another function's fix has made of the array."""
    for node, where in home.module.contexts.items():
        if where.scope is home and isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            given = node.value.args
            made = len(given) == 1 and not node.value.keywords and ast.unparse(given[0]) == spelled
            if made and project.name_of(node.value.func, home) == "tf.constant" and len(node.targets) == 1:
                target = ast.unparse(node.targets[0])
                return target if target == f"{spelled}_tensor" else ""
    return ""


def _free(name: str, module: Module) -> str:
    taken = {ast.unparse(n) for n in ast.walk(module.tree) if isinstance(n, ast.Name | ast.Attribute)}
    if name in taken:
        raise Refused(f"the file uses the name `{name}` for something else")
    return name


def _make(splice: Splice, spelled: str, tensor: str, binding: Binding) -> None:
    statement, home = binding.node, binding.where.scope
    assert isinstance(statement, ast.stmt)
    name = tensorflow_name(home)
    imports = [b for b in splice.module.scope.bindings.get(name, []) if b.kind == "import"]
    if home is splice.module.scope and any(b.node.lineno > statement.lineno for b in imports):  # type: ignore[attr-defined]
        raise Refused("tensorflow is imported only after the array is made", statement)
    start, end = splice.lines_of(statement)
    line = splice.data[splice.at(statement.lineno, 0) : splice.span(statement)[0]]
    text = line + f"{tensor} = {name}.constant({spelled})".encode() + splice.line_end
    closed = splice.data[start:end].endswith((b"\n", b"\r"))
    splice.insert(end, text if closed else splice.line_end + text)
