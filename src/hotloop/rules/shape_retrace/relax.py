"""The fix: a signature that leaves open what varied, or, where the arguments are not all tensors, fewer traces."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hotloop.model import Finding, Fix
from hotloop.rules.moving import tensorflow_name
from hotloop.source.module import Module, Scope
from hotloop.source.rewrite import Refused, Rewriter

if TYPE_CHECKING:
    from hotloop.source import Project

SETTLED = {
    "input_signature": "`{name}` has a signature already",
    "reduce_retracing": "`{name}` is told to retrace less already",
    "jit_compile": "with `jit_compile` each shape of `{name}` is compiled anyway: pad to a few shapes",
}


def relax(finding: Finding, project: Project) -> Fix:
    seen = finding.observed
    if not seen:
        raise Refused("only a run shows which shapes change: `hotloop fix --run`")
    module, scope = _defined(str(seen["defined"]), str(seen["function"]), project)
    maker = _maker(scope, project)
    for keyword in maker.keywords if isinstance(maker, ast.Call) else ():
        if keyword.arg in SETTLED:
            raise Refused(SETTLED[keyword.arg].format(name=scope.name), keyword.value, module)
    rewriter = Rewriter(module)
    home = scope.parent or module.scope
    signature = _signature(seen.get("arguments") or (), scope, project, tensorflow_name(home))
    _told(rewriter, maker, signature or "reduce_retracing=True")
    title = "give `{}` a signature that leaves open what varied" if signature else "let `{}` be traced less"
    return rewriter.fix(title.format(scope.name), "verify")


def _defined(defined: str, name: str, project: Project) -> tuple[Module, Scope]:
    """The function by its name in its file; by its line where the name is used twice."""
    path, _, line = defined.rpartition(":")
    try:
        module = project.modules[path]
    except KeyError:
        raise Refused(f"the source of `{name}` is not in sight") from None
    found = [s for s in module.scopes if s.is_function and s.name == name]
    if len(found) > 1:
        found = [s for s in found if line in {str(getattr(n, "lineno", 0)) for n in (s.node, *s.decorators)}]
    if len(found) != 1:
        raise Refused(f"the source of `{name}` is not what ran")
    return module, found[0]


def _maker(scope: Scope, project: Project) -> ast.expr:
    """Its decorator, or the `tf.function(f)` that compiles it."""
    home = scope.parent or scope.module.scope
    for decorator in scope.decorators:
        bare = decorator.func if isinstance(decorator, ast.Call) else decorator
        if project.name_of(bare, home) == "tf.function":
            return decorator
    made = [
        call.node
        for call in scope.module.calls
        if project.name_of(call.node.func, call.where.scope) == "tf.function" and call.node.args
        and (value := project.resolve(call.node.args[0], call.where.scope)) is not None and value.scope is scope
    ]  # fmt: skip
    if len(made) != 1:
        raise Refused(f"where `{scope.name}` is compiled cannot be seen", scope.node, scope.module)
    return made[0]


def _signature(arguments: Sequence[Any], scope: Scope, project: Project, tensorflow: str) -> str:
    """`input_signature=[...]`; "" where a call elsewhere may hand over something else."""
    names = [argument["name"] for argument in arguments]
    if not names or names != scope.parameters or len(project.callers(scope)) > 1:
        return ""
    specs = []
    for argument in arguments:
        shapes = argument["shapes"]
        if len({len(shape) for shape in shapes}) > 1:
            return ""
        dimensions = [next(iter(sizes)) if len(sizes) == 1 else None for sizes in map(set, zip(*shapes, strict=True))]
        specs.append(f"{tensorflow}.TensorSpec({dimensions}, {tensorflow}.{argument['dtype']})")
    return f"input_signature=[{', '.join(specs)}]"


def _told(rewriter: Rewriter, maker: ast.expr, keyword: str) -> None:
    """Add a keyword to `tf.function(...)`; a bare `@tf.function` becomes a call."""
    import libcst

    found: Any = rewriter.expression(maker)
    if not isinstance(maker, ast.Call):
        rewriter.replace(found, rewriter.parse_expression(f"{rewriter.code(found)}({keyword})"))
        return
    added: Any = libcst.ensure_type(rewriter.parse_expression(f"f({keyword})"), libcst.Call).args[0]
    arguments = list(found.args)
    if arguments:
        comma = libcst.Comma(whitespace_after=libcst.SimpleWhitespace(" "))
        arguments[-1] = arguments[-1].with_changes(comma=comma)
    rewriter.replace(found, found.with_changes(args=[*arguments, added]))
