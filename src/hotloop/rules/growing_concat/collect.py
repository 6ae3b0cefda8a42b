"""The fix: append the parts to a list in the loop, and put them together once, after it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.growing_concat.growth import Growth, grown, growths, has_begun, is_graph_code
from hotloop.rules.growing_concat.sharing import refuse_shared
from hotloop.rules.growing_concat.tensor_array import loop_options, write_into_array
from hotloop.rules.hoisting import free_name
from hotloop.rules.moving import put_before, statements_around
from hotloop.source.module import Context, Loop, Scope, place_of
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

LISTED = ("values", "arrays", "xs")


@dataclass(frozen=True)
class Plan:
    """What is to be done: the statement that grows `name`, what it adds, and how the loop begins."""

    growth: Growth
    name: str
    loop: ast.For | ast.While  # the outermost in which it keeps growing
    added: list[ast.expr]
    in_front: bool  # the new part goes before what is there
    replaced: ast.stmt  # the growth, or the `if` that tells the first part from the others
    begins_with: str  # "value", "none" or "first"
    compiled: bool  # the loop becomes one of a graph


def collect(finding: Finding, project: Project) -> Fix:
    module = project.modules[finding.place.path]
    known = list(growths(module, project))
    growth = next((g for g in known if place_of(module, g.statement) == finding.place), None)
    if growth is None:
        raise Refused("the source is no longer what was checked")
    if growth.kind == "table":
        raise Refused("the types of a table's columns come from its rows: make it of a list of them, and compare")
    rewriter = Rewriter(module)
    plans = _planned(growth, known, project)
    parts = {plan.name: free_name(f"{plan.name}_parts", growth.where.scope) for plan in plans}
    if plans[0].compiled:
        write_into_array(rewriter, plans[0], parts[plans[0].name], project)
        return rewriter.fix(f"collect the parts of `{plans[0].name}` in a `tf.TensorArray`", "verify")
    for plan in plans:
        _begin(rewriter, plan, parts[plan.name])
    _append(rewriter, plans, parts)
    joined = [_joined(rewriter, plan, parts[plan.name]) for plan in plans]
    rewriter.after(rewriter.statement(plans[0].loop), *joined)
    names = " and ".join(f"`{plan.name}`" for plan in plans)
    return rewriter.fix(f"collect the parts of {names} in a list", "verify")


# -- whether it may be done --------------------------------------------------------------------------------------------


def _planned(growth: Growth, known: list[Growth], project: Project) -> list[Plan]:
    """One plan for each name that grows in the same statement: the growth, or the `if` that begins several."""
    loop = growth.loops[-1]
    choice = _choice(growth, loop)
    if choice is None:
        return [_plan(growth, None, loop, project)]
    begun, first = _sides(growth, choice)
    together = [g for g in known if g.statement in begun]
    if not len(together) == len(begun) == len(first) or any(g.loops[-1] is not loop for g in together):
        raise Refused(f"the first part of `{growth.target}` is treated otherwise than the rest", choice)
    return [_plan(one, choice, loop, project) for one in together]


def _plan(growth: Growth, choice: ast.If | None, loop: Loop, project: Project) -> Plan:
    target, scope = growth.statement.targets[0], growth.where.scope
    if not isinstance(target, ast.Name):
        raise Refused(f"others may read `{growth.target}` while the loop runs: collect in a local name first", target)
    if not isinstance(loop.node, ast.For | ast.While):
        raise Refused("the loop is asynchronous", growth.statement)
    compiled = project.traced(growth.where) or (growth.kind == "tensor" and is_graph_code(growth.where, project))
    added, in_front = _added(growth)
    replaced = choice or growth.statement
    begins = _beginning(growth, choice, added, loop)
    if compiled and isinstance(growth.statement.value, ast.IfExp):
        raise Refused(f"the first part of `{growth.target}` is treated otherwise than the rest", growth.statement)
    _refuse_other_reads(target.id, [replaced, *loop_options(loop.node, target.id)], loop.node)
    _refuse_far_reads(target.id, scope)
    _refuse_devices(growth.where, loop, project)
    _refuse_handlers(loop.node, growth.statement, scope)
    refuse_shared(added, growth.where, loop, project)
    return Plan(growth, target.id, loop.node, added, in_front, replaced, begins, compiled)


def _listed(call: ast.Call) -> ast.expr:
    """`[x, y]` of `concat([x, y], 0)`."""
    return call.args[0] if call.args else next(k.value for k in call.keywords if k.arg in LISTED)


def _added(growth: Growth) -> tuple[list[ast.expr], bool]:
    """The parts that a step adds, and whether they go in front."""
    call = grown(growth.statement)
    assert isinstance(call, ast.Call)
    given = _listed(call)
    elements = given.elts if isinstance(given, ast.List | ast.Tuple) else call.args[:2]
    spelled = [ast.unparse(element) for element in elements]
    if spelled.count(growth.target) > 1 or any(isinstance(element, ast.Starred) for element in elements):
        raise Refused("what it grows by is not spelled out", growth.statement)
    if spelled[0] == growth.target:
        return elements[1:], False
    if spelled[-1] == growth.target and len(elements) == 2:
        return elements[:1], True
    raise Refused(f"it grows on both sides of `{growth.target}`", growth.statement)


def _choice(growth: Growth, loop: Loop) -> ast.If | None:
    """`if x is None: x = y; else: x = concat([x, y])`, or the other way round: the whole `if` is one `append`."""
    ifs = (node for node in ast.walk(loop.node) if isinstance(node, ast.If))
    return next((node for node in ifs if growth.statement in _sides(growth, node)[0]), None)


def _sides(growth: Growth, choice: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What is done with each part but the first, and with the first."""
    if choice.orelse and has_begun(choice.test, growth.target):
        return choice.body, choice.orelse
    return choice.orelse, choice.body


