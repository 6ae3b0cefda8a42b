"""A large NumPy array becomes a constant inside a graph, and is kept there several times over.

**Why**

A `tf.function` that reads an array from outside turns it into a constant of its graph. The graph is copied when it is
traced, optimised and compiled, and the constant with it: an array of 16 MB took 118 MB, in every function that reads
it, and again for each retrace. In graph mode `tf.constant(data)` and `from_tensor_slices(data)` put the data into the
graph in the same way; a graph may hold no more than 2 GB.

**Instead**

Convert it once, outside: `data = tf.constant(data)`. A compiled function refers to such a tensor, it does not copy it.
Or pass it as an argument. In graph mode feed it through a `tf.placeholder`, batch by batch or once to initialise the
variable or the iterator.

**Not when**

The array is small, or only its shape is read. The fix makes a tensor beside an array whose type is seen and which
nothing changes in place; it is tried before it is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.array_in_graph.size import Size, makes_array, may_be_made_elsewhere, size_of
from hotloop.rules.calls import named
from hotloop.rules.loops import outside_loops
from hotloop.source.module import Call, Context, Module, Scope, place_of
from hotloop.source.noted import Noted
from hotloop.source.project import TRACED_METHODS

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
WEIGHTY = 5e6  # bytes at one line: less does not matter, however often it is read
PREPARING = 2e-8  # seconds a byte that a large constant takes to prepare: measured, some 0.2 s for 10 MB
COPIES = 7  # of a large constant that a function keeps in the end: measured, 118 MB for 16 MB
MEASURED = "memory"

LARGE = 10e6  # bytes: surely worth a word
SOME = 4e6
BAKERS = {
    "tf.constant", "tf.convert_to_tensor", "tf.Variable", "tf.data.Dataset.from_tensor_slices",
    "tf.data.Dataset.from_tensors", "tf.train.slice_input_producer",
}  # fmt: skip
LOOKUPS = {"tf.nn.embedding_lookup", "tf.gather"}
FED = "Feed it through a placeholder instead."
LOOKED_UP = "Assign it once to a variable, through a placeholder."  # to feed it in each step costs more than it saves
GRAPH_MODE = (b"disable_eager_execution", b"disable_v2_behavior", b"placeholder(", b"tf.estimator", b"v1.estimator")
SESSION = re.compile(rb"(?<!requests\.)(?<!Inference)\bSession\(")  # alone, it may only set an option of the device
EAGER_MODE = (b"enable_eager_execution", b"enable_v2_behavior", b"GradientTape")
# Uses that leave the array outside: `len(x)`, `np.mean(x)`.
PYTHON_CALLS = re.compile(r"^(len|range|print|str|type|id|isinstance|list|min|max|sum|zip|enumerate|np\..*)$")


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        arrays, elsewhere = _may_be_arrays(module, project)
        for scope in module.scopes if arrays or elsewhere else ():
            names = _in_reach(scope, arrays) if scope.is_function and not scope.yields else set()
            if elsewhere and _is_compiled(scope, project):
                names |= _in_reach(scope, elsewhere)
            found = list(_captured(scope, names, project)) if names and _says(scope, names) else []
            if found and project.traced(Context(scope, None)):
                yield from found
        if _is_graph_code(module):
            yield from _baked(module, project)


def _is_graph_code(module: Module) -> bool:
    data = module.data
    runs = "run" in module.called and SESSION.search(data) and re.search(rb"sess\w*\.run\(", data)
    builds = runs or any(word in data for word in GRAPH_MODE)
    return bool(builds) and not any(word in data for word in EAGER_MODE)


def _may_be_arrays(module: Module, project: Project) -> tuple[dict[Scope, set[str]], dict[Scope, set[str]]]:
    """Names and attributes that are bound to what may be an array, by scope, before anything is resolved.

    First those that are made there, then those that a function of the project makes or that a caller hands over.
    """
    found: dict[Scope, set[str]] = {}
    elsewhere: dict[Scope, set[str]] = {}
    holding = {scope.parent for scope in module.scopes if scope.parent}
    compiles = any(_is_compiled(scope, project) for scope in module.scopes)
    for scope in holding:
        for name, bindings in (*scope.bindings.items(), *scope.attributes.items()):
            for binding in bindings:
                value = binding.value
                if value is None and project.is_value(binding):
                    literal = project.literal(name, scope)
                    value = literal[0] if literal else None
                if value is not None and makes_array(value):
                    found.setdefault(scope, set()).add(name)
                elif compiles and may_be_made_elsewhere(binding, project):
                    elsewhere.setdefault(scope, set()).add(name)
    return found, elsewhere


def _is_compiled(scope: Scope, project: Project) -> bool:
    """Of these alone it is asked what callers hand over: most functions are never traced, and `build` runs once."""
    by_name = scope.name in TRACED_METHODS and scope.name != "build"
    return scope.is_function and (by_name or (bool(scope.decorators) and project.is_compiled(scope)))


def _in_reach(scope: Scope, arrays: dict[Scope, set[str]]) -> set[str]:
    """Those of the scopes around it."""
    found: set[str] = set()
    outer = scope.parent
    while outer is not None:
        found |= arrays.get(outer, set())
        outer = outer.parent
    return found


_LINES: Noted[list[bytes]] = Noted()


def _says(scope: Scope, names: set[str]) -> bool:
    """Whether one of the names stands in its text; to look through its tree takes long."""
    first, last = getattr(scope.node, "lineno", 1), getattr(scope.node, "end_lineno", None)
    text = b"\n".join(_LINES.of(scope.module, scope.module.data.splitlines)[first - 1 : last])
    return any(name.encode() in text for name in names)


def _captured(scope: Scope, arrays: set[str], project: Project) -> Iterator[Finding]:
    """Arrays of an outer scope, or of `self`, that a traced function uses whole."""
    seen: set[str] = set()
    for node, user in _used_whole(scope.node):
        if (node.id if isinstance(node, ast.Name) else node.attr) not in arrays:
            continue
        spelled = ast.unparse(node)
        if spelled in seen or not _comes_from_outside(node, scope):
            continue
        size = size_of(node, scope, project, handed=_is_compiled(scope, project))
        confidence = _confidence(size)
        if size is None or confidence is None or _stays_python(user, scope, project):
            continue
        if isinstance(node, ast.Name) and project.traced(Context(scope.owner(node.id) or scope, None)):
            continue  # a tensor, by then
        seen.add(spelled)
        where = Context(scope, None)
        name = "a compiled function" if scope.name == "<lambda>" else f"`{scope.name}`"
        message = (
            f"`{spelled}` is a NumPy array{size.words}, and {name} keeps it as a constant in its graph, several times "
            f"over. Convert it once, outside (`tf.constant`), or pass it as an argument."
        )
        yield RULE.finding(place_of(scope.module, node), message, **outside_loops(where, confidence))


def _used_whole(root: ast.AST) -> Iterator[tuple[ast.Name | ast.Attribute, ast.AST]]:
    """Names and attributes that are an argument or an operand, and of what; not `x.shape` or `x[0]`."""
    for node in ast.walk(root):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            parts = [*node.args, *[k.value for k in node.keywords]]
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Return) and node.value is not None:
            parts = [node.value]
        for part in parts:
            inner = part.elts if isinstance(part, ast.Tuple | ast.List) else [part]
            yield from ((p, node) for p in inner if isinstance(p, ast.Name | ast.Attribute))


def _stays_python(user: ast.AST, scope: Scope, project: Project) -> bool:
    return isinstance(user, ast.Call) and PYTHON_CALLS.match(project.name_of(user.func, scope)) is not None


def _comes_from_outside(node: ast.Name | ast.Attribute, scope: Scope) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and scope.is_method and node.value.id in scope.parameters[:1]
    home = scope.owner(node.id)
    return home is not None and home is not scope


def _baked(module: Module, project: Project) -> Iterator[Finding]:
    """`tf.constant(data)`, or `tf.gather(data, ids)`, in graph mode."""
    for call, name in named(module, project, BAKERS | LOOKUPS):
        for part in _parts(call):
            size = size_of(part, call.where.scope, project)
            confidence = _confidence(size)
            if size is None or confidence is None or (name == "tf.Variable" and confidence != "high"):
                continue  # first weights of a layer are made so
            if project.traced(call.where):
                break
            short = name.removeprefix("tf.").removeprefix("data.Dataset.")
            message = (
                f"`{short}` puts `{ast.unparse(part)}`{size.words} into the graph as a constant. "
                f"{LOOKED_UP if name in LOOKUPS else FED}"
            )
            yield RULE.finding(call.place, message, **outside_loops(call.where, confidence))
            break


def _parts(call: Call) -> Iterator[ast.expr]:
    for argument in call.node.args[:1]:
        if isinstance(argument, ast.Tuple | ast.List):
            yield from argument.elts
        elif isinstance(argument, ast.Dict):
            yield from argument.values
        else:
            yield argument


def _confidence(size: Size | None) -> Confidence | None:
    if size is None:
        return None
    if size.bytes is None:
        return "medium"
    return "high" if size.bytes >= LARGE else "medium" if size.bytes >= SOME else None


def diagnose(recording: Recording) -> Iterator[Finding]:
    for event in recording.of_kind("constant"):
        size = event.totals.get("bytes", 0.0)
        if not event.subject or size < WEIGHTY:
            continue
        together = [e for e in recording.of_kind("constant") if e.stack == event.stack]
        traces = [e for e in recording.events if e.kind.startswith("trace.") and e.stack == event.stack]
        preparing = sum(e.seconds for e in traces) / max(1, len(together))
        yield measured.told(
            RULE, recording, measured.at_line(event.subject), min(preparing, PREPARING * size),
            f"{words.plural(event.count, 'constant')} of {words.size(size / event.count)} became part of a graph here: "
            "a copy in each function, and more while it is prepared. Make it a tensor or a variable outside.",
            None,
            [Evidence("constants", size, "bytes")],
            bytes_per_step=COPIES * size,
            confidence="medium",
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.array_in_graph.mend import as_tensor
    from hotloop.rules.moving import not_found
    from hotloop.source.rewrite import Refused

    module = project.modules[finding.place.path]
    for scope in module.scopes:
        if not scope.is_function or not project.traced(Context(scope, None)):
            continue
        taken = [node for node, user in _used_whole(scope.node) if not _stays_python(user, scope, project)]
        named = [node for node in taken if place_of(module, node) == finding.place]
        if not finding.place.end_line:  # measured: a line is all that is known
            named = [n for n in taken if n.lineno == finding.place.line and _comes_from_outside(n, scope)]
        if len({ast.unparse(node) for node in named}) == 1:
            return as_tensor([node for node in taken if ast.unparse(node) == ast.unparse(named[0])], scope, project)
    if not finding.place.end_line:
        raise not_found(finding.place)
    raise Refused("in graph code it has to be fed through a placeholder, which changes every run: write it by hand")
