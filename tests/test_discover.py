"""What a user's paths stand for: as git sees a project, and never what nobody wrote by hand."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from hotloop.discover import discover
from hotloop.ignore import ignored, names, parse
from hotloop.model import HotloopError


def tree(root: Path, *files: str, **contents: str) -> None:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
    for name, text in contents.items():
        (root / name).write_text(text)


def found(root: Path, *exclude: str) -> set[str]:
    return {path.relative_to(root).as_posix() for path in discover([root], exclude, root)}


def write_ignore(folder: Path, *lines: str) -> None:
    (folder / ".gitignore").write_text("\n".join(lines) + "\n")


def test_python_files_and_notebooks_are_found_and_nothing_else(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "b.ipynb", "c.pyc", "d.txt", "sub/e.py", "sub/py")
    assert found(tmp_path) == {"a.py", "b.ipynb", "sub/e.py"}


def test_hidden_folders_and_environments_are_passed_over_and_a_folder_called_env_is_not(tmp_path: Path) -> None:
    tree(tmp_path, ".git/x.py", ".ipynb_checkpoints/x.ipynb", "venv/x.py", "node_modules/x.py", "build/x.py")
    tree(tmp_path, "my/pyvenv.cfg", "my/lib/x.py", "conda/conda-meta/history", "conda/x.py", "env/gridworld.py")
    assert found(tmp_path) == {"env/gridworld.py"}


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["a.py"], {"b.py", "sub/b.py"}),
        (["/a.py"], {"b.py", "sub/a.py", "sub/b.py"}),
        (["sub"], {"a.py", "b.py"}),
        (["sub/"], {"a.py", "b.py"}),
        (["a.py/"], {"a.py", "b.py", "sub/a.py", "sub/b.py"}),
        (["*.py", "!b.py"], {"b.py", "sub/b.py"}),
        (["sub/", "!sub/b.py"], {"a.py", "b.py"}),
        (["sub/*", "!sub/b.py"], {"a.py", "b.py", "sub/b.py"}),
        (["**/b.py"], {"a.py", "sub/a.py"}),
        (["# a.py", "", "  ", "\\#x", "[ab.py"], {"a.py", "b.py", "sub/a.py", "sub/b.py"}),
        (["[!b].py"], {"b.py", "sub/b.py"}),
        (["a.py  ", "b.p?"], set()),
    ],
)
def test_gitignore_means_what_it_means_to_git(tmp_path: Path, lines: list[str], kept: set[str]) -> None:
    tree(tmp_path, "a.py", "b.py", "sub/a.py", "sub/b.py")
    write_ignore(tmp_path, *lines)
    assert found(tmp_path) == kept


def test_a_nearer_gitignore_has_the_last_word(tmp_path: Path) -> None:
    tree(tmp_path, "made.py", "sub/made.py", "sub/deep/made.py", "sub/own.py")
    write_ignore(tmp_path, "made.py")
    write_ignore(tmp_path / "sub", "!made.py", "/own.py")
    assert found(tmp_path) == {"sub/made.py", "sub/deep/made.py"}


def test_a_folder_inside_a_repository_is_seen_with_the_repository_s_eyes(tmp_path: Path) -> None:
    tree(tmp_path, ".git/HEAD", ".git/info/exclude", "sub/a.py", "sub/b.py", "sub/c.py")
    write_ignore(tmp_path, "/sub/a.py")
    (tmp_path / ".git" / "info" / "exclude").write_text("b.py\n")
    assert found(tmp_path / "sub") == {"c.py"}


def test_a_gitignore_above_a_project_that_is_no_repository_does_not_reach_it(tmp_path: Path) -> None:
    tree(tmp_path, "project/a.py")
    write_ignore(tmp_path, "*")
    assert found(tmp_path / "project") == {"a.py"}


def test_a_file_that_is_named_is_always_taken(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "venv/b.py", "script")
    write_ignore(tmp_path, "a.py")
    named = [tmp_path / "a.py", tmp_path / "venv" / "b.py", tmp_path / "script"]
    assert set(discover(named, ["*.py"], tmp_path)) == set(named)


def test_exclude_speaks_of_the_folder_of_the_settings(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "old/a.py", "sub/old/a.py")
    assert found(tmp_path, "/old/") == {"a.py", "sub/old/a.py"}


def test_links_neither_hang_nor_double_what_is_found(tmp_path: Path) -> None:
    tree(tmp_path, "sub/a.py", "other/b.py")
    (tmp_path / "sub" / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "sub" / "self.py").symlink_to(tmp_path / "sub" / "self.py")
    (tmp_path / "sub" / "same.py").symlink_to(tmp_path / "sub" / "a.py")
    (tmp_path / "sub" / "gone.py").symlink_to(tmp_path / "nowhere.py")
    assert found(tmp_path) == {"sub/a.py", "other/b.py"}
    assert found(tmp_path / "sub") == {"a.py"}


def test_a_file_named_twice_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a.py")
    monkeypatch.chdir(tmp_path)
    assert len(discover([Path("."), Path("a.py"), tmp_path / "a.py", tmp_path])) == 1


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HotloopError, match="no file or folder"):
        discover([tmp_path / "nothing"])


def test_a_list_of_patterns_names_a_file_through_its_folder() -> None:
    patterns = parse(["tests/", "*_test.py"], "/p")
    assert names("/p/tests/deep/a.py", patterns)
    assert names("/p/src/a_test.py", patterns)
    assert not names("/p/src/a.py", patterns)
    assert not ignored("/p/tests/deep/a.py", False, [patterns])


ATOMS = (
    r"a b ab * ** ? [ab] [!a] [^b] a* *.py x.py y.py *b \a [a-b]x.py [[:alpha:]].py **/a a/** *** a** [ [z-a] x\.py "
    r"[]a]* [a-]* #x.py \#x.py \!x.py [\]] ?.py [!/]"
)


def random_pattern(rng: random.Random) -> str:
    pattern = "/".join(rng.choice(ATOMS.split()) for _ in range(rng.choice([1, 1, 1, 2, 2, 3])))
    before = rng.choice(["", "", "", "/", "!", "!/"])
    return before + pattern + rng.choice(["", "", "", "/", " ", "\r"])


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to compare with")
@pytest.mark.parametrize("seed", range(60))
def test_what_is_found_is_what_git_would_add(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    folders = [tmp_path]
    for _ in range(6):
        folder = rng.choice(folders) / rng.choice(["a", "b", "ab", "c"])
        folder.mkdir(exist_ok=True)
        folders.append(folder)
    for folder in folders:
        for name in rng.sample(["x.py", "y.py", "a.py", "#x.py", "!x.py", "bx.py", "ab.py"], 3):
            (folder / name).touch()
    for folder in {tmp_path, rng.choice(folders)}:
        lines = [random_pattern(rng) for _ in range(rng.randint(1, 5))]
        (folder / ".gitignore").write_bytes("\n".join(lines).encode() + b"\n")
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"], cwd=tmp_path, capture_output=True, check=True
    )
    said = {name for name in listed.stdout.decode().split("\0") if name.endswith(".py")}
    assert found(tmp_path) == said
