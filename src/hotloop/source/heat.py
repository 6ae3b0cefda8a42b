"""How hot a loop is, as far as source shows: "one per batch" hurts, "one per fold" does not."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable
from typing import Literal

from hotloop.source.module import Call, Context, Loop, Scope, last_name
from hotloop.source.options import entry
from hotloop.source.pipelines import pipeline_of
from hotloop.source.project import Project, Running, argument_for

Heat = Literal["hot", "warm", "cold"]

FEW = 8  # a loop of fewer steps is not worth a word
SOME = 32  # of fewer, each step has to cost much
PASS_THROUGH = {
    "enumerate",
    "list",
    "tuple",
    "sorted",
    "reversed",
    "iter",
    "tqdm.tqdm",
    "tqdm",
    "tqdm.auto.tqdm",
    "set",
}
COUNTED = {name.rpartition(".")[2] for name in PASS_THROUGH} | {
    "range", "trange", "zip", "linspace", "arange", "logspace", "items", "keys", "values", "take", "sample", "islice",
}  # fmt: skip
HOT_WORDS = re.compile(
    r"image|img|photo|pic|path|file|frame|video|batch|step|iter|epoch|episode|sample|example|row|record|dataset"
    r"|\bds\b|sentence|text|token|line|doc|quer|request|message|data|loader|window|tile|crop|listdir|glob|url|item"
    r"|\bxs?\b|\bxy\b|\bX\b|x_test|x_train|test_|train_|point|word|user|state|obs"
)
HOT_ANYWAY = re.compile(r"image|img|batch|frame|epoch|steps?\b|dataset(?!s)|listdir|glob")
COLD_WORDS = re.compile(
    r"(?<![a-z])k?folds?(?![a-z])|seed|config|trial|hyper|candidate|task|checkpoint|ckpt|model|optimi[sz]er|split|variant|param|grid|\blrs?\b"
    r"|learning_rate|layer|backend|device|gpu|mode|phase|option|setting|experiment|architecture|batch_size|sizes|units"
    r"|metric|activation|_names?\b|class_|label|run\b|runs\b|repeat|attempt|retr(y|ies)|version|depth"
    r"|\bend_points\b"
)
COLD_ANYWAY = re.compile(r"\b(hosts?|host_id|devices?|gpus?|replicas?|workers?|towers?)\b|datasets(?![\w.])")
MAPPED = re.compile(r"\.(items|keys|values)\(\)\W*$")  # also in `tqdm(...)`
KEY = re.compile(r"(name|key|tag|resolution)$|k$")
AWAITED = {"latest_checkpoint", "wait_for_new_checkpoint"}


def trips(loop: Loop, project: Project) -> float | None:
    """How many steps source says the loop makes; None when it does not say."""
    if isinstance(loop.node, ast.For | ast.AsyncFor | ast.While) and _ends_at_once(loop.node.body, _flag(loop.node)):
        return 1
    if isinstance(loop.node, ast.While):
        return _counted(loop.node, loop.where.scope, project)
    iterable = loop.iterable
    return _length(iterable, loop.where.scope, project) if iterable is not None else None


def _counted(node: ast.While, scope: Scope, project: Project) -> float | None:
    """`i = 0`, `while i < 100: ...; i += 1`, or the other way round, where nothing else sets it."""
    match node.test:
        case ast.Compare(left=ast.Name(id=counter), ops=[op], comparators=[limit]):
            bound = scope.bound(counter)
        case _:
            return None
    match op, [binding.node for binding in bound]:
        case (
            ast.Lt() | ast.LtE(),
            [ast.Assign(value=start) as before, ast.AugAssign(op=ast.Add(), value=by) as step],
        ) | (
            ast.Gt() | ast.GtE(),
            [ast.Assign(value=start) as before, ast.AugAssign(op=ast.Sub(), value=by) as step],
        ) if step in node.body and before.lineno < node.lineno:
            values = [number(part, scope, project) for part in (start, limit, by)]
        case _:
            return None
    if any(value is None or not float(value).is_integer() for value in values):
        return None
    first, last, by_one = (int(value) for value in values if value is not None)
    far = abs(last - first) + isinstance(op, ast.LtE | ast.GtE)
    runs = first < last if isinstance(op, ast.Lt | ast.LtE) else first > last
    return -(-far // by_one) if runs and by_one > 0 else None


def _length(expr: ast.expr, scope: Scope, project: Project, depth: int = 0) -> float | None:
    if isinstance(expr, ast.List | ast.Tuple | ast.Set):
        return None if any(isinstance(e, ast.Starred) for e in expr.elts) else len(expr.elts)
    if isinstance(expr, ast.Dict):
        return len(expr.keys)
    if depth > 6:
        return None
    if isinstance(expr, ast.Name):
        found = project.literal(expr.id, scope)
        if found is None:
            return _handed_length(expr.id, scope, project, depth)
        return _length(*found, project, depth + 1) if _never_grown(expr.id, found[1]) else None
    if isinstance(expr, ast.Call):
        return _call_length(expr, scope, project, depth)
    if isinstance(expr, ast.ListComp) and len(expr.generators) == 1 and not expr.generators[0].ifs:
        return _length(expr.generators[0].iter, scope, project, depth + 1)
    if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Slice):
        return _slice_length(expr.slice, scope, project)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        sides = (_length(expr.left, scope, project, depth + 1), number(expr.right, scope, project))
        return None if None in sides else math.prod(s for s in sides if s is not None)
    return None


def _handed_length(name: str, scope: Scope, project: Project, depth: int) -> float | None:
    """The most that a caller hands over, where all of them say."""
    bound = project.bindings(name, scope)
    if len(bound) != 1 or bound[0].kind != "parameter" or not (home := bound[0].where.scope).is_function:
        return None
    handed = [(argument_for(call, home, name), call) for call in project.callers(home)]
    lengths = [
        _length(argument, call.where.scope, project, depth + 1) if argument is not None else None
        for argument, call in handed
    ]
    known = [length for length in lengths if length is not None]
    return max(known) if known and len(known) == len(lengths) else None


def _slice_length(part: ast.Slice, scope: Scope, project: Project) -> float | None:
    """At most, of `x[:10]` and `x[50:60]`."""
    first = number(part.lower, scope, project) if part.lower is not None else 0
    last = number(part.upper, scope, project) if part.upper is not None else None
    known = first is not None and last is not None and part.step is None and 0 <= first <= last
    return last - first if known else None  # type: ignore[operator]


def _call_length(expr: ast.Call, scope: Scope, project: Project, depth: int) -> float | None:
    if last_name(expr.func) not in COUNTED:
        return None
    value = project.at_sight(expr.func, scope)
    name = value.name if value else ""
    if name in ("range", "trange", "tqdm.trange", "tqdm.auto.trange"):
        values = [number(a, scope, project) for a in expr.args]
        if not values or None in values:
            return None
        try:
            return len(range(*[int(v) for v in values if v is not None]))
        except (OverflowError, ValueError):
            return None
    if name in PASS_THROUGH and expr.args:
        return _length(expr.args[0], scope, project, depth + 1)
    if name in ("random.sample", "itertools.islice") and len(expr.args) == 2:
        return number(expr.args[1], scope, project)
    if name == "zip":
        known = [n for n in (_length(a, scope, project, depth + 1) for a in expr.args) if n is not None]
        return min(known, default=None)
    if name in ("np.linspace", "np.arange", "np.logspace") and expr.args:
        position = 2 if name != "np.arange" else len(expr.args) - 1
        return number(expr.args[position], scope, project) if len(expr.args) > position else None
    if isinstance(expr.func, ast.Attribute) and expr.func.attr in ("items", "keys", "values"):
        return _length(expr.func.value, scope, project, depth + 1)
    if isinstance(expr.func, ast.Attribute) and expr.func.attr == "take" and expr.args:
        return number(expr.args[0], scope, project)
    return None


def _never_grown(name: str, scope: Scope) -> bool:
    """A literal list that is appended to says nothing of its length."""
    for call in scope.module.calls_of("append", "extend", "insert", "update", "add"):
        func = call.node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name:
            return False
    return True


def number(expr: ast.expr, scope: Scope, project: Project, depth: int = 0) -> float | None:
    """The value of a constant number, through names and arithmetic."""
    if depth > 6:
        return None
    if isinstance(expr, ast.Name):
        known = project.literal(expr.id, scope)
        if known is not None and isinstance(known[0], ast.BinOp):
            return number(*known, project, depth + 1)
    if isinstance(expr, ast.Subscript):
        option = entry(expr, scope, project)
        return number(*option, project, depth + 1) if option is not None else None
    if isinstance(expr, ast.BinOp):
        left, right = (number(side, scope, project, depth + 1) for side in (expr.left, expr.right))
        if left is None or right is None:
            return None
        try:
            match expr.op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult():
                    return left * right
                case ast.FloorDiv():
                    return left // right
                case ast.Div():
                    return left / right
        except (ZeroDivisionError, OverflowError):
            return None
        return None
    value = project.resolve(expr, scope)
    if value and value.kind == "constant" and type(value.constant) in (int, float):
        return value.constant  # type: ignore[return-value]
    return None


def _flag(node: ast.AST) -> str:
    """The name that a `while` asks: `running` of `while running:`."""
    return node.test.id if isinstance(node, ast.While) and isinstance(node.test, ast.Name) else ""


def _ends_at_once(body: list[ast.stmt], flag: str) -> bool:
    """`while True: try: ...; break`, or `while trying: try: ...; trying = False`: a retry, not a loop."""
    last = body[-1]
    if isinstance(last, ast.Break | ast.Return):
        return True
    if isinstance(last, ast.Try) and last.handlers:
        return _ends_at_once(last.orelse or last.body, flag)
    match last:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=False)):
            return name == flag
    return False


def loop_heat(loop: Loop, project: Project) -> Heat:
    steps = trips(loop, project)
    if steps is not None:
        return "cold" if steps < FEW else "warm" if steps < SOME else "hot"
    if isinstance(loop.node, ast.While):
        return "cold" if _awaits_checkpoints(loop.node) else "hot"
    iterable = ast.unparse(loop.iterable) if loop.iterable is not None else ""
    if isinstance(loop.node, ast.Call) and not iterable:  # `table["text"].apply(f)`
        return "warm" if "groupby" in ast.unparse(loop.node.func) else "hot"
    if MAPPED.search(iterable):
        return _mapping_heat(loop.targets)
    words = " ".join([*sorted(loop.targets), iterable])
    if COLD_ANYWAY.search(words):
        return "cold"
    spelled, what = words.lower(), _what(loop, words).lower()
    decides = what if COLD_WORDS.search(what) else spelled
    if COLD_WORDS.search(decides) and not HOT_ANYWAY.search(decides):
        return "hot" if _goes_over_data_set(loop, project) else "cold"
    if HOT_WORDS.search(words) or HOT_WORDS.search(spelled):
        return "hot"
    return "hot" if _goes_over_data_set(loop, project) else "warm"


def _goes_over_data_set(loop: Loop, project: Project) -> bool:
    """Over a data set of tf.data, whatever that and what it gives are called: `for features, label in trainset`."""
    expr = loop.iterable if isinstance(loop.node, ast.For | ast.AsyncFor) else None
    while isinstance(expr, ast.Call) and expr.args and last_name(expr.func) in COUNTED:
        expr = expr.args[0]
    pipeline = pipeline_of(expr, loop.where.scope, project) if expr is not None else None
    return pipeline is not None and pipeline.is_dataset and bool(pipeline.source)


def _mapping_heat(targets: Iterable[str]) -> Heat:
    """A dict has an entry for each of a few things, unless its entries are called what there are many of."""
    words = " ".join(targets).lower()
    if HOT_ANYWAY.search(words):
        return "hot"
    if any(map(KEY.match, targets)):
        return "cold"
    return "hot" if HOT_WORDS.search(words) else "cold" if COLD_WORDS.search(words) else "warm"


def _awaits_checkpoints(node: ast.While) -> bool:
    """It waits for what a training run saves from time to time."""
    parts = (inner for part in node.body for inner in ast.walk(part))
    return any(isinstance(part, ast.Attribute | ast.Name) and last_name(part) in AWAITED for part in parts)


def _what(loop: Loop, words: str) -> str:
    """What the loop goes over: of a call that makes it, not what that is given (`files(folder, min_steps)`)."""
    iterable = loop.iterable
    if isinstance(iterable, ast.Call) and last_name(iterable.func) not in COUNTED:
        return " ".join([*sorted(loop.targets), ast.unparse(iterable.func)])
    return words


def heat(running: Running, project: Project) -> tuple[Heat, Loop, tuple[Call, ...]]:
    """The heat of a nest of loops, the innermost loop that has it, and the calls from there."""
    heats = [loop_heat(loop, project) for loop in running.loops]
    if "hot" not in heats and "warm" in heats:
        known = (trips(loop, project) for loop in running.loops)
        if math.prod(steps for steps in known if steps is not None) >= SOME:  # 10 epochs of 20 steps
            heats[heats.index("warm")] = "hot"
    best: Heat = "hot" if "hot" in heats else "warm" if "warm" in heats else "cold"
    index = heats.index(best)
    return best, running.loops[index], running.chains[index]


def hottest(where: Context, project: Project, at_times: bool = False) -> tuple[Heat, Loop, tuple[Call, ...]] | None:
    """Of all the ways code there runs in loops, the hottest; None when it runs in none."""
    found = [heat(running, project) for running in project.running(where, at_times)]
    order = ("hot", "warm", "cold")
    return min(found, key=lambda one: (order.index(one[0]), len(one[2])), default=None)
