"""Build the ops once, with a placeholder for each value that changes, and feed those values to every run."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hotloop.model import Finding, Fix
from hotloop.rules.moving import mutated_names, tensorflow_name
from hotloop.rules.names import is_op
from hotloop.rules.once import Step, bound_names, extract, lift
from hotloop.rules.ops_in_loop import ASSIGNMENTS, Fetch, fetches
from hotloop.source.module import Call, Context, names_read
from hotloop.source.project import Project, loops_of
from hotloop.source.rewrite import Refused, Rewriter, substituted, without_blank_lines

# Ops whose first argument is a string tensor, so that a placeholder for it has a plain type.
TAKES_STRING = {
    "tf.read_file", "tf.decode_raw", "tf.io.decode_raw", "tf.image.decode_jpeg", "tf.image.decode_png",
    "tf.image.decode_image", "tf.image.decode_gif", "tf.image.decode_bmp", "tf.io.decode_jpeg", "tf.io.decode_png",
    "tf.io.decode_image", "tf.io.decode_gif", "tf.io.decode_bmp", "tf.decode_csv", "tf.io.decode_csv",
    "tf.parse_single_example", "tf.io.parse_single_example", "tf.string_split", "tf.image.decode_and_crop_jpeg",
}  # fmt: skip
# What they make depends on what the graph holds by then.
GATHERS = (
    "tf.global_variables", "tf.local_variables", "tf.trainable_variables", "tf.get_collection", "tf.summary.merge_all",
    "tf.report_uninitialized_variables", "tf.initialize_all_variables", "tf.tables_initializer",
)  # fmt: skip
MAKES_VARIABLES = re.compile(r"^tf\.(Variable|get_variable|layers\.|contrib\.)|^keras\.|\.(minimize|apply_gradients)$")
ASSIGNS = {"tf.assign", "tf.assign_add", "tf.assign_sub"}
CONVERTS = {"tf.constant", "tf.convert_to_tensor"}  # their dtype, where given, is the placeholder's


def build_once(finding: Finding, project: Project) -> Fix:
    # Several runs may fetch the same ops: the one with the most ops moves them all.
    at = (finding.place.path, finding.place.line)
    found = [(fetch, fetch.finding.place) for fetch in fetches(project)]
    same = [fetch for fetch, place in found if (place.path, place.line) == at]
    if not same or same[0].hidden:
        raise Refused("only ops that a call makes are moved; give this one a name before the loop by hand")
    plan = _Plan(max(same, key=lambda f: len(f.ops)), project)
    rewriter = Rewriter(project.modules[finding.place.path])
    plan.carry_out(rewriter)
    return rewriter.fix("build the ops once and feed what changes", "verify")


@dataclass
class _Placeholder:
    name: str
    kind: str  # the text of its dtype and shape
    value: str  # what is fed
    reads: set[str]


@dataclass
class _Plan:
    """Which statements move, which expressions become placeholders, which runs must feed them."""

    fetch: Fetch
    project: Project
    placeholders: list[_Placeholder] = field(default_factory=list)
    swaps: list[tuple[ast.expr, str]] = field(default_factory=list)  # expressions of moved ops -> name
    inline: list[tuple[ast.expr, str]] = field(default_factory=list)  # ops inside statements that stay -> new name
    attributes: list[tuple[str, str]] = field(default_factory=list)  # parameters for what is read of `self`
    tests: list[tuple[ast.expr, str]] = field(default_factory=list)  # conditions that become parameters

    def __post_init__(self) -> None:
        call, found = self.fetch.call, self.fetch.found
        self.scope = call.where.scope
        if any(home is not self.scope for home, _ in self.fetch.ops):
            raise Refused("the ops are built in another function than the one that runs them", self.fetch.ops[0][1])
        self.step = Step(self.scope, found.loop, found.chain, self.project)
        self.tf = tensorflow_name(self.scope)

    def carry_out(self, rewriter: Rewriter) -> None:
        moved = self._choose(rewriter)
        for statement in moved:
            self._feed(statement, rewriter)
            self._pass_attributes(statement, rewriter)
        for expr, _ in self.inline:
            self._feed(expr, rewriter)
            self._pass_attributes(expr, rewriter)
        self._refuse_gathering(moved)
        fed = frozenset(n for p in self.placeholders for n in p.reads) | frozenset(
            n for test, _ in self.tests for n in names_read(test)
        )
        swapped = [expr for expr, _ in (*self.swaps, *self.tests)]
        self.step.require_movable(moved, fed, swapped)
        for expr, _ in self.inline:
            self.step.require_no_fresh_calls(expr, swapped)
            self._require_same(expr, moved, fed)
        new = self._built(rewriter, moved)
        if self.step.chain:
            self._into_function(rewriter, moved, new)
        else:
            self._before_loop(rewriter, moved, new)

    def _require_same(self, op: ast.expr, moved: list[ast.stmt], fed: frozenset[str]) -> None:
        """What an op reads besides what it is fed is there before the step, and the same in each."""
        stay = [statement for statement in self.step.statements if statement not in moved]
        made = {name for statement in stay for name in bound_names(statement)}
        changed = {name for statement in stay for name in mutated_names(statement)}
        for name in sorted(names_read(op) - fed - {n for s in moved for n in bound_names(s)}):
            if self.step.varies(ast.Name(name, ast.Load())):
                raise Refused(f"the op needs `{name}`, which changes in each step and has no plain type", op)
            if name in made:
                raise Refused(f"the op needs `{name}`, which the step makes after it", op)
            if name in changed and not self.step.is_imported(name):
                raise Refused(f"the op needs `{name}`, which the step changes in place", op)

    # -- what moves ----------------------------------------------------------------------------------------------------

    def _choose(self, rewriter: Rewriter) -> list[ast.stmt]:
        """Op statements move whole; an op inside the statement that runs it moves as an expression of its own."""
        seeds: list[ast.stmt] = []
        module = self.scope.module
        for _, op in self.fetch.ops:
            statement = module.contexts[op].statement
            if statement is None or module.contexts[op].withs != self.step_withs():
                raise Refused("the ops stand in a block of their own inside the step", op)
            holder = self.step.holding(op)
            if holder is not statement and not isinstance(holder, ast.If):
                raise Refused("the ops stand in a nested block", op)
            if any(n is self.fetch.call.node for n in ast.walk(holder)) or self._runs(holder):
                if not any(op in ast.walk(done) for done, _ in self.inline):
                    self._inline(op, holder, rewriter)
            elif holder not in seeds:
                seeds.append(holder)
        seeds += [s for s in self._made_for_inline() if s not in seeds]
        fed = self._values([*seeds, *[expr for expr, _ in self.inline]])
        return self.step.needs(seeds, instead=frozenset(fed)) if seeds else []

    def _made_for_inline(self) -> list[ast.stmt]:
        """What the step makes for an op that stands inside a run, and does not feed to it."""
        found: list[ast.stmt] = []
        for expr, _ in self.inline:
            names = names_read(expr) - self._values([expr])
            read = {name for name in names if not self.step.varies(ast.Name(name, ast.Load()))}
            line = self.step.holding(expr).lineno
            found += [s for s in self.step.statements if s.lineno < line and read & bound_names(s)]
        return found

    def _refuse_gathering(self, moved: list[ast.stmt]) -> None:
        """An initializer that is made once knows nothing of the variables that a later step makes."""
        for part in (*moved, *[expr for expr, _ in self.inline]):
            gathers = next(
                (c for c in _calls(part) if self.project.name_of(c.func, self.scope).startswith(GATHERS)), None
            )
            if gathers is not None and (maker := self._makes_variables(moved)) is not None:
                name, made = ast.unparse(gathers.func), ast.unparse(maker.func)
                raise Refused(
                    f"`{name}` takes up what `{made}` may add to the graph in each step: mend that first", maker
                )

    def _makes_variables(self, moved: list[ast.stmt]) -> ast.Call | None:
        """A call of the step that stays and makes variables, or may, as a function of the project's own."""
        for call in (c for statement in self.step.statements if statement not in moved for c in _calls(statement)):
            value = self.project.resolve(call.func, self.scope)
            if value is not None and (value.scope is not None or MAKES_VARIABLES.search(value.name)):
                return call
        return None

    def step_withs(self) -> tuple[Any, ...]:
        return self.fetch.call.where.withs

    def _runs(self, holder: ast.stmt) -> bool:
        return any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("run", "eval")
            for n in ast.walk(holder)
        )

    def _inline(self, op: ast.Call, holder: ast.stmt, rewriter: Rewriter) -> None:
        outermost = op
        for node in ast.walk(holder):
            if isinstance(node, ast.Call) and self._is_op(node) and op in ast.walk(node):
                outermost = node
                break
        if any(outermost is done for done, _ in self.inline):
            return
        last = ast.unparse(outermost.func).rpartition(".")[2]
        kept = _kept_as(outermost, holder)
        wanted = f"{kept or last}_op" if kept or last in ASSIGNMENTS else last
        self.inline.append((outermost, rewriter.new_name(wanted, self.scope)))

    def _is_op(self, node: ast.Call) -> bool:
        name = self.project.name_of(node.func, self.scope)
        return is_op(name) or (name.rpartition(".")[2] in ASSIGNMENTS and name.startswith("tf."))

    # -- what is fed ---------------------------------------------------------------------------------------------------

    def _values(self, seeds: Sequence[ast.AST]) -> set[str]:
        """Names that only feed ops: what computes them stays in the step."""
        found: set[str] = set()
        for seed in seeds:
            for node in ast.walk(seed):
                if isinstance(node, ast.Call) and self._is_op(node) and (spot := self._spot(node)):
                    if self.step.varies(spot[0]):
                        found |= names_read(spot[0])
                if isinstance(node, ast.If) and self.step.varies(node.test):
                    found |= names_read(node.test)
        return found

    def _spot(self, op: ast.Call) -> tuple[ast.expr, str] | None:
        """The argument of an op that may become a placeholder, and the placeholder's dtype and shape."""
        name = self.project.name_of(op.func, self.scope)
        if name in TAKES_STRING and op.args:
            return op.args[0], f"{self.tf}.string, []"
        if name in CONVERTS and op.args:
            dtype = next((k.value for k in op.keywords if k.arg == "dtype"), op.args[1] if len(op.args) > 1 else None)
            return (op.args[0], ast.unparse(dtype)) if dtype is not None else None
        if name in ASSIGNS:  # `tf.assign(variable, value)`
            variable = ast.unparse(op.args[0]) if len(op.args) > 1 else ""
            return (op.args[1], f"{variable}.dtype, {variable}.shape") if variable else None
        if name.rpartition(".")[2] in ASSIGNMENTS and isinstance(op.func, ast.Attribute) and op.args:
            variable = ast.unparse(op.func.value)
            return op.args[0], f"{variable}.dtype, {variable}.shape"
        return None

    def _feed(self, node: ast.AST, rewriter: Rewriter) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.If) and self.step.varies(inner.test):
                if not self.step.chain:
                    raise Refused("which ops are built depends on the step", inner.test)
                self.tests.append((inner.test, rewriter.new_name(_test_name(inner.test), self.scope)))
            if not (isinstance(inner, ast.Call) and self._is_op(inner)):
                continue
            spot = self._spot(inner)
            if spot is None or not self.step.varies(spot[0]) or any(self._is_op(c) for c in _calls(spot[0])):
                continue
            if names_read(spot[0]) & {n for _, op in self.fetch.ops for n in self._results(op)}:
                continue
            converts = self.project.name_of(inner.func, self.scope) in CONVERTS
            self._add(spot[0], spot[1], inner if converts else spot[0], rewriter)

    def _pass_attributes(self, node: ast.AST, rewriter: Rewriter) -> None:
        """`self.size` in a method becomes a parameter of the function that builds the ops."""
        if not (self.step.chain and self.scope.is_method and self.scope.parameters):
            return
        swapped = {id(n) for expr, _ in self.swaps for n in ast.walk(expr)}
        for inner in ast.walk(node):
            if not (isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name)):
                continue
            if inner.value.id == self.scope.parameters[0] and id(inner) not in swapped:
                known = {text: name for name, text in self.attributes}
                text = ast.unparse(inner)
                name = known.get(text) or self._parameter(inner.attr, node, rewriter)
                if text not in known:
                    self.attributes.append((name, text))
                self.swaps.append((inner, name))

    def _parameter(self, wanted: str, node: ast.AST, rewriter: Rewriter) -> str:
        """A name that nothing in the new function has another use for."""
        module = self.scope.module.scope
        taken = wanted in module.bindings or wanted in self.scope.bindings or wanted in names_read(node)
        return rewriter.new_name(wanted, self.scope) if taken else wanted

    def _results(self, op: ast.Call) -> set[str]:
        statement = self.scope.module.contexts[op].statement
        return bound_names(statement) if isinstance(statement, ast.Assign) and statement is not None else set()

    def _require_still_there(self, value: ast.expr) -> None:
        """The value is fed where the run stands: it must not have changed since the op, nor cost anything twice."""
        for name in names_read(value):
            inside = [b for b in self.scope.bindings.get(name, []) if self.step.chain or self._in_step(b.where)]
            if len(inside) > 1:
                raise Refused(f"`{name}` gets another value within the step", value)
        for call in _calls(value):
            called = self.project.name_of(call.func, self.scope)
            if not called.startswith(("os.path.", "str")) and len(self._all_runs()) > 1:
                raise Refused(f"`{ast.unparse(call)}` would be computed for each of several runs", value)

    def _in_step(self, where: Context) -> bool:
        return self.step.loop in loops_of(where)

    def _add(self, value: ast.expr, kind: str, replaced: ast.expr, rewriter: Rewriter) -> None:
        self._require_still_there(value)
        text = rewriter.code(rewriter.expression(value))
        known = next((p for p in self.placeholders if p.value == text and p.kind == kind), None)
        if known is None:
            base = value.id if isinstance(value, ast.Name) else "value"
            known = _Placeholder(rewriter.new_name(f"{base}_input", self.scope), kind, text, names_read(value))
            if any(p.name == known.name for p in self.placeholders):
                known.name = f"{known.name}_{len(self.placeholders) + 1}"
            self.placeholders.append(known)
        self.swaps.append((replaced, known.name))

    # -- writing it ----------------------------------------------------------------------------------------------------

    def _built(self, rewriter: Rewriter, moved: list[ast.stmt]) -> list[Any]:
        """The new building code: placeholders, the moved statements, the ops that stood inside a run."""
        lines: list[Any] = []
        for placeholder in self.placeholders:
            maker = f"{self.tf}.placeholder" if self._v1() else f"{self.tf}.compat.v1.placeholder"
            lines += rewriter.parse_block(f"{placeholder.name} = {maker}({placeholder.kind})")
        for statement in moved:
            lines.append(without_blank_lines(self._swapped(rewriter.statement(statement), statement, rewriter)))
        for expr, name in self.inline:
            node = self._swapped(rewriter.expression(expr), expr, rewriter)
            lines += rewriter.parse_block(f"{name} = {rewriter.code(node)}")
        return lines

    def _v1(self) -> bool:
        for bindings in self.scope.module.scope.bindings.get(self.tf, []):
            if bindings.imported in ("tensorflow.compat.v1", "tensorflow.compat.v1.compat.v1"):
                return True
        return False

    def _swapped(self, node: Any, root: ast.AST, rewriter: Rewriter) -> Any:
        inside = set(map(id, ast.walk(root)))
        swaps = [(rewriter.expression(e), name) for e, name in (*self.swaps, *self.tests) if id(e) in inside]
        return substituted(node, {old: [rewriter.parse_expression(name)] for old, name in swaps})

    def _before_loop(self, rewriter: Rewriter, moved: list[ast.stmt], new: list[Any]) -> None:
        changed = self._changed_runs(rewriter)
        outer = set(map(id, self.step.loop.where.withs))
        blocks = [w for w in self.step_withs() if id(w) not in outer]
        if blocks:
            raise Refused("the ops stand in a `with` block inside the loop: move that out first", blocks[0])
        changes = {old: [fresh] for old, fresh in changed}
        lift(rewriter, self.step, moved, [], lambda statement: substituted(statement, changes), new, drop=True)

    def _into_function(self, rewriter: Rewriter, moved: list[ast.stmt], new: list[Any]) -> None:
        for old, fresh in self._changed_runs(rewriter):
            rewriter.replace(old, fresh)
        seeds = moved or [self.step.holding(self.fetch.call.node)]
        gone = {id(n) for expr, _ in self.inline for n in ast.walk(expr)}
        stay = [n for s in self.step.statements if s not in moved for n in ast.walk(s) if id(n) not in gone]
        later = {n.id for n in stay if isinstance(n, ast.Name)}
        results = sorted({n for s in moved for n in bound_names(s)} & later)
        results += [p.name for p in self.placeholders] + [name for _, name in self.inline]
        if not moved:
            raise Refused("the ops stand inside the call that runs them: give them names first", seeds[0])
        arguments = [*self.attributes]
        arguments += [(name, rewriter.code(rewriter.expression(test))) for test, name in self.tests]
        fed = {n for p in self.placeholders for n in p.reads} | {n for t, _ in self.tests for n in names_read(t)}
        fed |= {self.scope.parameters[0]} if self.attributes else set()
        extract(rewriter, self.step, moved, f"build_{self.scope.name}_ops", results, new, arguments, without=fed)

    def _changed_runs(self, rewriter: Rewriter) -> list[tuple[Any, Any]]:
        """Every run of the step, with what it must be fed and the names of ops that stood inside it."""
        changed: list[tuple[Any, Any]] = []
        for call in self._all_runs():
            node: Any = rewriter.expression(call.node)
            here = [(e, name) for e, name in self.inline if any(n is e for n in ast.walk(call.node))]
            fresh = substituted(node, {rewriter.expression(e): [rewriter.parse_expression(name)] for e, name in here})
            if self.placeholders:
                fresh = _fed(fresh, call, {p.name: p.value for p in self.placeholders}, rewriter)
            if here or self.placeholders:
                changed.append((node, fresh))
        return changed

    def _all_runs(self) -> list[Call]:
        """The runs that fetch what moved: other runs of the step are left alone."""
        mine = {id(op) for _, op in self.fetch.ops}
        found = [f.call for f in fetches(self.project) if {id(op) for _, op in f.ops} & mine]
        return [call for call in found if call.where.scope is self.scope]


