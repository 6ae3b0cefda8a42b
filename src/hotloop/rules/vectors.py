"""Which code on one row works on all rows at once: straight lines of ops that have a batched form."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hotloop.source.module import Context, Loop, Scope, names_read

if TYPE_CHECKING:
    from hotloop.source import Project

# Elementwise, reducing, shaping and matrix ops under `tf.`, `tf.math.`, `tf.linalg.`, `tf.nn.`, `keras.ops.`, ...
BATCHED = {
    "abs", "absolute", "acos", "add", "add_n", "all", "amax", "amin", "angle", "any", "argmax", "argmin", "argsort",
    "asin", "atan", "atan2", "broadcast_to", "cast", "ceil", "cholesky", "clip", "clip_by_value", "complex", "concat",
    "concatenate", "constant", "convert_to_tensor", "cos", "cosh", "count_nonzero", "cross", "cumprod", "cumsum",
    "det", "diag", "diag_part", "divide", "divide_no_nan", "dot", "eigh", "einsum", "elu", "equal", "erf", "exp",
    "exp2", "expand_dims", "expm1", "eye", "fft", "flip", "floor", "floor_mod", "floordiv", "full_like", "gather",
    "gelu", "greater", "greater_equal", "identity", "inv", "is_finite", "is_nan", "l2_normalize", "leaky_relu",
    "less", "less_equal", "log", "log10", "log1p", "log2", "log_sigmoid", "log_softmax", "logical_and", "logical_not",
    "logical_or", "logsumexp", "lstsq", "matmul", "matrix_transpose", "matvec", "max", "maximum", "mean", "min",
    "minimum", "mod", "multiply", "negative", "norm", "normalize", "not_equal", "one_hot", "ones_like", "outer",
    "pow", "power", "prod", "rank", "reciprocal", "reduce_all", "reduce_any", "reduce_euclidean_norm",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum",
    "reduce_variance", "relu", "relu6", "reshape", "reverse", "rint", "roll", "round", "rsqrt", "selu", "shape",
    "sigmoid", "sigmoid_cross_entropy_with_logits", "sign", "sin", "sinh", "slice", "softmax",
    "softmax_cross_entropy_with_logits", "softplus", "softsign", "solve", "sort",
    "sparse_softmax_cross_entropy_with_logits", "sqrt", "square", "squared_difference", "squeeze", "stack", "std",
    "stop_gradient", "subtract", "sum", "svd", "swish", "take", "tan", "tanh", "tensordot", "tile", "top_k", "trace",
    "transpose", "truediv", "var", "where", "zeros_like",
}  # fmt: skip
# Under `tf.image.`: what takes a batch of images as well as one.
BATCHED_IMAGE = {
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation", "convert_image_dtype",
    "flip_left_right", "flip_up_down", "grayscale_to_rgb", "per_image_standardization", "rgb_to_grayscale", "rot90",
    "rgb_to_hsv", "hsv_to_rgb", "transpose",
}  # fmt: skip
HOMES = {"tf", "tf.math", "tf.linalg", "tf.nn", "tf.signal", "keras.ops", "keras.backend", "tf.experimental.numpy"}
PLAIN = (
    ast.Name, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Slice,
    ast.Attribute, ast.Call, ast.keyword, ast.Dict, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip
SEVERAL = {"eigh", "normalize", "svd", "top_k"}  # of these, more than one tensor comes back
MADE = {"fill", "linspace", "ones", "zeros"}
DEPTH = 3  # of the project's own functions, one inside the other


def is_batched_function(function: Scope, project: Project, depth: int = 0) -> bool:
    """Whether a function of one row consists of nothing but such ops on it."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return _is_batched([node.body], function, project, depth)
    if not isinstance(node, ast.FunctionDef) or function.decorators or function.yields:
        return False
    expressions: list[ast.expr] = []
    for statement in node.body:
        match statement:
            case ast.Return(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value):
                expressions.append(value)
            case ast.Assign(value=value, targets=[ast.Name() | ast.Tuple()]):
                expressions.append(value)
            case ast.Expr(value=ast.Constant()):
                continue
            case _:
                return False
    return isinstance(node.body[-1], ast.Return) and _is_batched(expressions, function, project, depth)


def is_batched(expressions: list[ast.expr], scope: Scope, project: Project) -> bool:
    """The same of expressions that stand in a loop over rows."""
    return _is_batched(expressions, scope, project, 0)


