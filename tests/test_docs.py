"""What is generated is what is committed; and a scaffolded rule is asked the questions, and fails them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gendocs
import newrule
import pytest

from hotloop.model import HotloopError

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("path", gendocs.pages(ROOT), ids=lambda path: path.name)
def test_generated_pages_are_up_to_date(path: Path) -> None:
    assert path.exists(), f"{path.name} is missing: make docs"
    assert path.read_text(encoding="utf-8") == gendocs.pages(ROOT)[path], f"{path.name} is stale: make docs"


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    assert gendocs.strays(ROOT) == []


def test_every_link_between_our_pages_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))]
    ours = [(page, link) for page, link in links if "://" not in link]
    assert [f"{page.name}: {link}" for page, link in ours if not (page.parent / link).exists()] == []


def test_a_page_without_a_place_for_what_is_generated_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# hotloop\n")
    with pytest.raises(HotloopError, match="no <!-- rules -->"):
        gendocs.filled(tmp_path / "README.md", "rules", "")


def test_a_scaffolded_rule_is_asked_every_question_and_fails_until_it_is_filled_in(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    folder = newrule.scaffold("made-up-ailment", tmp_path / "src" / "hotloop" / "rules")
    assert {path.name for path in folder.iterdir()} == {"__init__.py", "slow.py", "fast.py", "edge.py"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "made-up-ailment", "-rfE"]
    done = subprocess.run(
        [*command, str(ROOT / "tests" / "test_rules.py")],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    failed = set(re.findall(r"^FAILED .*?::(\w+)", done.stdout, re.MULTILINE))
    assert failed == {
        "test_check_says_exactly_what_the_comments_expect",
        "test_the_fix_of_slow_is_fast",
        "test_the_recording_of_slow_names_the_rule_and_the_line",
        "test_the_recording_of_fast_is_silent",
        "test_a_recording_is_small_and_holds_nothing_of_the_machine",
        "test_the_folder_explains_its_rule",
    }


@pytest.mark.parametrize("name", ["", "slow", "Session-In-Loop", "../outside", "two words"])
def test_a_rule_needs_a_name_that_says_what_is_wrong(name: str, tmp_path: Path) -> None:
    with pytest.raises(HotloopError, match="two words or more"):
        newrule.scaffold(name, tmp_path)
    assert list(tmp_path.iterdir()) == []
