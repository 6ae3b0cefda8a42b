"""Ops are added to a TensorFlow graph in every step of a loop.

**Why**

In graph mode `tf.reduce_sum(x)`, `tf.image.decode_jpeg(data)` or `v.assign(1)` computes nothing: it adds a node to the
graph. In a loop the graph grows, each `session.run` finds a graph it has not seen and prepares it again, and that costs
more the larger the graph has become: every step is slower than the last. Nothing warns about it.

**Instead**

Build the ops once, before the loop, with a `tf.placeholder` for what changes, and feed the value:
`sess.run(decoded, {path_input: path})`.

**Not when**

The loop is what builds the graph (layers in a `for`), and runs before the session does. An op for each epoch beside
a loop that runs the session for each batch costs little: it is of medium confidence. The fix gives a placeholder
only to a value whose type is plain from the op that takes it; ops under an `if` that depends on the step stay.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Evidence, Finding, Fix, Place, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named
from hotloop.rules.loops import InLoop, each, in_loop
from hotloop.rules.names import SESSION_OBJECTS, is_op
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.guards import every
from hotloop.source.heat import SOME, number, trips
from hotloop.source.module import Call, Scope, place_of
from hotloop.source.project import argument_for, loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

ASSIGNMENTS = {"assign", "assign_add", "assign_sub", "minimize"}  # methods that make ops
SAVERS = {"tf.train.Saver"}
NEW_GRAPHS = {"Graph", "reset_default_graph"}  # nothing grows: all is built again, which is another matter
FRESH_GRAPHS = {"import_meta_graph", "clear_session"}
SUMMARIES = re.compile(r"^tf\.summary\.(audio|histogram|image|merge|merge_all|scalar|tensor_summary|text)$")
# What is surely one tensor, not a list of them: `y[0]` and `y * 2` then make an op.
TENSORS = re.compile(
    r"^tf\.(placeholder|Variable|get_variable|constant|matmul|reshape|concat|stack|cast|transpose|gather|one_hot|squeeze"
    r"|expand_dims|add|subtract|multiply|square|sqrt|exp|log|sigmoid|tanh|argmax|layers\.\w+|reduce_\w+|math\.\w+"
    r"|nn\.(relu|softmax|sigmoid|tanh|conv2d|max_pool|bias_add|dropout|embedding_lookup|l2_loss|\w*cross_entropy\w*))\(\)$"
)


def check(project: Project) -> Iterator[Finding]:
    found = list(fetches(project))
    for fetch in found:
        if not any(fetch.is_part_of(other) for other in found):
            yield fetch.finding
    yield from _savers(project)


def _savers(project: Project) -> Iterator[Finding]:
    """A saver adds an op or two for every variable; a fresh graph in each step is another matter."""
    for module in project.modules.values():
        for call, _ in named(module, project, SAVERS):
            found = in_loop(project, call.where)
            if found and not _reaches(FRESH_GRAPHS | NEW_GRAPHS, call, found):
                message = (
                    f"A saver is made {each(found, call.place)}, and adds its ops to the graph each time. "
                    "Make it once, before the loop."
                )
                yield RULE.finding(call.place, message, **found.where)


def _reaches(attributes: set[str], call: Call, found: InLoop) -> bool:
    """Whether the step, or the function in it that makes the call, names one of these."""
    bodies = [found.loop.node, *([call.where.scope.node] if found.chain else [])]
    return any(isinstance(n, ast.Attribute) and n.attr in attributes for body in bodies for n in ast.walk(body))


@dataclass(frozen=True)
class Fetch:
    """A `session.run` or `eval` in a loop whose step built the ops that it fetches."""

    call: Call
    found: InLoop
    ops: list[tuple[Scope, ast.Call]]
    hidden: list[tuple[Scope, ast.expr]]  # slices and arithmetic, where there is no other op
    test: ast.expr | None  # what lets it run once in so many steps

    def is_part_of(self, other: Fetch) -> bool:
        """Whether another run of the same step fetches all of these ops and more: one finding is enough."""
        if self.found.loop is not other.found.loop or not 0 < len(self.ops) < len(other.ops):
            return False
        others = {id(op) for _, op in other.ops}
        return all(id(op) in others for _, op in self.ops)

    @property
    def finding(self) -> Finding:
        return _finding([*self.ops, *self.hidden], self.found, self.test)


def fetches(project: Project) -> Iterator[Fetch]:
    for module in project.modules.values():
        for call in module.calls_of("run", "eval"):
            fetched = _fetched(call, project)
            if fetched is None:
                continue
            found, test = in_loop(project, call.where), None
            if found is None:
                found, test = _at_times(call, project)
            if found is None or _reaches(NEW_GRAPHS, call, found):
                continue
            found = found.lowered() if _is_between_passes(call, found) else found
            built = _Ops(found, project)
            built.follow(fetched, call.where.scope, found.chain)
            if built.ops or built.hidden:
                yield Fetch(call, found, built.ops, [] if built.ops else built.hidden, test)


def _at_times(call: Call, project: Project) -> tuple[InLoop | None, ast.expr | None]:
    """The loop that runs it once in so many steps, and the test that lets it."""
    found = in_loop(project, call.where, at_times=True)
    if found is None:
        return None, None
    for at in (call, *found.chain):
        for choice in at.where.scope.module.index.choices:
            period = every(choice.test, at.where.scope) if choice.test in at.where.tests else None
            if period is None or any(node is at.node for part in choice.orelse for node in ast.walk(part)):
                continue
            few = _adds_few(number(period, at.where.scope, project), found, project)
            return (None, None) if few else (found.lowered(), choice.test)
    return None, None


def _adds_few(apart: float | None, found: InLoop, project: Project) -> bool:
    """Whether the loops have too few steps for what is added once in so many of them to matter."""
    known = [steps for loop in (found.loop, *loops_of(found.loop.where)) if (steps := trips(loop, project))]
    return bool(known) and (not apart or math.prod(known) / apart < SOME)


def _is_between_passes(call: Call, found: InLoop) -> bool:
    """Once for each epoch: a loop inside the same step runs the session for every batch."""
    runs = found.loop.where.scope.module.calls_of("run")
    inner = {run.where.loop for run in runs if found.loop in list(loops_of(run.where))[1:]}
    return bool(inner) and not inner.intersection(loops_of(call.where))


def _finding(ops: Sequence[tuple[Scope, ast.expr]], found: InLoop, test: ast.expr | None) -> Finding:
    scope, first = min(ops, key=lambda op: (op[0].module.path, op[1].lineno, op[1].col_offset))
    last = max((node.end_lineno or node.lineno for home, node in ops if home is scope), default=first.lineno)
    begin = place_of(scope.module, first)
    place = Place(begin.path, begin.line, begin.col, max(last, begin.end_line), 0)
    count = "An op is" if len(ops) == 1 else f"{len(ops)} ops are"
    often = each(found, place)
    if test is not None:
        often = often.replace("in every step of", f"each time that `{ast.unparse(test)}` in", 1)
    message = f"{count} added to the graph {often}. Build them once and feed what changes."
    return RULE.finding(place, message, **found.where)


def _fetched(call: Call, project: Project) -> ast.expr | None:
    """What a `session.run(fetches)` or `tensor.eval()` fetches; None for any other call."""
    func = call.node.func
    if not isinstance(func, ast.Attribute):
        return None
    if func.attr == "eval":
        return func.value
    if func.attr != "run":
        return None
    receiver = project.resolve(func.value, call.where.scope)
    known = receiver is not None and receiver.name in SESSION_OBJECTS
    likely = receiver is None and re.search(r"sess", ast.unparse(func.value).lower()) is not None
    return call.argument(0, "fetches") if known or likely else None


class _Ops:
    """The ops that one step builds for what it fetches: followed through locals, parameters and calls."""

    def __init__(self, found: InLoop, project: Project) -> None:
        self.found, self.project = found, project
        self.seen: set[ast.AST] = set()
        self.ops: list[tuple[Scope, ast.Call]] = []
        self.hidden: list[tuple[Scope, ast.expr]] = []

    def follow(self, expr: ast.expr, scope: Scope, chain: tuple[Call, ...]) -> None:
        if expr in self.seen:
            return
        self.seen.add(expr)
        for node in ast.walk(expr):
            if isinstance(node, ast.Call):
                self._call(node, scope)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._name(node.id, scope, chain)
            elif isinstance(node, ast.Subscript | ast.BinOp) and self._is_symbolic(node, scope):
                self.hidden.append((scope, node))

    def _call(self, node: ast.Call, scope: Scope) -> None:
        value = self.project.resolve(node.func, scope)
        if value is None:
            return
        last = value.name.rpartition(".")[2]
        if is_op(value.name) or SUMMARIES.match(value.name) or (last in ASSIGNMENTS and value.name.startswith("tf.")):
            self.ops.append((scope, node))
        elif value.kind == "function" and value.scope is not None and value.scope.node not in self.seen:
            if not self.project.is_cached(value.scope):
                self.seen.add(value.scope.node)
                for returned in value.scope.returns:
                    self._inside(returned, value.scope)

    def _is_symbolic(self, node: ast.Subscript | ast.BinOp, scope: Scope) -> bool:
        parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        return any(TENSORS.match(self.project.name_of(part, scope)) for part in parts)

    def _inside(self, expr: ast.expr, scope: Scope) -> None:
        """In a function that the step calls every local binding belongs to the step."""
        for node in ast.walk(expr):
            if isinstance(node, ast.Call):
                self._call(node, scope)
            elif isinstance(node, ast.Name):
                for binding in scope.bindings.get(node.id, []):
                    if binding.value is not None and binding.value not in self.seen:
                        self.seen.add(binding.value)
                        self._inside(binding.value, scope)

    def _name(self, name: str, scope: Scope, chain: tuple[Call, ...]) -> None:
        for binding in scope.bindings.get(name, []):
            if binding.kind == "parameter" and chain:
                argument = argument_for(chain[-1], scope, name)
                if argument is not None:
                    self.follow(argument, chain[-1].where.scope, chain[:-1])
            elif binding.value is not None and (chain or stands_in(binding.where, self.found.loop)):
                self.follow(binding.value, scope, chain)
        if scope.bindings.get(name):
            self._appended(name, scope, chain)

    def _appended(self, name: str, scope: Scope, chain: tuple[Call, ...]) -> None:
        """What the step puts into a list."""
        for call in scope.module.calls_of("append"):
            func = call.node.func
            if call.where.scope is scope and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
                if func.value.id == name and (chain or stands_in(call.where, self.found.loop)):
                    for argument in call.node.args:
                        self.follow(argument, scope, chain)


def diagnose(recording: Recording) -> Iterator[Finding]:
    built: dict[tuple[Place, tuple[Place, ...]], list[measured.Recurring]] = {}
    for at in measured.recurring(recording, recording.of_kind("ops")):
        key = (at.loop.place, at.events[0].stack[1:])  # one function in one loop
        built.setdefault(key, []).append(at)
    for group in built.values():
        found = _grown(recording, group)
        if found:
            yield found


def _grown(recording: Recording, group: list[measured.Recurring]) -> Finding | None:
    """Ops that each step builds and a session then runs; a loop that only builds a graph is none of our business."""
    run = group[0].loop
    cold = [e for e in recording.of_kind("session.cold") if measured.is_in(recording, run, e.stack)]
    if not cold:
        return None
    lines = [at.place for at in group]
    first = min(lines, key=lambda place: place.line)
    place = Place(first.path, first.line, 0, max(p.line for p in lines), 0)
    made = {str(at.place) for at in measured.recurring(recording, recording.of_kind("session"))}
    kept = [e for e in cold if e.subject not in made and e.totals.get("grown", 0.0) > 0]
    prepared = sum(e.seconds for e in kept) + measured.growth_seconds([e for e in cold if e.subject in made])
    building = max(measured.sampled(recording, lines, "trace"), sum(at.seconds for at in group))
    ops = sum(at.count for at in group)
    whole = measured.Recurring(run, tuple(e for at in group for e in at.events))
    per_step = round(ops / run.steps, 1)
    each = f"{words.count(per_step)} ops were added to the graph in each of {words.plural(run.steps, 'step')}"
    some = f"{words.plural(ops, 'op')} were added to the graph in the course of {words.plural(run.steps, 'step')}"
    return measured.finding(
        RULE, recording, whole, (building + prepared) * (run.steps - 1) / run.steps,
        f"{each if per_step >= 1 else some} {{cost}}. Build them once and feed what changes.",
        place,
        [Evidence("ops added", ops), Evidence("preparing again", prepared, "s"), Evidence("building", building, "s")],
    )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.ops_in_loop.mend import build_once

    return build_once(finding, project)
