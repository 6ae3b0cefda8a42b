"""The fix: compile the step. A step that is a function is decorated; one that stands in the loop becomes one first."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix, Place
from hotloop.rules.batches import is_data_set
from hotloop.rules.eager_training_step import UPDATES
from hotloop.rules.eager_training_step.collected import takes_collected
from hotloop.rules.eager_training_step.extract import extract
from hotloop.rules.moving import refuse_stale_attributes, tensorflow_name
from hotloop.rules.stale import refuse_changing_numbers, refuse_new_function_per_step, refuse_stale_names
from hotloop.rules.tracing import refuse_arrays, refuse_python
from hotloop.source.module import Call, Context, Module, Scope, place_of
from hotloop.source.project import default_of
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    import libcst

    from hotloop.source import Project

DATA = re.compile(r"data|\bds\b|_ds\b|loader|batches|generator", re.IGNORECASE)


def compile_step(finding: Finding, project: Project) -> Fix:
    node, where = _tape_at(project.modules[finding.place.path], finding.place)
    _refuse_data_under(node, where.scope, project)
    if where.loop is not None:
        return extract(node, where, project)
    call = _applied_by_caller(where.scope, project)
    if call is not None and call.where.statement is not None:
        try:
            return extract(call.where.statement, call.where, project)
        except Refused:
            pass  # the gradients alone are better than nothing
    return _decorate(where.scope, project)


def _applied_by_caller(scope: Scope, project: Project) -> Call | None:
    """`loss, grads = gradients_of(x)` in a loop that applies them: the step is more than the function of the tape."""
    callers = [call for call in project.callers(scope) if call.where.loop is not None]
    if len(callers) != 1 or any(call.where.scope is scope and call.last in UPDATES for call in scope.module.calls):
        return None
    statement = callers[0].where.statement
    return callers[0] if isinstance(statement, ast.Assign) and statement.value is callers[0].node else None


def _tape_at(module: Module, place: Place) -> tuple[ast.With | ast.AsyncWith, Context]:
    for node, where in module.withs:
        if place_of(module, node) == place:
            return node, where
    raise Refused("the source is no longer what was checked")


def _refuse_data_under(tape: ast.With | ast.AsyncWith, scope: Scope, project: Project) -> None:
    """Compiled, a loop over a data set is one op of the graph, which hands on no gradients."""
    for node in (inner for statement in tape.body for inner in ast.walk(statement)):
        if isinstance(node, ast.For) and (
            is_data_set(node.iter, scope, project) or DATA.search(ast.unparse(node.iter))
        ):
            raise Refused(
                "the tape is open around a loop over the data, and a compiled one hands on no gradients: "
                "take the gradient of each batch in a function of its own and add them up",
                node,
            )


def _decorate(scope: Scope, project: Project) -> Fix:
    import libcst

    node = scope.node
    if not isinstance(node, ast.FunctionDef) or scope.where is None:
        raise Refused("only a plain function can be compiled", node)
    refuse_python(node.body, scope, scope.name, project)
    handed = [name for name in scope.parameters if default_of(scope, name) is None]  # `lr=0.1` stays a number
    refuse_arrays(node.body, handed, scope, project)
    refuse_new_function_per_step(scope, project)
    refuse_changing_numbers(scope, project)
    refuse_stale_names(scope, project)
    refuse_stale_attributes([scope.node], scope, project)

    rewriter = Rewriter(scope.module)
    found = libcst.ensure_type(rewriter.statement(node), libcst.FunctionDef)
    name = tensorflow_name(scope.where.scope)
    compiler = f"{name}.function{'(reduce_retracing=True)' if takes_collected(scope, project) else ''}"
    line = libcst.Decorator(rewriter.parse_expression(compiler))
    # Innermost, below `@staticmethod` and whatever else wraps the function in Python.
    rewriter.replace(
        found, _without_comment(found, f"@{name}.function").with_changes(decorators=[*found.decorators, line])
    )
    return rewriter.fix(f"compile `{scope.name}` with `@{compiler}`", "verify")


def _without_comment(made: libcst.FunctionDef, decorator: str) -> libcst.FunctionDef:
    """Less the decorator where it is commented out: it is written below."""
    return made.with_changes(
        **{
            part: [line for line in getattr(made, part) if not (line.comment and _says(line.comment.value, decorator))]
            for part in ("leading_lines", "lines_after_decorators")
        }
    )


def _says(comment: str, code: str) -> bool:
    return comment.lstrip("# ").rstrip() == code
