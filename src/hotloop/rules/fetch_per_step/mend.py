"""Several runs of a session with one feed become one run that fetches a list; parts of a tensor, those of an array."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from hotloop.model import Finding, Fix
from hotloop.rules.fetch_per_step.rows import Reads, part_of
from hotloop.rules.fetch_per_step.runs import PLAIN, Group, Run, groups, updates
from hotloop.rules.fetch_per_step.seldom import show_seldom
from hotloop.rules.moving import statements_around
from hotloop.source.module import Call, names_read, names_stored
from hotloop.source.rewrite import Refused
from hotloop.source.splice import Splice

if TYPE_CHECKING:
    from hotloop.source import Project

NOTHING = "_"


def fetch_together(finding: Finding, project: Project) -> Fix:
    module = project.modules[finding.place.path]
    group = next((g for g in groups(module, project) if g.runs[1].call.place == finding.place), None)
    if group is None:
        return show_seldom(finding, project)
    _require_runs_of_session(group)
    _require_quiet(group)
    splice, first = Splice(module), group.runs[0]
    inner = _names(group)
    parts = [part for run in group.runs for part in _fetched(run, inner, splice)]
    called, argument = splice.span(first.call.node), splice.span(first.fetch)
    start, rest = splice.data[called[0] : argument[0]].decode(), splice.data[argument[1] : called[1]].decode()
    targets, fetches = ", ".join(target for target, _ in parts), ", ".join(fetch for _, fetch in parts)
    if NOTHING in [target for target, _ in parts] and NOTHING in names_read(first.call.where.scope.node):
        raise Refused("`_` is a name that is read here", first.statement)
    together = f"{targets} = {start}[{fetches}]{rest}"
    if first.is_whole:
        splice.replace(splice.span(first.statement), together)
    else:
        _put_before(first.statement, [together], splice)
    for run in group.runs:
        if run in inner:
            splice.replace(splice.span(run.call.node), inner[run])
        elif run is not first:
            splice.remove(run.statement, statements_around(module, run.statement))
    if group.update is not None:  # their one run and the update's can still be one: only the reader can say
        return splice.fix(f"fetch them in one run, with `{ast.unparse(group.update.fetch)}` too if you can", "advice")
    late = group.trains and not updates(group.runs[-1], project)
    if late:
        return splice.fix("fetch them in one run: the values are then those before the update", "advice")
    return splice.fix("fetch them in one run", "verify")


def _require_runs_of_session(group: Group) -> None:
    for run in group.runs:
        if run.call.last == "eval":
            names = ", ".join(ast.unparse(one.fetch) for one in group.runs)
            session = run.session or "the session that is open there"
            raise Refused(f"`eval` fetches one tensor: fetch [{names}] in one `run` of {session}", run.call.node)
    if group.times > len(group.runs):
        raise Refused("the same is fetched again: keep the first value under a name", group.runs[0].statement)


def _names(group: Group) -> dict[Run, str]:
    """What the values are called that had no name, because the run is part of a larger statement."""
    taken, found = _names_in(group.runs[0].call), {}
    for run in group.runs:
        if not run.is_whole:
            found[run] = _new(f"{_word(run.fetch)}_value", taken)
    return found


def _names_in(call: Call) -> set[str]:
    scope = call.where.scope.node
    return {*names_read(scope), *names_stored(scope)}


def _word(expr: ast.expr) -> str:
    """`loss` of `net.loss`, `detection_boxes` of `out["detection_boxes"][0]`."""
    match expr:
        case ast.Attribute(attr=word) | ast.Name(id=word):
            return word.lower()
        case ast.Subscript(slice=ast.Constant(value=str() as word)) if word.isidentifier():
            return word.lower()
        case ast.Subscript(value=inner):
            return _word(inner)
    return "fetched"


def _new(name: str, taken: set[str]) -> str:
    found = next(new for n in range(1, 99) if (new := f"{name}{n if n > 1 else ''}") not in taken)
    taken.add(found)
    return found


def _put_before(statement: ast.stmt, lines: list[str], splice: Splice) -> None:
    splice.lines_of(statement)  # refuses where others share its line
    start = splice.span(statement)[0]
    indent = splice.data[splice.at(statement.lineno, 0) : start]
    splice.insert(start, b"".join(line.encode() + splice.line_end + indent for line in lines))


def _fetched(run: Run, inner: dict[Run, str], splice: Splice) -> list[tuple[str, str]]:
    """What the run is asked for, and what each goes into."""
    fetch, statement = run.fetch, run.statement
    if run in inner:
        if isinstance(fetch, ast.List | ast.Tuple):
            raise Refused("its results are kept as one list", run.call.node)
        return [(inner[run], splice.text(fetch))]
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
        raise Refused("the result goes into several names", statement)
    if not isinstance(fetch, ast.List | ast.Tuple):
        if isinstance(target, ast.Tuple | ast.List):
            raise Refused("what it fetches is not spelled out", fetch)
        return [(splice.text(target) if target is not None else NOTHING, splice.text(fetch))]
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [None] * len(fetch.elts)
    if len(targets) != len(fetch.elts) or (target is not None and targets[:1] == [None]):
        raise Refused("its results are kept as one list", statement)
    if any(isinstance(part, ast.Starred) for part in (*targets, *fetch.elts)):
        raise Refused("what it fetches is not spelled out", fetch)
    texts = [splice.text(part) if part is not None else NOTHING for part in targets]
    return list(zip(texts, [splice.text(part) for part in fetch.elts], strict=True))


def _require_quiet(group: Group) -> None:
    """Values come earlier than before: nothing in between may look at their names, or make what is fetched."""
    block = statements_around(group.runs[0].call.where.scope.module, group.runs[0].statement)
    mine = [run.statement for run in group.runs]
    between = block[block.index(mine[0]) : block.index(mine[-1])]
    session = group.runs[0].session
    for other in between:
        if other not in mine and any(ast.unparse(n) == session for n in ast.walk(other) if isinstance(n, ast.expr)):
            raise Refused(f"`{session}` is used in between", other)
    for run, statement in zip(group.runs[1:], mine[1:], strict=True):
        stored, needed = set(names_stored(statement)) if run.is_whole else set(), names_read(run.call.node)
        target = statement.targets[0] if isinstance(statement, ast.Assign) and run.is_whole else None
        if target is not None and not isinstance(target, ast.Name | ast.Tuple | ast.List):
            raise Refused("a result goes into something else than a name", statement)
        for earlier in between[: between.index(statement)] if statement in between else between:
            read = names_read(earlier) & stored
            if read and earlier not in mine:
                raise Refused(f"`{min(read)}` is still read as it was before", earlier)
            if set(names_stored(earlier)) & (needed | stored) - {NOTHING}:
                raise Refused(f"`{min(set(names_stored(earlier)) & (needed | stored))}` is bound in between", earlier)


def fetch_whole(reads: Reads) -> Fix:
    """`scores[0][i].numpy()` becomes `scores_array[0][i]`, of an array that is fetched before the loop."""
    first, loop = reads.calls[0], reads.found.loop.node
    before = loop if isinstance(loop, ast.For) else first.where.statement
    if not isinstance(before, (ast.For, *PLAIN)) or isinstance(first.where.scope.node, ast.Lambda):
        raise Refused("there is no line before the loop: fetch the tensor by hand", first.node)
    splice, taken = Splice(first.where.scope.module), _names_in(first)
    arrays: dict[str, str] = {}
    for call, tensor in zip(reads.calls, reads.tensors, strict=True):
        text, part = splice.text(tensor), part_of(call)
        if text not in arrays:
            arrays[text] = _new(f"{_word(tensor)}_array", taken)
        splice.replace(splice.span(tensor), arrays[text])
        if call.last == "numpy" and part is not None:
            splice.replace((splice.span(part)[1], splice.span(call.node)[1]), "")
    _put_before(before, [f"{name} = {text}.numpy()" for text, name in arrays.items()], splice)
    return splice.fix("fetch the whole tensor before the loop", "verify")
