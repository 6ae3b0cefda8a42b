"""How large a NumPy array is, as far as source shows."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.source.heat import number
from hotloop.source.module import Binding, Scope, last_name
from hotloop.source.plain import called_function
from hotloop.source.project import argument_for, default_of

if TYPE_CHECKING:
    from hotloop.source import Project

DEPTH = 8
ARRAYS = re.compile(r"(?i)arr|any\b|tensor|matrix|data|\bnp\.")
NO_ARRAY = re.compile(  # what a parameter is called that nobody gives an array of megabytes
    r"(^|_)(axis\d?|axes|ord|k|n|num|max|min|length|size|sizes|shape|dims?|dtype|units|filters|rank|level|depth|width|"
    r"height|seed|names?|key|fn|func|function|loss|losses|reduction|spec|method|mode|format|type|cells?|layers?|steps?|"
    r"epsilon|eps|r?cond|lr|rate|dropout|prob|strides?|padding|cropping|repeats|period|threshold|temperature|alpha|beta|"
    r"gamma|theta|sigma|stddev|tol|keepdims|order|equation|ratios?|posinf|neginf|regularizer|initializer|activation|"
    r"optimizer|config|params|label)(_|$)"
)
CALLERS = 8  # of which one is asked what it hands over
WIDTHS = {
    "float64": 8, "int64": 8, "complex64": 8, "complex128": 16, "float": 8, "int": 8, "float32": 4, "int32": 4,
    "uint32": 4, "float16": 2, "int16": 2, "uint16": 2, "uint8": 1, "int8": 1, "bool": 1, "bool_": 1,
}  # fmt: skip
# Bytes of what `load_data` returns first: the training images.
KERAS_DATA = {"mnist": 47e6, "fashion_mnist": 47e6, "cifar10": 154e6, "cifar100": 154e6}
FROM_FILES = {
    "np.load", "np.loadtxt", "np.genfromtxt", "np.fromfile", "np.memmap", "sklearn.datasets.fetch_openml",
}  # fmt: skip
# What an archive of arrays calls its large ones, and what goes with them and is small.
DATA = re.compile(
    r"(?i)(^|_)(arr|data|embeddings?|examples?|features?|images?|imgs|inputs?|matrix|table|train|vectors|xs?)(_|\d|$)"
)
SMALL = re.compile(r"(?i)(^|_)(y|labels?|targets?|classes|ids?|names?|mean|std|var|min|max|len|lengths|shape)(_|\d|$)")
SHAPED = {"np.zeros", "np.ones", "np.empty", "np.full"}
SAMPLES = re.compile(r"^np\.random\.((default_rng|RandomState)\(\)\.)?\w+$")
BY_DIMENSION = {"np.random.rand", "np.random.randn", "np.random.RandomState().rand", "np.random.RandomState().randn"}
SAME_SIZE = {
    "reshape", "transpose", "copy", "clip", "round", "ravel", "flatten", "swapaxes", "squeeze",
}  # fmt: skip
SAME_SIZE_CALLS = {
    "np.asarray", "np.array", "np.expand_dims", "np.reshape", "np.transpose", "np.abs", "np.exp", "np.sqrt", "np.sin",
    "np.cos", "np.tanh", "np.sort", "np.ascontiguousarray", "np.float32", "np.clip", "np.squeeze",
}  # fmt: skip
SAMPLERS = {
    "normal", "uniform", "randint", "integers", "random", "standard_normal", "choice", "random_sample", "poisson",
    "exponential", "binomial", "gamma", "beta",
}  # fmt: skip
MAKERS = (
    {name.rpartition(".")[2] for name in FROM_FILES | SHAPED | BY_DIMENSION | SAME_SIZE_CALLS}
    | SAMPLERS | SAME_SIZE | {"load_data", "arange", "astype"}
)  # fmt: skip


@dataclass(frozen=True)
class Size:
    """`bytes` is None for an array that was read from a file: a data set, of whatever size."""

    bytes: float | None

    @property
    def words(self) -> str:
        if self.bytes is None:
            return " read from a file"
        return f" of {self.bytes / 1e6:,.0f} MB"

    def times(self, factor: float) -> Size:
        return Size(None if self.bytes is None else self.bytes * factor)


def makes_array(expr: ast.expr) -> bool:
    """Whether it may be worth measuring: by its last name, which is all that is asked."""
    while isinstance(expr, ast.BinOp):
        if makes_array(expr.right):
            return True
        expr = expr.left
    if isinstance(expr, ast.Subscript):
        return bool(_key(expr))
    return isinstance(expr, ast.Call) and last_name(expr.func) in MAKERS


def _key(expr: ast.Subscript) -> str:
    """`x` of `data["x"]`; else ""."""
    return expr.slice.value if isinstance(expr.slice, ast.Constant) and isinstance(expr.slice.value, str) else ""


def may_be_made_elsewhere(binding: Binding, project: Project) -> bool:
    """Whether a function of the project may make it: `table = load(path)`, or a parameter that may be an array."""
    value, scope = binding.value, binding.where.scope
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return any(b.kind in ("def", "import") for b in project.bindings(value.func.id, scope))
    return isinstance(value, ast.Name) and value.id in scope.parameters


def size_of(expr: ast.expr, scope: Scope, project: Project, handed: bool = False) -> Size | None:
    """None: not an array, or of unknown size. `handed`: of a parameter, what all callers hand over."""
    return _Measure(project, handed).of(expr, scope, 0)


class _Measure:
    def __init__(self, project: Project, handed: bool) -> None:
        self.project, self.handed = project, handed
        self.known: dict[tuple[Scope, str], Size | None] = {}

    def of(self, expr: ast.expr, scope: Scope, depth: int) -> Size | None:
        if depth > DEPTH:
            return None
        if isinstance(expr, ast.Name):
            return self._bound(self.project.bindings(expr.id, scope), scope, expr.id, depth)
        if isinstance(expr, ast.Attribute):
            if expr.attr in ("T", "values", "data"):
                return self.of(expr.value, scope, depth + 1)
            owner = self.project.resolve(expr.value, scope)
            attributes = owner.scope.attributes.get(expr.attr, []) if owner and owner.scope else []
            return self._bound(attributes, scope, f".{expr.attr}", depth)
        if isinstance(expr, ast.BinOp):
            sides = [self.of(side, scope, depth + 1) for side in (expr.left, expr.right)]
            known = [side for side in sides if side is not None]
            return max(known, key=lambda size: size.bytes or 0.0) if known else None
        if isinstance(expr, ast.Subscript):
            return self._entry(expr, scope)
        return self._call(expr, scope, depth) if isinstance(expr, ast.Call) else None

    def _entry(self, expr: ast.Subscript, scope: Scope) -> Size | None:
        """`np.load("data.npz")["x_train"]`, also through a name or a `with`; a row of an array is not followed."""
        key = _key(expr)
        if not DATA.search(key) or SMALL.search(key):
            return None
        archive = self.project.at_sight(expr.value, scope)
        return Size(None) if archive and archive.name == "np.load()" else None

    def _bound(self, bindings: list[Binding], scope: Scope, name: str, depth: int) -> Size | None:
        """What every binding says; one that is no array (a tensor, a parameter, an import) settles that it is none."""
        if (scope, name) not in self.known:
            self.known[scope, name] = None  # what is made of itself alone
            self.known[scope, name] = self._measured(bindings, depth)
        return self.known[scope, name]

    def _measured(self, bindings: list[Binding], depth: int) -> Size | None:
        sizes = []
        for binding in bindings:
            if binding.kind == "augment":
                continue
            if binding.kind == "import" and len(bindings) == 1:
                known = self.project.literal(binding.name, binding.where.scope)
                return self.of(*known, depth + 1) if known else None
            if binding.kind == "parameter" and len(bindings) == 1 and self.handed:
                return self._given(binding, depth)
            if binding.kind not in ("assign", "other") or binding.value is None:
                return None
            share = _share(binding)
            size = self.of(binding.value, binding.where.scope, depth + 1) if share is not None else None
            if share is None or (size is None and not _is_own_update(binding)):
                return None
            if size is not None:
                sizes.append(size.times(share))
        if not sizes or any(b.value is not None and self._is_tensor(b.value, b.where.scope) for b in bindings):
            return None
        return sizes[-1]

    def _given(self, parameter: Binding, depth: int) -> Size | None:
        """The smallest that a caller hands over, where all of them say."""
        home = parameter.where.scope
        if (home.is_method and parameter.name in home.parameters[:1]) or not _may_be_array(parameter):
            return None
        sizes: list[Size] = []
        for call in self.project.callers(home)[:CALLERS]:
            given = argument_for(call, home, parameter.name)
            size = self.of(given, call.where.scope, depth + 1) if given is not None else None
            if size is None:
                return None
            sizes.append(size)
        return min(sizes, key=lambda size: size.bytes or 0.0, default=None)

    def _is_tensor(self, expr: ast.expr, scope: Scope) -> bool:
        name = self.project.name_of(expr, scope)
        return name.startswith(("tf.", "keras.")) and not name.startswith("keras.datasets.")

    def _call(self, expr: ast.Call, scope: Scope, depth: int) -> Size | None:
        callee = called_function(expr, scope, self.project)
        if callee is not None:
            return self.of(callee.returns[0], callee, depth + 1) if len(callee.returns) == 1 else None
        if last_name(expr.func) not in MAKERS:
            return None
        value = self.project.at_sight(expr.func, scope)
        name = value.name if value else ""
        if name in FROM_FILES:
            return Size(None)
        if name.startswith("keras.datasets.") and name.endswith(".load_data"):
            known = KERAS_DATA.get(name.split(".")[2])
            return Size(known) if known else None
        if name in SAME_SIZE_CALLS and expr.args:
            return self.of(expr.args[0], scope, depth + 1)
        if name in SHAPED or name in BY_DIMENSION or (name.rpartition(".")[2] in SAMPLERS and SAMPLES.match(name)):
            return self._made(expr, name, scope)
        if name == "np.arange":
            return self._sized(expr.args[-1:] if len(expr.args) < 3 else [], expr, scope)
        if isinstance(expr.func, ast.Attribute):
            return self._method(expr, expr.func, scope, depth)
        return None

    def _method(self, expr: ast.Call, func: ast.Attribute, scope: Scope, depth: int) -> Size | None:
        if func.attr in SAME_SIZE:
            return self.of(func.value, scope, depth + 1)
        if func.attr == "astype" and expr.args:
            size = self.of(func.value, scope, depth + 1)
            was = 1 if "datasets" in self.project.name_of(func.value, scope) else 8
            return size.times(_width(expr.args[0]) / was) if size else None
        return None

    def _made(self, expr: ast.Call, name: str, scope: Scope) -> Size | None:
        if name in BY_DIMENSION:
            return self._sized(expr.args, expr, scope)
        by_keyword = [k.value for k in expr.keywords if k.arg in ("size", "shape")]
        last = name.rpartition(".")[2]
        position = {"random": 0, "random_sample": 0, "standard_normal": 0}.get(last, 0 if name in SHAPED else 2)
        shape = by_keyword or expr.args[position : position + 1]
        return self._sized(shape, expr, scope)

    def _sized(self, shape: list[ast.expr], expr: ast.Call, scope: Scope) -> Size | None:
        if len(shape) == 1 and isinstance(shape[0], ast.Name):
            known = self.project.literal(shape[0].id, scope)
            shape = [known[0]] if known and isinstance(known[0], ast.Tuple | ast.List) else shape
        if len(shape) == 1 and isinstance(shape[0], ast.Tuple | ast.List):
            shape = shape[0].elts
        sides = [number(side, scope, self.project) for side in shape]
        if not sides or None in sides:
            return None
        width = next((_width(k.value) for k in expr.keywords if k.arg == "dtype"), 8)
        return Size(math.prod(side for side in sides if side is not None) * width)


def _may_be_array(parameter: Binding) -> bool:
    """By what its function says of it: its name, its annotation or its default may spare a search for callers."""
    if NO_ARRAY.search(parameter.name):
        return False
    scope = parameter.where.scope
    annotation = getattr(parameter.node, "annotation", None)
    if annotation is not None and not ARRAYS.search(ast.unparse(annotation)):
        return False
    default = default_of(scope, parameter.name)
    return default is None or (isinstance(default, ast.Constant) and default.value is None)


def _width(dtype: ast.expr) -> int:
    text = dtype.value if isinstance(dtype, ast.Constant) else ast.unparse(dtype).rpartition(".")[2]
    return WIDTHS.get(str(text), 8)


def _share(binding: Binding) -> float | None:
    """Of `(x_train, y_train), (x_test, y_test) = load_data()`, the images; None for labels, which are small."""
    if binding.kind == "assign":
        return 1.0
    target = binding.node.targets[0] if isinstance(binding.node, ast.Assign) else None
    pairs = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    for index, pair in enumerate(pairs):
        if isinstance(pair, ast.Tuple | ast.List) and pair.elts:
            first = pair.elts[0]
            if isinstance(first, ast.Name) and first.id == binding.name:
                return 1 / 6 if index else 1.0
    return None


def _is_own_update(binding: Binding) -> bool:
    """`x = (x - 127) / 255`: as large as it was."""
    value = binding.value
    return value is not None and any(isinstance(n, ast.Name) and n.id == binding.name for n in ast.walk(value))