def _fed(run: Any, call: Call, values: dict[str, str], rewriter: Rewriter) -> Any:
    """The run with the values added to what it feeds already."""
    pairs = ", ".join(f"{name}: {value}" for name, value in values.items())
    method = call.node.func.attr if isinstance(call.node.func, ast.Attribute) else ""
    position = 0 if method == "eval" else 1
    for index, argument in enumerate(run.args):
        word = argument.keyword.value if argument.keyword is not None else None
        if word == "feed_dict" or (word is None and index == position):
            old = rewriter.code(argument.value).strip()
            given = old[1:-1].rstrip().rstrip(",")
            plain = _is_dict(call, position)
            merged = f"{{{given + ', ' if given else ''}{pairs}}}" if plain else f"{{**({old}), {pairs}}}"
            new = argument.with_changes(value=rewriter.parse_expression(merged))
            return run.with_changes(args=[*run.args[:index], new, *run.args[index + 1 :]])
    import libcst

    keyword = any(a.keyword is not None for a in run.args)
    extra = libcst.parse_expression(f"f({'feed_dict=' if keyword else ''}{{{pairs}}})")
    return run.with_changes(args=[*run.args, *extra.args])  # type: ignore[attr-defined]


def _is_dict(call: Call, position: int) -> bool:
    return isinstance(call.argument(position, "feed_dict"), ast.Dict)


def _kept_as(op: ast.Call, holder: ast.stmt) -> str:
    """`error` of `error = sess.run(op)`, or of `_, error = sess.run([train, op])`; else ""."""
    match holder:
        case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(attr="run"), args=[fetched, *_])):
            several = isinstance(target, ast.Tuple | ast.List) and isinstance(fetched, ast.Tuple | ast.List)
            targets = target.elts if several else [target]  # type: ignore[attr-defined]
            values = fetched.elts if several else [fetched]  # type: ignore[attr-defined]
            names = (t.id for t, v in zip(targets, values, strict=False) if v is op and isinstance(t, ast.Name))
            return next(names, "").strip("_")
    return ""


def _test_name(test: ast.expr) -> str:
    """`file_name.endswith(".png")` -> `endswith_png`."""
    words = [n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute)][:1]
    words += re.findall(r"\w+", " ".join(str(n.value) for n in ast.walk(test) if isinstance(n, ast.Constant)))
    name = "_".join(words)
    return name if name.isidentifier() and len(name) <= 30 else "case"


def _calls(node: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Call)]