def _is_batched(expressions: Iterable[ast.expr], scope: Scope, project: Project, depth: int) -> bool:
    works = False
    for expression in expressions:
        for node in ast.walk(expression):
            if not isinstance(node, PLAIN) or (isinstance(node, ast.Slice) and not _is_fixed(node)):
                return False
            if isinstance(node, ast.Call):
                if not _has_batched_form(node, scope, project, depth):
                    return False
                works = True
            works = works or isinstance(node, ast.BinOp)
    return works


def _is_fixed(cut: ast.Slice) -> bool:
    """`x[:3]`; in `x[:n]` the rows may be of different lengths."""
    ends = [end for end in (cut.lower, cut.upper, cut.step) if end is not None]
    return not any(names_read(end) for end in ends)


def _has_batched_form(node: ast.Call, scope: Scope, project: Project, depth: int) -> bool:
    value = project.resolve(node.func, scope)
    if value is None:
        return False
    if value.kind == "function" and value.scope is not None and depth < DEPTH:
        return is_batched_function(value.scope, project, depth + 1)
    home, _, last = value.name.rpartition(".")
    if home == "tf.image":
        return last in BATCHED_IMAGE
    if last == "where" and len(node.args) + len(node.keywords) < 3:
        return False  # the places where it holds: another number in each row
    return value.kind == "name" and home in HOMES and last in BATCHED


# -- loops over rows ---------------------------------------------------------------------------------------------------


def index_of(loop: Loop, project: Project) -> str | None:
    """The name that counts rows: `i` of `for i in range(n)`."""
    target = getattr(loop.node, "target", None) or getattr(_generator(loop), "target", None)
    iterable = loop.iterable
    counted = isinstance(iterable, ast.Call) and project.name_of(iterable.func, loop.where.scope) in (
        "range",
        "tf.range",
        "tqdm.trange",
    )
    return target.id if counted and isinstance(target, ast.Name) else None


def rows_of(loop: Loop, project: Project) -> dict[str, ast.expr]:
    """What a loop takes the rows of, by the name that each row gets: `for row in x`, `for a, b in zip(x, y)`."""
    target = getattr(loop.node, "target", None) or getattr(_generator(loop), "target", None)
    match target, loop.iterable:
        case ast.Name(id=name), ast.expr() as whole:
            return {name: whole}
        case ast.Tuple(elts=names), ast.Call(func=ast.Name(id="zip"), args=wholes) if len(names) == len(wholes):
            named = zip(names, wholes, strict=True)
            return {name.id: whole for name, whole in named if isinstance(name, ast.Name)}
    return {}


def _generator(loop: Loop) -> ast.comprehension | None:
    generators: list[ast.comprehension] = getattr(loop.node, "generators", [])
    return generators[0] if len(generators) == 1 and not generators[0].ifs else None


def rows_taken(expression: ast.AST, index: str, scope: Scope, project: Project) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Of what the expression takes row number `index`, and the row: `x[i]`, `x[i, :, 0]`, `tf.gather(x, i)`."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Subscript):
            first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            start = first.lower if isinstance(first, ast.Slice) else first
            if isinstance(start, ast.Name) and start.id == index:
                yield node.value, node
        elif isinstance(node, ast.Call) and project.name_of(node.func, scope) == "tf.gather" and len(node.args) > 1:
            if isinstance(node.args[1], ast.Name) and node.args[1].id == index:
                yield node.args[0], node


def only_indexes(expressions: list[ast.expr], index: str, scope: Scope, project: Project) -> bool:
    """Whether the counter serves to take rows and nothing else."""
    used = sum(isinstance(n, ast.Name) and n.id == index for one in expressions for n in ast.walk(one))
    rows = [row for one in expressions for row in rows_taken(one, index, scope, project)]
    within = sum(isinstance(n, ast.Name) and n.id == index for _, row in rows for n in ast.walk(row))
    return bool(rows) and used == within


def is_tensor(expr: ast.expr, where: Context, project: Project) -> bool:
    """Made by a TensorFlow op, or by calling a model."""
    name = project.name_of(expr, where.scope)
    made = name.startswith(("tf.", "keras.ops.")) and name.endswith("()") and name[:-2].rpartition(".")[2].islower()
    return made and not name.startswith(("tf.unstack", "tf.split", "tf.data", "tf.nest", "tf.io"))


def is_one_tensor(expr: ast.expr, where: Context, project: Project) -> bool:
    """Surely one whose elements are its rows, not a list of tensors such as `tf.gradients` returns."""
    home, _, last = project.name_of(expr, where.scope).removesuffix("()").rpartition(".")
    drawn = home in ("tf.random", "keras.random")
    return is_tensor(expr, where, project) and (drawn or last in MADE or (last in BATCHED - SEVERAL and home in HOMES))
