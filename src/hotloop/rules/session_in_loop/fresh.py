"""What starts over with each session: to a program that counts on that, one session for all steps is another thing."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from hotloop.source.module import Call, names_read
from hotloop.source.rewrite import Refused

if TYPE_CHECKING:
    from hotloop.rules.once import Step

DEPTH = 8  # of names that are made of names
GOES_ON = re.compile(
    r"get_next$|^tf\.(?:random|truncated_normal|multinomial|nn\.dropout|layers\.dropout|train\.\w*batch)"
)
CHANGES = re.compile(r"(?:^|\.)(?:assign|assign_add|assign_sub|scatter_\w+|minimize|apply_gradients)$")
SETS = re.compile(r"initializer|initialize_|restore|load")  # then each step starts from the same


def refuse_state(step: Step) -> None:
    """Refuses where a step runs what would go on from step to step in a session that is kept open."""
    runs = [call for call in step.scope.module.calls if call.last in ("run", "eval") and _is_inside(call, step)]
    text = " ".join(ast.unparse(statement) for statement in step.statements)
    for run in runs:
        for value, node in _made_of(run, step):
            name = step.project.name_of(value.func, step.scope) or ast.unparse(value.func)
            goes_on = GOES_ON.search(name) is not None
            if goes_on or (CHANGES.search(name) and not SETS.search(text)):
                raise Refused(
                    f"each session starts `{ast.unparse(value.func)}` over, and one for all steps would go on: "
                    "the results may differ",
                    node,
                )


def _is_inside(call: Call, step: Step) -> bool:
    return any(node is call.node for statement in step.statements for node in ast.walk(statement))


def _made_of(run: Call, step: Step) -> list[tuple[ast.Call, ast.AST]]:
    """The calls that make what is fetched, through the names that it is made of; each with the code that fetches it."""
    func = run.node.func
    roots: list[ast.AST] = [func.value] if run.last == "eval" and isinstance(func, ast.Attribute) else []
    roots += run.node.args[:1] or [k.value for k in run.node.keywords if k.arg == "fetches"]
    found: list[tuple[ast.Call, ast.AST]] = []
    seen: set[str] = set()
    queue = [(root, 0) for root in roots]
    while queue:
        node, depth = queue.pop()
        found += [(inner, run.node) for inner in ast.walk(node) if isinstance(inner, ast.Call)]
        for name in (names_read(node) if depth < DEPTH else set()) - seen:
            seen.add(name)
            values = [b.value for b in step.project.bindings(name, step.scope) if b.value is not None]
            queue += [(value, depth + 1) for value in values]
    return found