def _beginning(growth: Growth, choice: ast.If | None, added: list[ast.expr], loop: Loop) -> str:
    """How the first part is told from the others: `none`, or `first` by a count; `value`: it is there before."""
    value = growth.statement.value
    if choice is None and not isinstance(value, ast.IfExp):
        return "value"
    if choice is None and isinstance(value, ast.IfExp):
        test, begun = value.test, [growth.target]
        firsts = [value.orelse if grown(growth.statement) is value.body else value.body]
    else:
        assert choice is not None
        test, begin = choice.test, _sides(growth, choice)[1]
        firsts = [s.value for s in begin if isinstance(s, ast.Assign) and _stored(s) == [growth.target]]
        begun = [name for s in begin for name in _stored(s)]
    if len(firsts) != 1 or len(added) > 1:
        raise Refused(f"the first part of `{growth.target}` is treated otherwise than the rest", test)
    if ast.dump(firsts[0]) != ast.dump(added[0]):
        raise Refused(f"the first part of `{growth.target}` is made otherwise than the rest", test)
    spelled = ast.unparse(test)
    if spelled in {f"{name} is None" for name in begun} or has_begun(test, growth.target):
        return "none"
    if spelled in _first_tests(loop) and len(growth.loops) == 1:
        return "first"
    raise Refused(f"whether `{spelled}` holds in the first step alone cannot be seen", test)


def _stored(statement: ast.stmt) -> list[str]:
    return [ast.unparse(target) for target in getattr(statement, "targets", [])]


def _first_tests(loop: Loop) -> set[str]:
    """`i == 0` in `for i, x in enumerate(xs)` or `for i in range(n)`."""
    iterable, target = loop.iterable, getattr(loop.node, "target", None)
    if not isinstance(iterable, ast.Call):
        return set()
    counted = ast.unparse(iterable.func)
    index = target.elts[0] if isinstance(target, ast.Tuple) and counted == "enumerate" else target
    plain = len(iterable.args) == 1 and not iterable.keywords
    if counted not in ("enumerate", "range") or not plain or not isinstance(index, ast.Name):
        return set()
    return {f"{index.id} == 0", f"not {index.id}"}


def _refuse_other_reads(name: str, replaced: list[ast.stmt], loop: ast.AST) -> None:
    excused = {id(node) for statement in replaced for node in ast.walk(statement)}
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and node.id == name and id(node) not in excused:
            raise Refused(f"the loop looks at `{name}` as it grows", node)


def _refuse_far_reads(name: str, scope: Scope) -> None:
    """A function that sees the name could be called in the loop."""
    if name in scope.outer_names:
        raise Refused(f"`{name}` belongs to another scope", scope.node)
    for other in scope.module.scopes:
        if other is scope or not other.is_function or other.owner(name) is not scope:
            continue
        for node in ast.walk(other.node):
            if isinstance(node, ast.Name) and node.id == name:
                raise Refused(f"`{other.name}` reads `{name}` too", node)


def _refuse_devices(where: Context, loop: Loop, project: Project) -> None:
    """`with tf.device("CPU"): rows = tf.concat([rows, part])` takes each part there; in a list it would stay."""
    for block in (one for one in where.withs if one not in loop.where.withs):
        if any(project.name_of(item.context_expr, where.scope) == "tf.device()" for item in block.items):
            raise Refused("each part is taken to a device: append what `tf.identity` gives there to a list", block)


