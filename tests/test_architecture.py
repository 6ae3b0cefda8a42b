"""The house keeps its shape: imports point down, nothing heavy loads early, no rule is named elsewhere."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotloop.rules import Rule, all_rules
from hotloop.rules.specimens import program, specimen, write

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "hotloop"

# A room imports from its own floor and from those below. A new module needs a floor here.
FLOORS = (
    {"model", "series", "settings", "words", "discover", "garbage", "ignore", "uttered"},
    {"source", "laps", "leavings", "loops", "printed", "results", "symptoms"} | {"changes", "epochs", "spans"},
    {"rules"},
    {"baseline", "cache", "check", "diagnose", "record", "report"},
    {"compare", "fix", "gate", "guard", "label", "environment", "verify", "watching"}
    | {"mending", "proving", "workshop", "writing"},
    {"cli", "integrations", "__main__", ""},  # "": the package's own __init__
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
HEAVY = {"tensorflow", "keras", "tf_keras", "numpy", "scipy", "libcst", "rich", "psutil", "pyarrow", "ray"}
SPECIMENS = ("slow", "fast", "edge", "demo")


def sources() -> list[Path]:
    """hotloop's own modules: not the specimens and the demo, which are users' programs."""
    paths = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    return [path for path in paths if not set(SPECIMENS) & {Path(part).stem for part in path.parts}]


def room_of(path: Path) -> str:
    room = path.parts[0].removesuffix(".py")
    return "" if room == "__init__" else room


def imports(tree: ast.AST, module_level: bool) -> Iterator[tuple[int, str]]:
    """What a module imports, by line and full name; on the module's own level only, if asked."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{'.' * node.level}{node.module or ''}.{a.name}") for a in node.names)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if not (module_level and (inside or _only_for_types(node))):
            waiting += ast.iter_child_nodes(node)


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def parsed(path: Path) -> ast.Module:
    return ast.parse((PACKAGE / path).read_bytes())


@pytest.mark.parametrize("path", sources(), ids=str)
def test_imports_point_down(path: Path) -> None:
    floor = FLOOR_OF.get(room_of(path))
    assert floor is not None, f"{path} has no floor: give it one in FLOORS"
    for line, name in imports(parsed(path), module_level=False):
        assert not name.startswith("."), f"{path}:{line} imports relatively: write hotloop.{name.strip('.')}"
        package, _, rest = name.partition(".")
        room = rest.partition(".")[0]
        if package == "hotloop" and room != "__version__":
            assert room in FLOOR_OF, f"{path}:{line} imports {name}, which has no floor"
            assert FLOOR_OF[room] <= floor, f"{path}:{line} imports {name}, which is upstairs"


@pytest.mark.parametrize("path", sources(), ids=str)
def test_nothing_heavy_is_imported_at_module_level(path: Path) -> None:
    heavy = {name for _, name in imports(parsed(path), module_level=True) if name.partition(".")[0] in HEAVY}
    assert not heavy


def test_the_tests_of_imports_can_fail() -> None:
    tree = ast.parse("import numpy.linalg\nif 1:\n    from hotloop.cli import main\ndef f():\n    import scipy\n")
    assert {name for _, name in imports(tree, module_level=True)} == {"numpy.linalg", "hotloop.cli.main"}
    assert (5, "scipy") in set(imports(tree, module_level=False))


def loaded_by(*arguments: str, cwd: Path) -> set[str]:
    """The modules in a fresh interpreter after one hotloop command."""
    script = (
        "import sys\nfrom hotloop.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write('\\nMODULES ' + ' '.join(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("MODULES ")[2].split())


def test_help_loads_fewer_than_100_modules(tmp_path: Path) -> None:
    loaded = loaded_by("--help", cwd=tmp_path)
    assert "hotloop.cli" in loaded
    assert len(loaded) < 100


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_check_never_loads_numpy_or_tensorflow(rule: Rule, tmp_path: Path) -> None:
    write(specimen(rule, "slow"), tmp_path)
    loaded = loaded_by("check", "--format", "json", program(rule, "slow"), cwd=tmp_path)
    assert "hotloop.check" in loaded
    # LibCST is loaded where there is something to mend: the finding says what its fix would be.
    assert not loaded & (HEAVY - {"libcst"})


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_no_rule_is_named_outside_its_folder(rule: Rule) -> None:
    named = re.compile(rf"(?<![\w-]){rule.name}(?![\w-])|(?<![\w-]){rule.folder.name}(?![\w-])")
    others = [path for path in PACKAGE.rglob("*.py") if rule.folder not in path.parents]
    tools = [*(ROOT / "tools").rglob("*.py"), *(ROOT / "bench").rglob("*.py"), ROOT / "Makefile"]
    guilty = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (*others, *tools)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        # Other rules' specimens may expect this one too; their messages may not name it.
        if named.search(line.partition("# expect:")[0])
    ]
    assert guilty == []


def test_no_room_is_too_large() -> None:
    ours = (path for folder in ("src", "tests", "tools", "bench") for path in (ROOT / folder).rglob("*.py"))
    sizes = {str(path.relative_to(ROOT)): path.read_bytes().count(b"\n") for path in ours}
    assert {path: lines for path, lines in sizes.items() if lines > 500} == {}
