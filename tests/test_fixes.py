"""What fixes make of source, and what they leave alone and why. No TensorFlow: `tests/tf` runs the results."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hotloop.check import check
from hotloop.mending import Mended, mend
from hotloop.model import Refusal
from hotloop.rules import Rule, all_rules, find_rule
from hotloop.rules.specimens import plain, specimen
from hotloop.source import project_of
from hotloop.source.rewrite import apply_edits

FUNCTION, NUMBER = "function-in-loop", "python-number-argument"
FIXED = [rule for rule in all_rules() if rule.check and rule.fix]


def text(source: str) -> bytes:
    return textwrap.dedent(source).lstrip("\n").encode()


def mended(rule: Rule, contents: dict[str, bytes]) -> Mended:
    """Every fix of a rule, after asking what must hold of each and of all together."""
    project = project_of(contents)
    for finding in check(project, [rule])[0]:
        answer = rule.fix(finding, project) if rule.fix else None
        if isinstance(answer, Refusal):
            assert answer.reason
            assert answer.place.path in contents
            assert 1 <= answer.place.line <= contents[answer.place.path].count(b"\n") + 1
            continue
        assert answer is not None
        assert answer.safety in ("safe", "verify", "advice")
        for path in {edit.path for edit in answer.edits}:
            ast.parse(apply_edits(contents[path], [e for e in answer.edits if e.path == path]))
    result = mend(contents, [rule])
    again = mend(result.contents, [rule])
    assert again.contents == result.contents
    assert not again.done
    return result


def refusals(rule: str, source: str) -> list[tuple[int, str]]:
    before = {"program.py": source.encode()}
    result = mended(find_rule(rule), before)
    assert result.contents == before, "it was changed"
    return [(refusal.place.line, refusal.reason) for _, refusal in result.refusals]


def rewritten(rule: str, before: bytes) -> bytes:
    result = mended(find_rule(rule), {"program.py": before})
    assert result.refusals == []
    assert not [f for f in check(project_of(result.contents), [find_rule(rule)])[0] if f.confidence != "low"]
    return result.contents["program.py"]


# -- the cases in tests/fixes --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """`=== what it is`, a program, and what becomes of it: see tests/fixes/*.txt."""

    rule: str
    title: str
    before: str
    after: str = ""
    line: int = 0
    reason: str = ""
    advised: str = ""


def cases() -> Iterator[Case]:
    for file in sorted(Path(__file__).with_name("fixes").glob("*.txt")):
        for part in file.read_text(encoding="utf-8").split("=== ")[1:]:
            title, _, rest = part.partition("\n")
            before, mark, after = rest.partition("--- becomes\n")
            if mark:
                yield Case(file.stem, title, before, after.rstrip("\n") + "\n")
                continue
            before, mark, after = rest.partition("--- advises\n")
            if mark:
                yield Case(file.stem, title, before, advised=after.rstrip("\n") + "\n")
                continue
            before, _, refused = rest.partition("--- refused on line ")
            line, _, reason = refused.strip().partition(": ")
            yield Case(file.stem, title, before, line=int(line), reason=reason)


def of(chosen: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", list(chosen), ids=lambda case: case.title)


REFUSED = [case for case in cases() if case.reason]
REWRITTEN = [case for case in cases() if case.after]
ADVISED = [case for case in cases() if case.advised]


@of(REFUSED)
def test_a_fix_leaves_alone_and_says_why(case: Case) -> None:
    found = refusals(case.rule, case.before)
    assert [at for at, _ in found] == [case.line], found
    assert case.reason in found[0][1]


@of(REWRITTEN)
def test_a_fix_rewrites(case: Case) -> None:
    ast.parse(case.after)
    assert rewritten(case.rule, case.before.encode()).decode() == case.after


@of(ADVISED)
def test_a_fix_that_gives_other_numbers_is_shown_and_not_made(case: Case) -> None:
    before = {"program.py": case.before.encode()}
    result = mended(find_rule(case.rule), before)
    assert result.contents == before
    ((_, fix),) = result.advice
    assert apply_edits(before["program.py"], fix.edits).decode() == case.advised


@of(REWRITTEN)
def test_line_endings_survive(case: Case) -> None:
    before, after = (side.replace("\n", "\r\n").encode() for side in (case.before, case.after))
    assert rewritten(case.rule, before) == after


@of(REWRITTEN)
def test_tabs_survive(case: Case) -> None:
    before, after = (side.replace("    ", "\t").encode() for side in (case.before, case.after))
    assert rewritten(case.rule, before) == after


def test_every_rule_with_cases_is_refused_something_and_rewritten_something() -> None:
    assert {case.rule for case in REFUSED} == {case.rule for case in (*REWRITTEN, *ADVISED)}
    assert len(REFUSED) >= 30
    assert len(REWRITTEN) >= 15


@pytest.mark.parametrize("first", ["for x in batches:", "while True:\n    x = next(batches)"])
@pytest.mark.parametrize("then", ["x = x / 255.0", "x /= 255.0"])
def test_a_batch_that_is_scaled_is_no_number(first: str, then: str) -> None:
    source = f"import tensorflow as tf\nstep = tf.function(lambda x: x + 1)\n{first}\n    {then}\n    step(x)\n"
    assert check(project_of({"program.py": source.encode()}), [find_rule(NUMBER)]) == ([], [])


def test_names_that_are_not_ascii_do_not_shift_the_change() -> None:
    before = 'import tensorflow as tf\nfor bild in bilder:\n    größe = "ü"; n = tf.function(model)(bild)\n'
    after = before.replace("for bild", "model_function = tf.function(model)\nfor bild").replace(
        "n = tf.function(model)(bild)", "n = model_function(bild)"
    )
    assert rewritten(FUNCTION, before.encode()).decode() == after


def test_a_factory_in_another_file_stays_and_its_call_moves() -> None:
    made = text("""
        import tensorflow as tf
        def make():
            return tf.function(lambda x: x + 1)
    """)
    used = text("""
        from made import make
        for batch in batches:
            step = make()
            step(batch)
    """)
    result = mended(find_rule(FUNCTION), {"made.py": made, "used.py": used})
    assert result.refusals == []
    assert result.contents["made.py"] == made
    assert result.contents["used.py"] == text("""
        from made import make
        step = make()
        for batch in batches:
            step(batch)
    """)


def test_each_of_two_files_whose_ops_stand_on_the_same_line_is_mended_as_if_alone() -> None:
    rule = find_rule("ops-in-loop")
    start = "import tensorflow.compat.v1 as tf\nsession = tf.Session()\n"
    one = f"{start}total = tf.Variable(0.0)\nfor step in range(500):\n    session.run(total.assign(1.0))\n".encode()
    two = f"{start}image = tf.Variable([0.0])\nwhile True:\n    print(session.run(tf.reduce_sum(image)))\n".encode()
    alone = {name: mended(rule, {name: data}).contents[name] for name, data in (("one.py", one), ("two.py", two))}
    result = mended(rule, {"one.py": one, "two.py": two})
    assert result.refusals == []
    assert result.contents == alone


@pytest.mark.parametrize("rule", FIXED, ids=lambda rule: rule.name)
@pytest.mark.parametrize("name", ["slow", "edge"])
def test_every_fix_of_a_specimen_parses_and_settles(rule: Rule, name: str) -> None:
    before = plain(specimen(rule, name))
    result = mended(rule, before)
    assert result.done or result.advice
    for data in result.contents.values():
        ast.parse(data)


def test_a_pipeline_of_two_files_is_left_alone_for_that_reason() -> None:
    folders = """
        import tensorflow as tf
        def images(path):
            return tf.data.Dataset.list_files(path).map(tf.io.read_file).shuffle(1000)
    """
    program = """
        import tensorflow as tf
        from folders import images
        photos = images("photos/*.jpg")
        def cropped(data):
            return tf.image.random_crop(tf.image.decode_jpeg(data), [64, 64, 3])
        photos = photos.map(cropped).cache().shuffle(1000)
    """
    result = mended(find_rule("pipeline-order"), {"folders.py": text(folders), "program.py": text(program)})
    assert [refusal.reason for _, refusal in result.refusals] == ["some stages of the pipeline stand in another file"]
