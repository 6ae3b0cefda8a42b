"""Settings taken out of a program: the statement that makes one, or the argument that does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding
from hotloop.rules.moving import not_found, statements_around
from hotloop.source.module import place_of
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice

if TYPE_CHECKING:
    from hotloop.source import Project


def setting_at(finding: Finding, project: Project) -> ast.Call | ast.Assign:
    """The call or assignment that a finding names."""
    module = project.modules[finding.place.path]
    for node in module.contexts:
        if isinstance(node, ast.Call | ast.Assign) and place_of(module, node) == finding.place:
            return node
    raise not_found(finding.place)


def take_out(finding: Finding, project: Project, keyword: str = "") -> Splice:
    """The file without the setting: without that keyword of the call, else without the statement."""
    node, splice = setting_at(finding, project), Splice(project.modules[finding.place.path])
    given = [k for k in node.keywords if k.arg == keyword] if isinstance(node, ast.Call) else []
    if given and isinstance(node, ast.Call) and not _is_all(node, splice, keyword):
        splice.remove_argument(node, given[0])
        return splice
    statement = splice.module.contexts[node].statement
    if statement is None or (statement is not node and getattr(statement, "value", None) is not node):
        raise Refused("the setting is part of a larger expression", node)
    if isinstance(statement, ast.Assign) and (statement is not node or len(statement.targets) > 1):
        raise Refused("the statement does more than set it", node)
    splice.remove(statement, statements_around(splice.module, statement))
    return splice


def _is_all(node: ast.Call, splice: Splice, keyword: str) -> bool:
    """`switch(on=True)`, a statement: without its one argument the call is nothing."""
    statement = splice.module.contexts[node].statement
    alone = len(node.keywords) + len(node.args) == 1
    return alone and isinstance(statement, ast.Expr) and statement.value is node and keyword != "dtype"
