"""The fix: `train_on_batch` or `test_on_batch`, which take the same step without the machinery around it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.batches import is_batch
from hotloop.rules.loops import in_loop
from hotloop.rules.many_rows import may_be_more, rows_of
from hotloop.rules.moving import call_at
from hotloop.rules.on_batch import argument_names, refuse_data, refuse_own_method, renamed_call
from hotloop.source.heat import number
from hotloop.source.module import Call
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

POSITIONAL = {
    "fit": ("x", "y", "batch_size", "epochs", "verbose"),
    "evaluate": ("x", "y", "batch_size", "verbose"),
}
KEPT = {"x", "y", "sample_weight", "class_weight", "return_dict"}
DROPPED = {"batch_size", "epochs", "verbose", "shuffle", "workers", "use_multiprocessing", "max_queue_size"}
ROWS = 32  # in a batch, where `fit` is told nothing else


def single_step(finding: Finding, project: Project, methods: dict[str, str]) -> Fix:
    call = call_at(project.modules[finding.place.path], finding.place, *methods)
    refuse_own_method(call, project)
    method = methods[call.last]
    names = argument_names(call.node, POSITIONAL[call.last], call.last)
    for name in names:
        if name not in KEPT | DROPPED:
            raise Refused(f"`{method}` knows no `{name}`", call.node)
    refuse_data(call.argument(0, "x"), call, method, project)
    refuse_data(call.argument(1, "y"), call, method, project)
    if call.last == "fit":
        _require_one_step(call, project)

    rewriter = Rewriter(call.where.scope.module)
    new = renamed_call(rewriter, call, method, names, KEPT)
    _put(rewriter, call, new)
    return rewriter.fix(f"call `{ast.unparse(call.node.func.value)}.{method}`", "verify")  # type: ignore[attr-defined]


def _require_one_step(call: Call, project: Project) -> None:
    """One epoch of one batch: `fit` on more takes several steps."""
    scope = call.where.scope
    epochs = call.argument(3, "epochs")
    if epochs is not None and number(epochs, scope, project) != 1:
        raise Refused(f"`epochs={ast.unparse(epochs)}` takes more than one step on the same batch", call.node)
    size, data = call.argument(2, "batch_size"), call.argument(0, "x")
    if size is not None and not may_be_more(call, size, project):
        return
    width = rows_of(data, scope, project)
    rows = number(width, scope, project) if width is not None else None
    most = number(size, scope, project) if size is not None else ROWS
    if rows is not None and most is not None and rows > most:
        raise Refused(f"`fit` takes several steps on {rows:,.0f} rows: {most:,.0f} at a time", call.node)
    if size is not None and (width is not None or not _is_batch(call, project)):
        more = f"there may be more rows than `batch_size={ast.unparse(size)}`"
        raise Refused(f"{more}, and `fit` then takes several steps", call.node)


def _is_batch(call: Call, project: Project) -> bool:
    """Named or drawn as one batch: whether it is shows when the fix is tried."""
    data, found = call.argument(0, "x"), in_loop(project, call.where)
    return data is not None and found is not None and is_batch(data, call.where.scope, found, found.chain, project)


# -- what becomes of the history ---------------------------------------------------------------------------------------


def _put(rewriter: Rewriter, call: Call, new: Any) -> None:
    """`fit` gives a history and `train_on_batch` numbers: what reads the one must read the other."""
    old = rewriter.expression(call.node)
    if call.last == "evaluate" or _is_dropped(call):
        rewriter.replace(old, new)
        return
    reads = _reads_of_history(call)
    rewriter.replace(old, _with_names(rewriter, new))
    for whole, source in reads:
        base, key = source.value, source.slice  # `h.history` and `"loss"`
        holder = base.value if isinstance(base, ast.Attribute) else base
        inner = new if holder is call.node else rewriter.expression(holder)
        inner = _with_names(rewriter, inner) if holder is call.node else inner
        text = f"{rewriter.code(inner)}[{rewriter.code(rewriter.expression(key))}]"
        rewriter.replace(rewriter.expression(whole), rewriter.parse_expression(text))


def _is_dropped(call: Call) -> bool:
    statement = call.where.statement
    return isinstance(statement, ast.Expr) and statement.value is call.node


def _with_names(rewriter: Rewriter, new: Any) -> Any:
    """The call with `return_dict=True`: the numbers by name."""
    import libcst

    made = libcst.ensure_type(rewriter.parse_expression("f(return_dict=True)"), libcst.Call).args[0]
    last = new.args[-1]
    between = libcst.Comma(whitespace_after=libcst.SimpleWhitespace(" "))
    made = made.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    before = last.with_changes(comma=between, whitespace_after_arg=libcst.SimpleWhitespace(""))
    return new.with_changes(args=[*new.args[:-1], before, made])


def _reads_of_history(call: Call) -> list[tuple[ast.Subscript, ast.Subscript]]:
    """Each `h.history["loss"][0]`, with its `h.history["loss"]`; Refused where the history is read otherwise."""
    scope, statement = call.where.scope, call.where.statement
    kept: set[ast.AST] = {call.node}
    if isinstance(statement, ast.Assign) and statement.value is call.node:
        target = statement.targets[0]
        if len(statement.targets) > 1 or not isinstance(target, ast.Name) or len(scope.bindings[target.id]) > 1:
            raise Refused("the history that `fit` returns is kept", statement)
        named = (n for n in ast.walk(scope.module.tree) if isinstance(n, ast.Name) and n.id == target.id)
        kept = {n for n in named if n is not target}
    found = []
    for node in ast.walk(scope.module.tree):
        source = node.value if isinstance(node, ast.Subscript) else None
        if not (isinstance(node, ast.Subscript) and isinstance(source, ast.Subscript)):
            continue
        base = source.value
        if isinstance(base, ast.Attribute) and base.attr == "history" and base.value in kept and _is_end(node.slice):
            kept.discard(base.value)
            found.append((node, source))
    if kept:
        raise Refused("the history that `fit` returns is read in a way that one step cannot serve", call.node)
    return found


def _is_end(index: ast.expr) -> bool:
    """The first or the last epoch, of which there is one."""
    return ast.unparse(index) in ("0", "-1")
