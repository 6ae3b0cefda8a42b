"""Writes docs/rules/ and the README's table from the rules themselves. A test fails when they are stale."""

from __future__ import annotations

import sys
from pathlib import Path

from hotloop.model import HotloopError
from hotloop.rules import SECTIONS, Rule, all_rules
from hotloop.rules.specimens import diff

ROOT = Path(__file__).resolve().parent.parent
START, END = "<!-- rules -->", "<!-- /rules -->"


def main() -> int:
    try:
        wanted = pages(ROOT)
    except HotloopError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    for path in strays(ROOT):
        path.unlink()
        print(f"removed {path.relative_to(ROOT)}")
    return 0


def pages(root: Path) -> dict[Path, str]:
    """Every generated file and what it should hold."""
    unfinished = [f"{rule.name}: {wrong}" for rule in all_rules() for wrong in rule.complaints()]
    if unfinished:
        raise HotloopError("finish these rules first.\n" + "\n".join(unfinished))
    readme = root / "README.md"
    found = {root / "docs" / "rules" / f"{rule.name}.md": page(rule) for rule in all_rules()}
    return {**found, readme: with_table(readme.read_text(encoding="utf-8"))}


def strays(root: Path) -> list[Path]:
    """Pages of rules that are no more."""
    known = {rule.name for rule in all_rules()}
    return [path for path in sorted((root / "docs" / "rules").glob("*.md")) if path.stem not in known]


def page(rule: Rule) -> str:
    parts = [f"# {rule.name}", rule.summary, _abilities(rule)]
    for name in SECTIONS:
        parts += [f"## {name}", rule.sections[name]]
    source = f"../../src/hotloop/rules/{rule.folder.name}"
    parts += [
        "## Example",
        f"The two programs are [here]({source}): both print the same answer.",
        _fenced(diff(rule)),
    ]
    parts += [f"To silence it on one line: `# hotloop: ignore[{rule.name}]`."]
    parts += ["<!-- Generated from the rule's folder by `make docs`: edit the folder, not this page. -->"]
    return "\n\n".join(parts) + "\n"


def table() -> str:
    rows = ["| rule | what is wrong | found by | mended |", "|---|---|---|---|"]
    for rule in all_rules():
        link = f"[{rule.name}](docs/rules/{rule.name}.md)"
        rows.append(f"| {link} | {_cell(rule.summary)} | {_found_by(rule)} | {'yes' if rule.fix else 'no'} |")
    return "\n".join(rows)


def with_table(readme: str) -> str:
    head, start, rest = readme.partition(START)
    _, end, tail = rest.partition(END)
    if not (start and end):
        raise HotloopError(f"README.md has no {START} ... {END} to write the table of rules into.")
    return f"{head}{START}\n{table()}\n{END}{tail}"


def _found_by(rule: Rule) -> str:
    return " and ".join(name for name, part in (("`check`", rule.check), ("`run`", rule.diagnose)) if part)


def _abilities(rule: Rule) -> str:
    mended = "mended by `fix`" if rule.fix else "not mended by `fix`"
    return f"Found by {_found_by(rule)}; {mended}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _fenced(text: str) -> str:
    return f"```diff\n{text}\n```"


if __name__ == "__main__":
    sys.exit(main())
