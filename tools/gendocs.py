"""Writes what the rules and bench/results say into the docs and the README. A test fails when they are stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hotloop.model import HotloopError
from hotloop.rules import SECTIONS, Rule, all_rules
from hotloop.rules.specimens import diff

ROOT = Path(__file__).resolve().parent.parent


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
    readme, how = root / "README.md", root / "docs" / "how-it-works.md"
    gains, costs = _results(root, "specimens"), _results(root, "overhead")
    found = {root / "docs" / "rules" / f"{rule.name}.md": page(rule, gains) for rule in all_rules()}
    return {
        **found,
        readme: filled(readme, "rules", table(gains)),
        how: filled(how, "overhead", overhead(costs)),
    }


def _results(root: Path, name: str) -> dict[str, Any]:
    path = root / "bench" / "results" / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {"results": {}}


def strays(root: Path) -> list[Path]:
    """Pages of rules that are no more."""
    known = {rule.name for rule in all_rules()}
    return [path for path in sorted((root / "docs" / "rules").glob("*.md")) if path.stem not in known]


def page(rule: Rule, gains: dict[str, Any]) -> str:
    parts = [f"# {rule.name}", rule.summary, _abilities(rule)]
    for name in SECTIONS:
        parts += [f"## {name}", rule.sections[name]]
    source = f"../../src/hotloop/rules/{rule.folder.name}"
    parts += [
        "## Example",
        f"The two programs are [here]({source}): both print the same answer.",
        _fenced(diff(rule)),
    ]
    if rule.name in gains["results"]:
        parts += ["## Measured", measured(gains["results"][rule.name], gains)]
    parts += [f"To silence it on one line: `# hotloop: ignore[{rule.name}]`."]
    parts += ["<!-- Generated from the rule's folder by `make docs`: edit the folder, not this page. -->"]
    return "\n\n".join(parts) + "\n"


def measured(result: dict[str, Any], gains: dict[str, Any]) -> str:
    low, high = result["interval"]
    return (
        f"The loop of the second program ran {result['speedup']:g} times as fast ({low:g} to {high:g}, "
        f"{result['runs']} runs of each in turns; {_where(gains)}). From a recording of the first alone hotloop "
        f"predicted that mending it saves "
        f"{result['predicted']:.0%} of the time in loops; it saved {result['saved']:.0%}."
    )


def overhead(costs: dict[str, Any]) -> str:
    rows = [
        "| program | time of its loop under `hotloop run`, against without | 95% interval | limit |",
        "|---|---|---|---|",
    ]
    for name, result in costs["results"].items():
        low, high = result["interval"]
        rows.append(f"| {name} | {result['ratio']:.3f} | {low:.3f} to {high:.3f} | {result['limit']} |")
    return "\n".join(rows) + f"\n\n{costs['pairs']} pairs of parts; {_where(costs)}." if costs["results"] else ""


def _where(results: dict[str, Any]) -> str:
    machine, versions = results["machine"], results["versions"]
    return f"{machine['cpus']} cores of {machine['cpu']}, TensorFlow {versions['tensorflow-cpu']}"


def table(gains: dict[str, Any]) -> str:
    rows = ["| rule | what is wrong | found by | mended: its example runs |", "|---|---|---|---|"]
    for rule in all_rules():
        link = f"[{rule.name}](docs/rules/{rule.name}.md)"
        rows.append(f"| {link} | {_cell(rule.summary)} | {_found_by(rule)} | {_gain(rule, gains)} |")
    return "\n".join(rows)


def _gain(rule: Rule, gains: dict[str, Any]) -> str:
    if not rule.fix:
        return "no"
    result = gains["results"].get(rule.name)
    return f"{result['speedup']:.3g}x as fast" if result else "yes"


def filled(path: Path, name: str, content: str) -> str:
    """The file with `content` between its markers of that name."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, found, rest = path.read_text(encoding="utf-8").partition(start)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise HotloopError(f"{path.name} has no {start} ... {end} to write into.")
    return f"{head}{start}\n{content}\n{end}{tail}"


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
