"""NumPy's double in TensorFlow's matrices: tensors that are float64 only because NumPy's default is."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.model import Confidence
from hotloop.rules.calls import named
from hotloop.rules.compiled import arguments, has_signature
from hotloop.source.heat import hottest, number
from hotloop.source.module import Binding, Call, Context, Module, Scope, names_read

if TYPE_CHECKING:
    from hotloop.source import Project

MAKERS = {"tf.Variable": 3, "tf.constant": 1, "tf.convert_to_tensor": 1}  # and where each takes its dtype
HEAVY_OPS = {
    "tf.matmul", "tf.linalg.matmul", "tf.tensordot", "tf.einsum", "tf.linalg.einsum", "tf.nn.conv1d", "tf.nn.conv2d",
    "tf.nn.conv3d", "tf.nn.depthwise_conv2d", "tf.linalg.matvec", "tf.nn.xw_plus_b", "keras.ops.matmul",
    "keras.ops.dot", "keras.ops.einsum", "keras.backend.dot",
}  # fmt: skip
DOUBLE_BY_DEFAULT = re.compile(
    r"np\.(random\.(rand|randn|random|random_sample|normal|uniform|standard_normal)|zeros|ones|eye|identity"
    r"|random\.default_rng\(\)\.(random|normal|uniform|standard_normal)|random\.RandomState\(\)\.(rand|randn|normal|uniform))"
)
SHAPES_AS_ARGUMENTS = ("rand", "randn")
ASKED = re.compile(r"\bfloat64\b|\bnp\.double\b|['\"]double['\"]")
FAR = 4  # names that stand for each other
LARGE = 10_000  # elements: below, dispatch costs more than arithmetic of either kind


def multiplied(call: Call, name: str, project: Project) -> tuple[str, Confidence] | None:
    """`tf.Variable(np.random.randn(784, 256))`, multiplied again and again."""
    scope = call.where.scope
    data = call.argument(0, "initial_value" if name == "tf.Variable" else "value")
    kind = next((k.value for k in call.node.keywords if k.arg == "dtype"), None) or (
        call.node.args[MAKERS[name]] if len(call.node.args) > MAKERS[name] else None
    )
    if data is None or kind is not None:
        return None
    source = _double_source(data, scope, project)
    size = _size(*source, project) if source else None
    if source is None or (size is not None and size < LARGE):
        return None
    if not any(_is_hot(use, project) for use in _products(call, project)):
        return None
    made = ast.unparse(source[0].func)
    message = (
        f"`{made}` makes float64, so this tensor and every product with it is in double precision, at half the speed "
        "or less. Make it float32: `.astype('float32')`, or a `dtype` here."
    )
    return message, "high" if size is not None else "medium"


def _double_source(expr: ast.expr, scope: Scope, project: Project, depth: int = 0) -> tuple[ast.Call, Scope] | None:
    """The NumPy call behind an expression that gives float64 for want of a dtype."""
    if depth > FAR:
        return None
    if isinstance(expr, ast.Name):
        found = project.literal(expr.id, scope)
        return _double_source(*found, project, depth + 1) if found else None
    if isinstance(expr, ast.BinOp):
        return _double_source(expr.left, scope, project, depth + 1) or _double_source(
            expr.right, scope, project, depth + 1
        )
    if not isinstance(expr, ast.Call) or any(k.arg == "dtype" for k in expr.keywords):
        return None
    name = project.name_of(expr.func, scope)
    if DOUBLE_BY_DEFAULT.fullmatch(name):
        typed = name in ("np.zeros", "np.ones", "np.eye") and len(expr.args) > 1
        return None if typed else (expr, scope)
    return None


def is_asked_for(module: Module, line: int, project: Project) -> bool:
    """Whether what becomes a tensor on a line was spelled as doubles: `np.asarray(rows, dtype=np.float64)`."""
    statements = (node for node in module.contexts if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    here = (node for node in statements if node.lineno <= line <= (node.end_lineno or node.lineno))
    return any(_says_double(node, module.contexts[node].scope, project) for node in here)


def _says_double(node: ast.AST, scope: Scope, project: Project, depth: int = 0) -> bool:
    if ASKED.search(ast.unparse(node)):
        return True
    names = names_read(node) if depth < FAR else set()
    known = (project.literal(name, scope) for name in names)
    return any(_says_double(*found, project, depth + 1) for found in known if found)


def _size(source: ast.Call, scope: Scope, project: Project) -> float | None:
    """How many elements it has; None when source does not say."""
    name = project.name_of(source.func, scope).rpartition(".")[2]
    shape: list[ast.expr]
    if name in SHAPES_AS_ARGUMENTS:
        shape = list(source.args)
    else:
        given = next((k.value for k in source.keywords if k.arg in ("size", "shape")), None)
        at = 2 if name in ("normal", "uniform") else 0
        given = given or (source.args[at] if len(source.args) > at else None)
        if given is None:
            return 1
        shape = list(given.elts) if isinstance(given, ast.Tuple | ast.List) else [given]
        shape = shape * 2 if name in ("eye", "identity") else shape
    sizes = [number(side, scope, project) for side in shape]
    return None if None in sizes else math.prod(size for size in sizes if size is not None)


def _products(call: Call, project: Project) -> Iterator[Context]:
    """Where the tensor is multiplied: `tf.matmul(w, x)`, `w @ x`, of the name or attribute that it is bound to."""
    statement = call.where.statement
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1 and statement.value is call.node):
        return
    target, module = statement.targets[0], call.where.scope.module
    for other, _ in named(module, project, HEAVY_OPS):
        if any(_is_same(a, target, call.where, other.where, project) for a in other.node.args):
            yield other.where
    for node, where in module.contexts.items():
        if isinstance(node, ast.Assign | ast.Return | ast.Expr | ast.AugAssign) and node.value is not None:
            for part in ast.walk(node.value):
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult):
                    if any(_is_same(side, target, call.where, where, project) for side in (part.left, part.right)):
                        yield where
    for other in module.calls:
        handed = [*other.node.args, *[k.value for k in other.node.keywords]]
        if any(_is_same(one, target, call.where, other.where, project) for one in handed):
            yield from _products_of_callee(other, target, project)


def _products_of_callee(call: Call, target: ast.expr, project: Project) -> Iterator[Context]:
    """Where a function of the project multiplies what it is handed: there, if that is in a loop, and at the call."""
    value = project.resolve(call.node.func, call.where.scope)
    callee = value.scope if value is not None and value.kind in ("function", "traced") else None
    if callee is None or has_signature(call, callee, project):
        return
    handed = {name for one, name in arguments(call, callee) if ast.unparse(one) == ast.unparse(target)}
    handed = {name for name in handed if len(callee.bound(name)) == 1}  # not cast first
    for where in _multiplying(callee, handed, project) if handed else ():
        yield call.where
        if where.loop is not None:
            yield where


def _multiplying(callee: Scope, names: set[str], project: Project) -> Iterator[Context]:
    for node in ast.walk(callee.node):
        sides: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            sides = [node.left, node.right]
        elif isinstance(node, ast.Call) and project.name_of(node.func, callee) in HEAVY_OPS:
            sides = node.args
        if any(isinstance(side, ast.Name) and side.id in names for side in sides):
            yield callee.module.contexts.get(node) or Context(callee, None)


def _is_same(expr: ast.expr, target: ast.expr, made: Context, used: Context, project: Project) -> bool:
    if isinstance(expr, ast.Name) and isinstance(target, ast.Name):
        known: list[Binding] = project.bindings(expr.id, used.scope)
        return expr.id == target.id and any(b.node is made.statement for b in known)
    if isinstance(expr, ast.Attribute) and isinstance(target, ast.Attribute):
        return ast.unparse(expr) == ast.unparse(target) and used.scope.parent is made.scope.parent
    return False


def _is_hot(where: Context, project: Project) -> bool:
    """In a loop that is not a short one, or compiled: nobody compiles what runs once."""
    if project.traced(where):
        return True
    found = hottest(where, project)
    return found is not None and found[0] != "cold"