def _refuse_handlers(loop: ast.AST, statement: ast.stmt, scope: Scope) -> None:
    """After an exception that is caught, `x` would lack what was gathered, or an error would come later."""
    for node in ast.walk(scope.node):
        if isinstance(node, ast.Try | ast.TryStar):
            inside = [inner for part in node.body for inner in ast.walk(part)]
            if loop in inside or statement in inside:
                raise Refused("it stands in a `try`, after which part of it may be wanted", node)


# -- doing it ----------------------------------------------------------------------------------------------------------


def _begin(rewriter: Rewriter, plan: Plan, parts: str) -> None:
    start = _start(plan)
    if plan.begins_with == "none" and not _is_none(plan):
        raise Refused(f"`{plan.name}` is not plainly `None` before the loop", plan.replaced)
    if start is not None:
        assert isinstance(start.value, ast.expr)
        value = rewriter.code(rewriter.expression(start.value)) if plan.begins_with == "value" else ""
        old: Any = rewriter.statement(start)
        new: Any = rewriter.parse_block(f"{parts} = [{value}]")[0]
        line = old.body[0].with_changes(targets=new.body[0].targets, value=new.body[0].value)
        rewriter.replace(old, old.with_changes(body=[line]))
        return
    line = f"{parts} = [{plan.name}]" if plan.begins_with == "value" else f"{parts} = []"
    put_before(rewriter, plan.loop, rewriter.parse_block(line)[0])


def _is_none(plan: Plan) -> bool:
    """Whether the value that it has before the loop is `None`: the only one, or the last of its block."""
    scope, inside = plan.growth.where.scope, {id(node) for node in ast.walk(plan.loop)}
    bindings = [b for b in scope.bindings[plan.name] if id(b.node) not in inside]
    before = [b for b in bindings if _lineno(b.node) < _lineno(plan.loop)]
    block = statements_around(scope.module, plan.loop)
    here = [b for b in before if b.node in block[: block.index(plan.loop)]]
    last = max(before, key=lambda binding: _lineno(binding.node), default=None)
    known = last is not None and (len(before) == 1 or last in here)
    return known and last is not None and last.value is not None and ast.unparse(last.value) == "None"


def _start(plan: Plan) -> ast.Assign | None:
    """The statement before the loop that begins the name, where nothing between them reads it."""
    scope = plan.growth.where.scope
    block = statements_around(scope.module, plan.loop)
    inside = {id(node) for node in ast.walk(plan.loop)}
    bindings = [b for b in scope.bindings[plan.name] if id(b.node) not in inside]
    for statement in reversed(block[: block.index(plan.loop)]):
        if isinstance(statement, ast.Assign) and [ast.unparse(t) for t in statement.targets] == [plan.name]:
            first = bindings and bindings[0].node is statement
            later = [b for b in bindings if b.node is not statement]
            return statement if first and all(_lineno(b.node) > _lineno(plan.loop) for b in later) else None
        if any(isinstance(node, ast.Name) and node.id == plan.name for node in ast.walk(statement)):
            return None
    return None


def _lineno(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _append(rewriter: Rewriter, plans: list[Plan], parts: dict[str, str]) -> None:
    lines = []
    for plan in plans:
        added = [rewriter.code(rewriter.expression(part)) for part in plan.added]
        many = f"{parts[plan.name]}.extend([{', '.join(added)}])"
        lines.append(f"{parts[plan.name]}.append({added[0]})" if len(added) == 1 else many)
    old: Any = rewriter.statement(plans[0].replaced)
    new: list[Any] = list(rewriter.parse_block("\n".join(lines)))
    if plans[0].replaced is plans[0].growth.statement:
        new[0] = old.with_changes(body=new[0].body)  # with the comment behind it
    new[0] = new[0].with_changes(leading_lines=old.leading_lines)
    rewriter.replace(old, *new)


def _joined(rewriter: Rewriter, plan: Plan, parts: str) -> Any:
    call = grown(plan.growth.statement)
    assert isinstance(call, ast.Call)
    listed = f"{parts}[::-1]" if plan.in_front else parts
    spelled = ast.unparse(call.func)
    if spelled.rpartition(".")[2] == "append":
        home = spelled.rpartition(".")[0]
        if not home:
            raise Refused(f"there is no `concatenate` in sight for `{spelled}`", call)
        axis = next((k.value for k in call.keywords if k.arg == "axis"), call.args[2] if call.args[2:] else None)
        text = f"{home}.concatenate({listed}, axis={ast.unparse(axis) if axis is not None else None})"
    else:
        found: Any = rewriter.expression(call)
        given = rewriter.expression(_listed(call))
        arguments = [
            a.with_changes(value=rewriter.parse_expression(listed)) if a.value is given else a for a in found.args
        ]
        text = rewriter.code(found.with_changes(args=arguments))
    if plan.begins_with == "none":
        text += f" if {parts} else None"
    return rewriter.parse_block(f"{plan.name} = {text}")[0]
