"""tf.data chains rewritten: stages change places or are added, each with its own comments and line break."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotloop.model import Finding
from hotloop.rules.moving import not_found, statements_around, tensorflow_name
from hotloop.source.module import Module, Scope, names_read, names_stored
from hotloop.source.pipelines import pipelines
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Span, Splice
from hotloop.source.stages import Pipeline, Stage

if TYPE_CHECKING:
    from hotloop.source import Project

LEAD = re.compile(rb"(?:[ \t\f]|\\?(?:\r\n|\r|\n)|#[^\r\n]*)*\.")  # what may stand before a stage's name
RESHUFFLED = ("list_files", "dataset_from_directory", "make_csv_dataset")  # unless told not to
Lead = Mapping[Stage, bytes]
NEWLINE = re.compile(rb"[ \t]*\\?[\r\n]")


def stage_at(finding: Finding, name: str, project: Project) -> tuple[Pipeline, Stage]:
    """The stage of that name which a finding points at, in the longest chain that goes through it."""
    module, place = project.modules[finding.place.path], finding.place
    found = [(p, s) for p in pipelines(module, project) for s in p.stages if s.place == place]
    if not found and not place.end_line:  # measured: a line is all that is known
        found = [
            (p, s)
            for p in pipelines(module, project)
            for s in p.stages
            if (s.name, s.place.path, s.place.line) == (name, place.path, place.line)
        ]
    if not found or len({stage.place for _, stage in found}) > 1:
        raise not_found(place)
    return max(found, key=lambda pair: len(pair[0].stages))


def autotune(scope: Scope, project: Project) -> str:
    """How the file spells `tf.data.AUTOTUNE`, or would."""
    for name, bindings in scope.module.scope.bindings.items():
        values = [project.name_of(b.value, scope.module.scope) for b in bindings if b.value is not None]
        if len(bindings) == 1 and values in (["tf.data.AUTOTUNE"], ["tf.data.experimental.AUTOTUNE"]):
            return name
    return f"{tensorflow_name(scope)}.data.AUTOTUNE"


def require_fixed_order(pipeline: Pipeline) -> None:
    """Refuses to cache a source that is shuffled anew in each epoch: the first order would be frozen."""
    source = pipeline.origin
    if source is None or not pipeline.kind.endswith(RESHUFFLED):
        return
    given = next((k.value for k in source.node.keywords if k.arg == "shuffle"), None)
    if not (isinstance(given, ast.Constant) and given.value is False):
        raise Refused(
            f"`{source.last}` shuffles anew in each epoch, and a cache would freeze the first order: give it "
            "`shuffle=False`, and shuffle after the cache",
            source.node,
        )


@dataclass(frozen=True)
class _Link:
    """One stage in the text, from the end of what it is called on: `.map(f)`, with its comments."""

    start: int
    end: int
    text: bytes


def _link(stage: Stage, splice: Splice, last: bool) -> _Link:
    func = stage.call.node.func
    if stage.fused or not isinstance(func, ast.Attribute):
        raise Refused("a stage is added by `apply`", stage.call.node)
    start, end = splice.span(func.value)[1], splice.span(stage.call.node)[1]
    if splice.comment_after(start) != start:
        start = splice.comment_after(start)  # that comment belongs to the stage before
    if LEAD.match(splice.data, start) is None:
        raise Refused("the chain is written in a way that cannot be rewritten", stage.call.node)
    commented = splice.comment_after(end)
    if commented != end and (not last or NEWLINE.match(splice.data, start)):
        end = commented
    return _Link(start, end, splice.data[start:end])


# -- in one expression -------------------------------------------------------------------------------------------------


def is_one_expression(stages: Sequence[Stage]) -> bool:
    """Whether each is called directly on the one before."""
    return all(getattr(b.call.node.func, "value", None) is a.call.node for a, b in itertools.pairwise(stages))


def reorder(splice: Splice, stages: Sequence[Stage], order: Sequence[Stage], lead: Lead | None = None) -> None:
    """Put stages in the place of neighbours in one expression: the same in another order, or fewer."""
    links = {stage: _link(stage, splice, stage is stages[-1]) for stage in stages}
    texts = [_led(links[stage], (lead or {}).get(stage, b"")) for stage in order]
    first, last = links[stages[0]], links[stages[-1]]
    for text, following in itertools.pairwise([*texts, splice.data[last.end :]]):
        if _ends_in_comment(text) and not NEWLINE.match(following):
            raise Refused("a comment stands in the way", stages[0].call.node)
    own_line = not texts and NEWLINE.match(splice.data, first.start)
    splice.replace((first.start, splice.comment_after(last.end) if own_line else last.end), b"".join(texts))


def _led(link: _Link, lead: bytes) -> bytes:
    return (_broken(lead, link) if lead else b"") + link.text


def _ends_in_comment(text: bytes) -> bool:
    return b"#" in re.split(rb"[\r\n]", text)[-1].rpartition(b")")[2]


def _broken(text: bytes, like: _Link) -> bytes:
    """A new stage on a line of its own, where its neighbour has one."""
    lead = re.match(rb"[ \t]*\\?(?:\r\n|\r|\n)", like.text)
    indent = re.search(rb"([ \t]*)\.", LEAD.match(like.text)[0]) if lead else None  # type: ignore[index]
    return lead[0] + indent[1] + text if lead and indent else text


def add_after(splice: Splice, stage: Stage, text: str) -> None:
    """One more stage, right after another."""
    link = _link(stage, splice, last=True)
    splice.insert(splice.span(stage.call.node)[1], _broken(text.encode(), link))


# -- over statements ---------------------------------------------------------------------------------------------------


def move(splice: Splice, pipeline: Pipeline, stage: Stage, before: Stage) -> None:
    """A stage goes to where an earlier one stands, which follows it from then on."""
    between = pipeline.stages[pipeline.stages.index(before) : pipeline.stages.index(stage)]
    permute(splice, (*between, stage), [stage, *between])


def permute(splice: Splice, stages: Sequence[Stage], order: Sequence[Stage], lead: Lead | None = None) -> None:
    """Neighbouring stages in another order, in one expression or over statements; `lead`: `.new()` before some."""
    if any(stage.optional for stage in stages):
        raise Refused("a stage stands under a condition", stages[-1].call.node)
    if is_one_expression(stages):
        links = [_link(stage, splice, stage is stages[-1]) for stage in stages]
        if lead or any(b"#" in _gaps(link) for link in links):
            reorder(splice, stages, order, lead)
            return
    else:
        _require_straight(splice.module, stages)
        if all(_is_alone(stage) for stage in stages):
            _permute_lines(splice, stages, order, lead)
            return
        for stage in stages:
            if splice.comments_at(_statement(stage)):
                raise Refused("comments on the stages would no longer fit", _statement(stage))
    for slot, stage in zip(stages, order, strict=True):
        if slot is not stage:
            splice.replace(_named(slot, splice), _text(stage, _named(stage, splice), splice, lead))


def _gaps(link: _Link) -> bytes:
    """What of a link is neither its name nor its arguments."""
    return LEAD.match(link.text)[0] + link.text.rpartition(b")")[2]  # type: ignore[index]


def _text(stage: Stage, span: Span, splice: Splice, lead: Lead | None) -> bytes:
    """The text around a stage, with what is to lead it."""
    dot = _named(stage, splice)[0]
    return splice.data[span[0] : dot] + (lead or {}).get(stage, b"") + splice.data[dot : span[1]]


def _named(stage: Stage, splice: Splice) -> Span:
    """From the dot before the stage's name to the end of its call."""
    func = stage.call.node.func
    if stage.fused or not isinstance(func, ast.Attribute):
        raise Refused("a stage is added by `apply`", stage.call.node)
    dot = splice.data.rindex(b".", 0, splice.span(func)[1])
    return dot, splice.span(stage.call.node)[1]


