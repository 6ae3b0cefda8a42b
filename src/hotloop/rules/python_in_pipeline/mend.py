"""A generator that hands out arrays in memory, row by row, is `from_tensor_slices` of those arrays."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.arrays import array_type, changed_in_place
from hotloop.rules.moving import call_at, statements_around
from hotloop.source.module import Call, Module, Scope
from hotloop.source.names import canonical
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice

if TYPE_CHECKING:
    from hotloop.source import Project

NUMBERS = re.compile(r"^tf\.(?:dtypes\.)?(float(?:16|32|64)|u?int(?:8|16|32|64)|bool)$")


@dataclass(frozen=True)
class _Row:
    """What the generator yields: for each part, the array that it is a row of."""

    yielded: ast.expr
    arrays: dict[str, ast.expr]  # by how the part is spelled
    indexed: bool  # by number: then it is a sequence for sure


def to_slices(finding: Finding, project: Project) -> Fix:
    call = call_at(project.modules[finding.place.path], finding.place)
    if call.last != "from_generator":
        raise Refused("an exact counterpart in TensorFlow of the Python function is not known", call.node)
    generator = _generator(call, project)
    row, splice = _row(generator), Splice(call.where.scope.module)
    types = _types(call, project)
    text = _slices(row.yielded, types, _Namer(row, call, generator, project, splice))
    func = call.node.func
    if not isinstance(func, ast.Attribute):
        raise Refused("`from_generator` is called by another name", func)
    splice.replace(splice.span(call.node), f"{splice.text(func.value)}.from_tensor_slices({text})")
    if _is_unused(generator) and isinstance(generator.node, ast.FunctionDef):
        splice.remove(generator.node, statements_around(splice.module, generator.node))
    return splice.fix("take the examples from the arrays", "verify")


def _generator(call: Call, project: Project) -> Scope:
    argument = call.argument(0, "generator")
    value = project.resolve(argument, call.where.scope) if argument is not None else None
    scope = value.scope if value is not None and value.kind == "function" else None
    if scope is not None and isinstance(argument, ast.Call):
        _row(scope)  # what it does comes before how it is made
        raise Refused(f"`{ast.unparse(argument.func)}` makes the generator of what it is given", argument)
    scope = scope if isinstance(argument, ast.Name) else None
    if scope is None or not isinstance(scope.node, ast.FunctionDef) or scope.module is not call.where.scope.module:
        raise Refused("the generator is not a plain function of this file", argument or call.node)
    if scope.parameters or scope.decorators or scope.node.args.vararg or scope.node.args.kwarg:
        raise Refused("the generator takes arguments", scope.node)
    return scope


def _row(generator: Scope) -> _Row:
    """`for x, y in zip(xs, ys): yield x, y`, `for x in xs: yield x`, or by index, and nothing else."""
    body = [s for s in generator.node.body if not _is_docstring(s)]  # type: ignore[union-attr]
    loop = body[0] if len(body) == 1 and isinstance(body[0], ast.For) else None
    if loop is None or loop.orelse or len(loop.body) != 1:
        raise Refused("the generator does more than hand out rows", body[0] if body else generator.node)
    (statement,) = loop.body
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield) and statement.value.value):
        raise Refused("the generator does more than hand out rows", statement)
    yielded, over = statement.value.value, loop.iter
    if isinstance(over, ast.Call) and ast.unparse(over.func) == "range":
        return _Row(yielded, _by_index(loop, over, yielded), True)
    if isinstance(over, ast.Call) and ast.unparse(over.func) == "zip" and not over.keywords:
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
        if len(targets) == len(over.args):
            return _Row(yielded, {ast.unparse(t): a for t, a in zip(targets, over.args, strict=True)}, False)
    return _Row(yielded, {ast.unparse(loop.target): over}, False)


def _by_index(loop: ast.For, over: ast.Call, yielded: ast.expr) -> dict[str, ast.expr]:
    """`for i in range(len(xs)): yield xs[i], ys[i]`."""
    size, index = over.args[0], ast.unparse(loop.target)
    counted = isinstance(size, ast.Call) and ast.unparse(size.func) == "len"
    counted = counted or (isinstance(size, ast.Subscript) and ast.unparse(size).endswith(".shape[0]"))
    if len(over.args) != 1 or not counted:
        raise Refused("the generator hands out some of the rows, not all", over)
    rows = [n for n in ast.walk(yielded) if isinstance(n, ast.Subscript) and ast.unparse(n.slice) == index]
    return {ast.unparse(row): row.value for row in rows}


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


# -- types -------------------------------------------------------------------------------------------------------------


def _types(call: Call, project: Project) -> ast.expr:
    """What the rows are told to be: `output_signature`, or `output_types` in older code."""
    given = call.argument(99, "output_signature") or call.argument(1, "output_types")
    if isinstance(given, ast.Name):
        found = project.literal(given.id, call.where.scope)
        given = found[0] if found else None
    if given is None or call.argument(99, "args") is not None:
        raise Refused("the types of the examples are not spelled out", call.node)
    return given


def _slices(row: ast.expr, types: ast.expr, named: _Namer) -> str:
    """The arrays in the structure of what is yielded."""
    if isinstance(row, ast.Tuple) and isinstance(types, ast.Tuple) and len(row.elts) == len(types.elts):
        parts = [_slices(part, kind, named) for part, kind in zip(row.elts, types.elts, strict=True)]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    if isinstance(row, ast.Dict) and isinstance(types, ast.Dict) and len(row.keys) == len(types.keys):
        kinds = {ast.unparse(k): v for k, v in zip(types.keys, types.values, strict=True) if k is not None}
        rows = {ast.unparse(k): (k, v) for k, v in zip(row.keys, row.values, strict=True) if k is not None}
        if sorted(kinds) == sorted(rows):
            parts = [f"{named.text(k)}: {_slices(v, kinds[n], named)}" for n, (k, v) in rows.items()]
            return "{" + ", ".join(parts) + "}"
    if isinstance(row, ast.Tuple | ast.List | ast.Dict):
        raise Refused("what is yielded is not spelled out like its types", row)
    return named.array(row, types)


class _Namer:
    """The expression for one array, in the type that the rows are told to be."""

    def __init__(self, row: _Row, call: Call, generator: Scope, project: Project, splice: Splice) -> None:
        self.row, self.call, self.generator, self.project = row, call, generator, project
        self.text = splice.text

    def array(self, part: ast.expr, kind: ast.expr) -> str:
        found = self.row.arrays.get(ast.unparse(part))
        if not isinstance(found, ast.Name):
            raise Refused(f"`{ast.unparse(part)}` is not a row of an array with a name", part)
        self._require_the_same(found)
        wanted, has = self._number(kind), self._type_of(found)
        if has is None and not self.row.indexed:
            raise Refused(f"`{found.id}` may be something else than a list or an array", found)
        if has == wanted:
            return found.id
        numpy = _numpy(self.call.where.scope.module)
        return f"{numpy}.asarray({found.id}, {wanted if wanted == 'bool' else f'{numpy}.{wanted}'})"

    def _number(self, kind: ast.expr) -> str:
        if isinstance(kind, ast.Call) and kind.args and ast.unparse(kind.func).endswith("TensorSpec"):
            given = next((k.value for k in kind.keywords if k.arg == "dtype"), None)
            kind = given or (kind.args[1] if len(kind.args) > 1 else kind)
        match = NUMBERS.match(self.project.name_of(kind, self.call.where.scope))
        if match is None:
            raise Refused(f"`{ast.unparse(kind)}` is not a plain type of numbers", kind)
        return match[1]

    def _require_the_same(self, name: ast.Name) -> None:
        """A generator reads the array in each epoch anew, slices are taken once."""
        module, made = self.call.where.scope.module, self.call.node.lineno
        home = self.generator.owner(name.id)
        if home is None or home is not self.call.where.scope.owner(name.id):
            raise Refused(f"`{name.id}` is not the same name where the data set is made", name)
        for binding in home.bindings[name.id]:
            if binding.where.loop or binding.where.scope is not home or getattr(binding.node, "lineno", 0) > made:
                raise Refused(f"`{name.id}` gets another value later", binding.node)
        changed = changed_in_place(name.id, module)
        if changed is not None:
            raise Refused(f"`{name.id}` is changed in place", changed)

    def _type_of(self, name: ast.Name) -> str | None:
        """Its type, "" where it is a sequence of unknown type, None where it may be none."""
        home = self.generator.owner(name.id)
        value = home.bindings[name.id][-1].value if home is not None else None
        return array_type(value, home, self.project) if value is not None and home is not None else None


def _numpy(module: Module) -> str:
    for name, bindings in module.scope.bindings.items():
        if any(b.kind == "import" and canonical(b.imported) == "np" for b in bindings):
            return name
    raise Refused("the arrays must be converted, and the file does not import numpy")


def _is_unused(generator: Scope) -> bool:
    """Whether the call was all that named it."""
    names = [n for n in ast.walk(generator.module.tree) if isinstance(n, ast.Name) and n.id == generator.name]
    return len(names) == 1 and len(generator.parent.bindings[generator.name]) == 1 if generator.parent else False
