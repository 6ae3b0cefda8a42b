"""A `tf.function` is called in a loop with a Python object that is new each time, and is traced again for each.

**Why**

A `tf.function` is compiled for the very objects it is given, tensors and arrays apart. A lambda written in the call, a
settings object made in the step, a list or dict of numbers that change, a string with the step in it: each is one that
it has not seen, so it traces the whole function again, and keeps every trace.

**Instead**

Make functions and objects once, before the loop, and pass the same ones each time. Pass numbers and strings as tensors
(`tf.constant(path)`), a list of numbers as one array, an object of numbers as a `tf.experimental.ExtensionType`.

**Not when**

The object takes two or three values, or the function has to be another Python function each time. The fix leaves alone
an object that the step changes, a function whose Python must run in each step, and text that the function needs as
Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.compiled import arguments, compiled_callee, has_signature, may_be_compiled
from hotloop.rules.loops import InLoop, each, in_loop
from hotloop.source.flow import changing_number, varies
from hotloop.source.flow import in_loop as stands_in
from hotloop.source.module import Binding, Call, Context, Loop, Scope
from hotloop.source.project import loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

KNOWN_BASES = {"typing.NamedTuple", "NamedTuple", "tuple", "list", "dict"}  # looked into, so that tensors stay tensors
KNOWN_DECORATORS = {"attr.s", "attr.attrs", "attr.define", "attrs.define", "attrs.frozen", "attr.frozen"}
PROTOCOL = {"__tf_tracing_type__", "__tf_flatten__"}
LISTINGS = {"os.listdir", "glob.glob", "glob.iglob", "tf.io.gfile.glob", "tf.io.gfile.listdir", "tf.gfile.Glob"}
TEXT_CALLS = {"str", "os.path.join", "repr"}
PASSED_THROUGH = {"sorted", "list", "enumerate", "reversed", "set", "tqdm.tqdm", "tqdm", "tqdm.auto.tqdm"}


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in may_be_compiled(module, project):
            target = compiled_callee(call, project)
            if target is None or has_signature(call, target.scope, project):
                continue
            found = in_loop(project, call.where)
            if found is not None:
                yield from _fresh(call, target.scope, found, project)


def _fresh(call: Call, callee: Scope | None, found: InLoop, project: Project) -> Iterator[Finding]:
    for _, name, what, cure in fresh_arguments(call, callee, found, project):
        message = (
            f"`{ast.unparse(call.node.func)}` is a `tf.function` and its argument `{name}` is {what} "
            f"{each(found, call.place)}: each is traced anew. {cure}"
        )
        yield RULE.finding(call.place, message, **found.where)
        return


def fresh_arguments(
    call: Call, callee: Scope | None, found: InLoop, project: Project
) -> Iterator[tuple[ast.expr, str, str, str]]:
    """Each argument that is new in each step: itself, its name, what it is, and what to do about it."""
    for argument, name in arguments(call, callee):
        what, cure = _Freshness(found, project).of(argument, call.where)
        if what:
            yield argument, name, what, cure


ONCE = "Make it once, before the loop."
TENSOR = "Pass a tensor."
NOTHING = ("", "")


class _Freshness:
    """What kind of new Python object an argument is in each step, in words, and what to do instead; or nothing."""

    def __init__(self, found: InLoop, project: Project) -> None:
        self.found, self.project = found, project

    def of(self, expr: ast.expr, where: Context) -> tuple[str, str]:
        match expr:
            case ast.Lambda():
                return "a new lambda", ONCE
            case ast.Name():
                return self._name(expr.id, where)
            case ast.Call():
                return self._call(expr, where)
            case ast.List() | ast.Tuple() | ast.Dict() | ast.Set():
                parts = [*expr.keys, *expr.values] if isinstance(expr, ast.Dict) else expr.elts
                if any(changing_number(part, where, self.project) for part in parts if part is not None):
                    return f"a {type(expr).__name__.lower()} with a Python number that changes", TENSOR
                inner = (self.of(part, where) for part in parts if part is not None)
                return next((said for said in inner if said[0]), NOTHING)
            case ast.ListComp(elt=ast.Call() as made):
                if self.project.name_of(made.func, where.scope) in ("float", "int") and self._changes(expr, where):
                    return "a new list of Python numbers", TENSOR
            case ast.JoinedStr():
                if self._changes(expr, where):
                    return "a string that changes", TENSOR
            case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr()) if self._changes(expr, where):
                return "a string that changes", TENSOR
        return NOTHING

    def _call(self, expr: ast.Call, where: Context) -> tuple[str, str]:
        value = self.project.resolve(expr.func, where.scope)
        name = value.name if value else ""
        if value is not None and value.kind == "class" and value.scope is not None:
            if not self._is_looked_into(value.scope):
                return f"a new `{value.scope.name}`", ONCE
        if name == "functools.partial":
            return "a new `functools.partial`", ONCE
        method = expr.func.attr if isinstance(expr.func, ast.Attribute) else ""
        text = isinstance(expr.func, ast.Attribute) and isinstance(expr.func.value, ast.Constant)
        if (name in TEXT_CALLS or (method == "format" and text)) and self._changes(expr, where):
            return "a string that changes", TENSOR
        if method == "tolist" and self._changes(expr, where):
            return "a new list of Python numbers", "Pass the array."
        return NOTHING

    def _is_looked_into(self, owner: Scope) -> bool:
        """Classes that TensorFlow takes apart, or that say themselves when they are equal."""
        names = set(self.project.ancestry(owner))
        if names & KNOWN_BASES or any(n.startswith(("tf.", "keras.", "collections.", "enum.")) for n in names):
            return True
        home = owner.parent or owner.module.scope
        bare = [d.func if isinstance(d, ast.Call) else d for d in owner.decorators]
        if any(self.project.name_of(d, home) in KNOWN_DECORATORS for d in bare):
            return True
        return bool(PROTOCOL & owner.bindings.keys()) or self._is_unknown(owner)

    def _is_unknown(self, owner: Scope) -> bool:
        """A base that source does not show may be anything."""
        node = owner.node
        return isinstance(node, ast.ClassDef) and len(self.project.bases(owner)) < len(node.bases)

    def _name(self, name: str, where: Context) -> tuple[str, str]:
        bindings = [b for b in where.scope.bindings.get(name, []) if self._in_step(b)]
        if not bindings or len(where.scope.bindings[name]) != len(bindings):
            return NOTHING
        binding = bindings[-1]
        if binding.kind == "def":
            return f"the function `{name}`, defined anew", ONCE
        if binding.kind == "target" and self._is_text(binding.where.loop):
            return "a string that changes", TENSOR
        if binding.kind == "assign" and binding.value is not None and len(bindings) == 1:
            if not isinstance(binding.value, ast.Name):
                return self.of(binding.value, binding.where)
        return NOTHING

    def _in_step(self, binding: Binding) -> bool:
        return bool(self.found.chain) or stands_in(binding.where, self.found.loop)

    def _is_text(self, loop: Loop | None) -> bool:
        """`for path in glob.glob(...)`."""
        if loop is None:
            return False
        iterable, scope = loop.iterable, loop.where.scope
        while iterable is not None:
            if isinstance(iterable, ast.Name):
                known = self.project.literal(iterable.id, scope)
                iterable, scope = known if known else (None, scope)
                continue
            called = self.project.name_of(iterable.func, scope) if isinstance(iterable, ast.Call) else ""
            if called in LISTINGS:
                return True
            iterable = iterable.args[0] if isinstance(iterable, ast.Call) and called in PASSED_THROUGH else None
        return False

    def _changes(self, expr: ast.expr, where: Context) -> bool:
        """In the step's own loop: what a caller's loop changes is seen there."""
        loops = list(loops_of(where))
        return self.found.loop in loops and varies(expr, where.scope, self.found.loop, (), self.project)


def diagnose(recording: Recording) -> Iterator[Finding]:
    changed = [e for e in recording.of_kind("trace.value", "trace.other") if e.examples and _is_object(e.examples[-1])]
    return measured.retraced(RULE, recording, changed, _told)


def _told(at: measured.Recurring, last: Mapping[str, Any]) -> str:
    return (
        f"again {at.often} {{cost}}: argument `{last.get('argument')}` is another Python object each time "
        f"(`{last.get('now')}`). Make it once, before the loop, or pass a tensor."
    )


def _is_object(example: Mapping[str, object]) -> bool:
    """Numbers are another ailment, with another cure."""
    try:
        float(str(example.get("now")))
    except ValueError:
        return True
    return False


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.python_object_argument.mend import same_object_or_tensor

    return same_object_or_tensor(finding, project)