def _statement(stage: Stage) -> ast.stmt:
    statement = stage.call.where.statement
    if statement is None:
        raise Refused("the stage stands in no statement", stage.call.node)
    return statement


def _is_in_chain(stage: Stage) -> bool:
    """Whether the statement is a chain of calls that the stage stands in, not `a.shuffle(9) if train else a`."""
    node = getattr(stage.call.where.statement, "value", None)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node is not stage.call.node:
        node = node.func.value
    return node is stage.call.node


def _is_alone(stage: Stage) -> bool:
    """`ds = ds.shuffle(100)`: a statement that adds this stage and nothing else."""
    statement, node = stage.call.where.statement, stage.call.node
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not node:
        return False
    return isinstance(node.func, ast.Attribute) and ast.unparse(statement.targets[0]) == ast.unparse(node.func.value)


def _permute_lines(splice: Splice, stages: Sequence[Stage], order: Sequence[Stage], lead: Lead | None) -> None:
    for slot, stage in zip(stages, order, strict=True):
        text, end = _text(stage, splice.lines_of(_statement(stage)), splice, lead), splice.line_end
        start, stop = splice.lines_of(_statement(slot))
        closed = splice.data[start:stop].endswith((b"\n", b"\r"))
        splice.replace((start, stop), text.rstrip(b"\r\n") + (end if closed else b""))


def _require_straight(module: Module, stages: Sequence[Stage]) -> None:
    """All in one block, and nothing in between looks at the data set or binds what a stage is given."""
    if any(stage.call.where.scope.module is not module for stage in stages):
        raise Refused("some stages of the pipeline stand in another file")
    block = statements_around(module, _statement(stages[0]))
    scope = stages[0].call.where.scope
    for stage in stages:
        if stage.call.where.scope is not scope or _statement(stage) not in block:
            raise Refused("the stages do not stand in one block of statements", stage.call.node)
        if not _is_in_chain(stage):
            raise Refused(f"`{stage.name}` is part of a larger expression", _statement(stage))
    mine = [_statement(stage) for stage in stages]
    statements = block[block.index(mine[0]) : block.index(mine[-1]) + 1]
    bound = {name for statement in statements for name in names_stored(statement)}
    held = {name for statement in mine[:-1] for name in names_stored(statement)}
    if not held:
        raise Refused("the data set is not kept in a plain name", mine[0])
    for stage in stages:
        given = {name for a in (*stage.call.node.args, *stage.call.node.keywords) for name in names_read(a)}
        if given & bound:
            raise Refused(f"`{stage.name}` needs `{min(given & bound)}`, which is bound on the way", stage.call.node)
    for statement in statements[1:]:
        if _reads(statement, held) > (statement in mine):
            raise Refused("the data set is also used in between", statement)
    if len(held) > 1 or not held >= set(names_stored(mine[-1])):
        raise Refused(f"`{min(held)}` would hold something else than its name says", mine[0])
    left = held - set(names_stored(mine[-1]))
    if _reads(scope.node, left) > sum(_reads(statement, left) for statement in statements):
        raise Refused(f"`{min(left)}` is used elsewhere too", mine[0])


def _reads(node: ast.AST, names: set[str]) -> int:
    return sum(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names for n in ast.walk(node))
