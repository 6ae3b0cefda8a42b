"""Did two programs compute the same? What they printed, the values that left TensorFlow, and the files they wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hotloop.leavings import Left
from hotloop.printed import Likeness, close, same_text, wandered

LEVELS = {"identical": "the same to the last digit", "close": "within 1e-4", "random": "statistically close"}
FILES = 3  # that are named where more could be


@dataclass(frozen=True)
class Output:
    """What one run left behind to compare."""

    stdout: bytes
    observables: tuple[Mapping[str, Any], ...] = ()
    files: Mapping[str, Left] = field(default_factory=dict)
    code: int = 0
    cut: bool = False  # it was ended before its end


@dataclass(frozen=True)
class Sameness:
    """`level`: `identical`, `close` (within the tolerance), `random` (it varies by itself, and as much as before)."""

    same: bool | None  # None: nothing to compare
    notes: tuple[str, ...] = ()
    level: str = ""


def same_results(before: Sequence[Output], after: Sequence[Output]) -> Sameness:
    """Whether every run of `after` did what `before` does.

    Text is compared token by token: numbers within 1e-4 of each other (or 1e-6 absolutely), integers and
    everything else exactly, white space not at all. Not compared: tokens that differ among the runs of
    `before` themselves (randomness, addresses), durations and rates (`0.3 s`, `12 ms/step`, `40 images/s`),
    and the Keras progress bar less its final metrics. The values that left TensorFlow are compared as well,
    in order, where there are equally many of them; so are the files that were written. Of a program that is
    random in spite of its seeds, values may vary after the change as they vary before it.
    """
    codes = {run.code for run in before}, {run.code for run in after}
    if codes[0] != codes[1]:
        said = " and ".join(map(str, sorted(codes[0]))), " and ".join(map(str, sorted(codes[1])))
        return Sameness(False, (f"the exit code is {said[0]} before, {said[1]} after",))
    cut = any(run.cut for run in (*before, *after))
    printed = same_text([run.stdout for run in before], [run.stdout for run in after], prefix=cut)
    if printed.same is False:
        return Sameness(False, printed.notes)
    values = _same_values([run.observables for run in before], [run.observables for run in after], cut)
    files = _same_files([run.files for run in before], [run.files for run in after]) if not cut else Likeness(None)
    parts = (printed, values, files)
    notes = tuple(note for part in parts for note in part.notes)
    if codes[0] != {0}:
        notes = (f"both end with exit code {max(codes[0])}", *notes)
    if any(part.same is False for part in parts):
        return Sameness(False, next(part.notes for part in parts if part.same is False))
    if any(part.same and (part.numbers or part is files) for part in parts):
        exact = all(part.exact for part in parts if part.same)
        return Sameness(True, notes, "identical" if exact else "close")
    random, moved = sum(part.random for part in parts), sum(part.moved for part in parts)
    if random and len(before) > 1:
        return _random(random, moved, notes)
    if printed.same:
        return Sameness(True, (*notes, "only the text on stdout could be compared: it holds no steady number"), "close")
    return Sameness(None, (*notes, "there was nothing to compare: print the result to prove it"))


def _random(random: int, moved: int, notes: tuple[str, ...]) -> Sameness:
    """All that could be compared varies by itself."""
    said = f"the program differs from itself from run to run, although its seeds are fixed ({random} values)"
    if moved:
        return Sameness(None, (*notes, f"{said}; {moved} of them lie elsewhere after the change"))
    return Sameness(True, (*notes, f"{said}; after the change they lie where they lay before"), "random")


# -- what left TensorFlow ----------------------------------------------------------------------------------------------

Values = Sequence[Mapping[str, Any]]


def _same_values(
    before: Sequence[Values], after: Sequence[Values], cut: bool, what: str = "that left TensorFlow"
) -> Likeness:
    counts = {len(values) for values in (*before, *after)}
    whole = before, after
    if cut:
        before, after = ([values[: min(counts)] for values in side] for side in (before, after))
        if any(_form(one) != _form(other) for run in after for one, other in zip(before[0], run, strict=True)):
            return _as_far_as_known(*whole, what)
    elif len(counts) != 1:
        return _in_portions(before, after, what)
    known, *others = before
    steady = [i for i, value in enumerate(known) if all(_same_value(value, other[i]) for other in others)]
    for values in after:
        wrong = [i for i in steady if not _same_value(known[i], values[i])]
        if wrong:
            return Likeness(False, notes=(f"value {wrong[0] + 1} of {len(known)} {what} differs",))
    varying = [[_number(side[i].get("sum")) for side in (*before, *after)] for i in set(range(len(known))) - {*steady}]
    return Likeness(
        True if steady else None,
        len(steady),
        (_same_too(len(steady), what),) if steady else (),
        exact=all(_words(values[i]) == _words(known[i]) for i in steady for values in (*others, *after)),
        random=len(varying),
        moved=sum(wandered(runs[: len(before)], runs[len(before) :]) for runs in varying),
    )


def _same_too(count: int, what: str) -> str:
    return f"{count} values {what} are the same too" if count > 1 else f"1 value {what} is the same too"


def _in_portions(before: Sequence[Values], after: Sequence[Values], what: str) -> Likeness:
    """A hundred rows may leave one by one or all at once: as many numbers with the same sums are taken for the same."""
    seen = f"values {what}: {len(before[0])} before and {len(after[0])} after"
    known, *others = [_totals(values) for values in (*before, *after)]
    same = all(
        one.keys() == known.keys()
        and all(one[dtype][0] == known[dtype][0] for dtype in known)
        and all(close(a, b, known[d][2]) for d in known for a, b in zip(one[d][1:], known[d][1:], strict=True))
        for one in others
    )
    if not same or not known:
        return Likeness(None, notes=(f"{seen}, so they cannot be paired",))
    count = sum(int(total[0]) for total in known.values())
    return Likeness(True, count, (f"{seen}, in which are as many numbers with the same sums",), exact=False)


def _form(value: Mapping[str, Any]) -> tuple[Any, list[int]]:
    return value.get("dtype"), list(value.get("shape") or ())


def _as_far_as_known(before: Sequence[Values], after: Sequence[Values], what: str) -> Likeness:
    """Of programs that were ended: rows that leave one by one, or all at once. The first numbers of each are known."""
    known, *others = [_first_numbers(values) for values in before]
    changed = [_first_numbers(values) for values in after]
    count = min(map(len, (known, *others, *changed)))
    seen = f"values {what} come in another form, so they cannot be paired"
    types = {str(value.get("dtype")) for values in (*before, *after) for value in values}
    steady = [i for i in range(count) if all(close(known[i], other[i]) for other in others)]
    if not steady or len(types) > 1:
        return Likeness(None, notes=(seen,))
    wrong = [i for i in steady if not all(close(known[i], other[i]) for other in changed)]
    if wrong:
        return Likeness(False, notes=(f"number {wrong[0] + 1} {what} differs",))
    return Likeness(True, len(steady), (f"{seen}; the first {count} numbers of them are the same",), exact=False)


def _first_numbers(values: Values) -> list[float]:
    """All numbers in order, up to the first of which is known that there are more."""
    found: list[float] = []
    for value in values:
        head = [_number(number) for number in value.get("head") or ()]
        found += head
        if len(head) < math.prod(value.get("shape") or ()):
            break
    return found


def _totals(values: Values) -> dict[str, tuple[float, float, float]]:
    """How many numbers of each type, their sum and that of their sizes."""
    found: dict[str, tuple[float, float, float]] = {}
    for value in values:
        count, total, size = found.get(str(value.get("dtype")), (0.0, 0.0, 0.0))
        more = math.prod(value.get("shape") or ()), _number(value.get("sum")), _number(value.get("abs_sum"))
        found[str(value.get("dtype"))] = count + more[0], total + more[1], size + more[2]
    return found


def _words(value: Mapping[str, Any]) -> tuple[Any, ...]:
    return value.get("sum"), value.get("abs_sum"), *(value.get("head") or ())


def _same_value(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    if one.get("dtype") != two.get("dtype") or list(one.get("shape") or ()) != list(two.get("shape") or ()):
        return False
    head_one, head_two = list(one.get("head") or ()), list(two.get("head") or ())
    if not str(one.get("dtype")).startswith(("float", "bfloat", "complex")):  # whole numbers and text: exactly
        return head_one == head_two and one.get("sum") == two.get("sum")
    scale = _number(one.get("abs_sum"))
    sums = ((one.get(key), two.get(key)) for key in ("sum", "abs_sum"))
    return (
        len(head_one) == len(head_two)
        and all(close(_number(a), _number(b)) for a, b in zip(head_one, head_two, strict=True))
        and all(close(_number(a), _number(b), scale) for a, b in sums)
    )


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


# -- the files ---------------------------------------------------------------------------------------------------------

Files = Mapping[str, Left]


def _same_files(before: Sequence[Files], after: Sequence[Files]) -> Likeness:
    """The files that each run wrote. Names that vary from run to run (a date, a number) are not compared."""
    known = {path for run in before for path in run}
    steady = {path for path in known if all(path in run for run in before)}
    missing = sorted(path for path in steady if not all(path in run for run in after))
    # In all runs: what appears in one of them somebody else may have written into the folder meanwhile.
    always = set(after[0]).intersection(*after)
    new = sorted(always - known) if steady == known else []
    for paths, said in ((missing, "is not written any more"), (new, "was not written before the change")):
        if paths:
            more = f" (and {len(paths) - FILES} more)" if len(paths) > FILES else ""
            return Likeness(False, notes=(f"the file {', '.join(paths[:FILES])}{more} {said}",))
    parts = {path: _same_file(path, [r[path] for r in before], [r[path] for r in after]) for path in sorted(steady)}
    for part in parts.values():
        if part.same is False:
            return part
    compared = [path for path, part in parts.items() if part.same]
    notes = [f"{path} differs from run to run of the program: not compared" for path in parts if path not in compared]
    if compared:
        notes.append(f"{len(compared)} file{'s' * (len(compared) > 1)} written, the same")
    return Likeness(
        True if compared else None,
        sum(part.numbers for part in parts.values()),
        tuple(notes),
        exact=all(parts[path].exact for path in compared),
    )


def _same_file(path: str, before: Sequence[Left], after: Sequence[Left]) -> Likeness:
    if len({left.digest for left in (*before, *after)}) == 1:
        return Likeness(True)
    kinds = {left.kind for left in (*before, *after)}
    if kinds == {"text"}:
        told = same_text([left.text for left in before], [left.text for left in after], path)
        return told if told.same is not None else Likeness(None)
    if kinds == {"values"}:
        told = _same_values([left.values for left in before], [left.values for left in after], False, f"in {path}")
        return Likeness(told.same, told.numbers, told.notes if told.same is False else (), told.exact)
    if len({left.digest for left in before}) > 1:
        return Likeness(None)
    return Likeness(False, notes=(f"the file {path} differs (compared byte by byte)",))
