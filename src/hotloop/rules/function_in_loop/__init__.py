"""A `tf.function` is created in every step of a loop, so every step traces and compiles it again.

**Why**

A `tf.function` remembers its traces in itself. A new one, even of the same Python function, remembers nothing: the
step traces the Python code, builds and optimises a graph and runs it once. That is slower than never compiling at all.

**Instead**

Create it once, before the loop (or at module level), and pass what changes as tensor arguments.

**Not when**

One function per task, per model or per configuration is right when each is then called many times. A function that
closes over a value the loop changes would keep the first value if it were only moved: a tensor or a number becomes an
argument of it, and anything else is reported but not mended; pass it as an argument first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop.model import Event, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named, spelled_like
from hotloop.rules.loops import InLoop, each, in_loop
from hotloop.source.module import Call, Context, Scope, place_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)

# Library code that makes functions of its own accord, whatever the user does.
LIBRARY_MADE = ("tensorflow/python/data", *measured.KERAS_STEP)
MAKERS = frozenset({"tf.function", "tf.function()"})
MESSAGE = "is a new `tf.function` {each}, traced again each time. Create it once, before the loop."


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        decorators = {id(d) for scope in module.scopes for d in scope.decorators}
        for scope in module.scopes:
            if scope.is_function and not scope.is_method and scope.where and project.is_compiled(scope):
                yield from _said(_decorator(scope, project), scope.where, scope.name, project)
        for call, _ in named(module, project, MAKERS):
            if call.node.args and id(call.node) not in decorators and not _is_steps_own(call):
                yield from _said(call.node, call.where, ast.unparse(call.node.args[0]), project)
        for call in spelled_like(module, project, _may_be_class):
            if call.where.loop is not None and isinstance(call.where.statement, ast.Assign | ast.Expr | ast.AugAssign):
                yield from _object_per_step(call, project)


def _is_steps_own(call: Call) -> bool:
    """`[tf.function(m.train) for m in models]`: one for each, of something else each time."""
    wrapped: ast.expr = call.node.args[0]
    while isinstance(wrapped, ast.Attribute):
        wrapped = wrapped.value
    loop = call.where.loop
    return loop is not None and isinstance(wrapped, ast.Name) and wrapped.id in loop.targets


def _decorator(scope: Scope, project: Project) -> ast.expr:
    home = scope.parent or scope.module.scope
    for decorator in scope.decorators:
        bare = decorator.func if isinstance(decorator, ast.Call) else decorator
        if project.name_of(bare, home) in ("tf.function", "functools.partial"):
            return decorator
    return scope.decorators[0]


def _said(node: ast.expr, where: Context, name: str, project: Project) -> Iterator[Finding]:
    found = in_loop(project, where)
    if found and _reused_inside(where, found):
        found = None if found.chain or _is_of_its_step(node, where, found, project) else found.lowered()
    if found:
        place = place_of(where.scope.module, node)
        short = name if len(name) <= 40 else name[:37] + "..."
        yield RULE.finding(place, f"`{short}` {MESSAGE.format(each=each(found, place))}", **found.where)


def _reused_inside(where: Context, found: InLoop) -> bool:
    """Made in an outer loop, or per call, and called in a loop within it: one per task, many calls each."""
    if not found.chain and found.loop is not where.loop:
        return False
    bound = _bound_name(where)
    if bound is None:
        return False
    for call in where.scope.module.calls:
        called = isinstance(call.node.func, ast.Name) and call.node.func.id == bound
        if called and call.where.scope is where.scope and call.where.loop not in (None, where.loop):
            return True
    return False


def _is_of_its_step(node: ast.expr, where: Context, found: InLoop, project: Project) -> bool:
    """Whether it needs what the step makes or changes, its own model say: else one for all steps would do."""
    from hotloop.rules.moving import change_of, needs

    definition = where.statement if isinstance(where.statement, ast.FunctionDef | ast.AsyncFunctionDef) else node
    return any(change_of(name, owner, found.loop) for name, owner in needs([definition], where.scope, project).items())


def _bound_name(where: Context) -> str | None:
    statement = where.statement
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return statement.name
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def _may_be_class(last: str) -> bool:
    return last.lstrip("_")[:1].isupper()


def _object_per_step(call: Call, project: Project) -> Iterator[Finding]:
    """An object made in the loop whose compiled method is called there: each object compiles its own."""
    made = project.at_sight(call.node.func, call.where.scope)
    if made is None or made.kind != "class" or made.scope is None:
        return
    inside = made.scope.module.read_decorated().scopes
    methods = {s.name for s in inside if s.parent is made.scope and project.is_compiled(s)}
    if not methods:
        return
    for use in call.where.scope.module.calls:
        func = use.node.func
        method = func.attr if isinstance(func, ast.Attribute) else "__call__"
        if method not in methods or use.where.scope is not call.where.scope:
            continue
        owner = project.resolve(func.value if isinstance(func, ast.Attribute) else func, use.where.scope)
        if owner and owner.kind == "object" and owner.scope is made.scope and use.where.loop is call.where.loop:
            found = in_loop(project, call.where)
            if found:
                name = f"{made.scope.name}.{method}"
                message = f"`{name}` {MESSAGE.format(each=each(found, call.place))}"
                yield RULE.finding(call.place, message, **found.where)
            return


def diagnose(recording: Recording) -> Iterator[Finding]:
    by_site: dict[str, list[Event]] = {}
    for event in recording.of_kind("trace.new-function"):
        example = event.examples[-1] if event.examples else {}
        made_by_library = str(example.get("defined", "")).startswith(LIBRARY_MADE)
        if example.get("created") and (example.get("user_defined") or not made_by_library):
            by_site.setdefault(str(example["created"]), []).append(event)
    for site, events in by_site.items():
        for at in measured.recurring(recording, events):
            name = at.events[0].subject
            seconds = max(at.seconds, measured.sampled(recording, [at.place], "trace") * at.count / (at.count + 1))
            yield measured.finding(
                RULE, recording, at, seconds,
                f"`{name}` was created anew and traced {at.often} {{cost}}. Create it once, before the loop.",
                measured.at_line(site),
                [Evidence("traces", at.count), Evidence("each", at.seconds / at.count, "s")],
            )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.function_in_loop.hoist import hoist

    return hoist(finding, project)
