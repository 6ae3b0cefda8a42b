"""Writes what the rules and bench/results say into the docs and the README. A test fails when they are stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hotloop import words
from hotloop.model import HotloopError
from hotloop.rules import SECTIONS, Rule, all_rules
from hotloop.rules.specimens import diff

ROOT = Path(__file__).resolve().parent.parent
REFUSALS = 12  # reasons that are listed
NEAR = 0.25  # of what was saved: a prediction so far off is still a good one


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
    docs = root / "docs"
    readme, how, told, check = root / "README.md", docs / "how-it-works.md", docs / "run.md", docs / "check.md"
    gains, costs, speed, labels = (_results(root, name) for name in ("specimens", "overhead", "check", "label"))
    found = {docs / "rules" / f"{rule.name}.md": page(rule, gains) for rule in all_rules()}
    return {
        **found,
        readme: filled(readme, "rules", table(gains)),
        how: filled(how, "overhead", overhead(costs)),
        told: filled(told, "prediction", prediction(gains)),
        check: filled(check, "speed", reading(speed)),
        docs / "fix.md": proved(docs / "fix.md", _results(root, "fixes")),
        docs / "label.md": filled(docs / "label.md", "label", labelling(labels["results"])),
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
    machine = gains["machine"] | {"cpus": result.get("cpus", gains["machine"]["cpus"])}
    where = f"{result['runs']} runs of each in turns; {_where(gains | {'machine': machine})}"
    told = f"The loop of the second program ran {result['speedup']:g} times as fast ({low:g} to {high:g}, {where})."
    what = "time in loops"
    if result.get("measured") == "memory":
        told = f"The second program needed {result['saved']:.0%} less memory at its peak ({where})."
        what = "peak of memory"
    foretold = (
        f"predicted that mending it saves {result['predicted']:.0%} of the {what}; it saved {result['saved']:.0%}"
    )
    return f"{told} From a recording of the first alone hotloop {foretold}."


def overhead(costs: dict[str, Any]) -> str:
    """Time of each program's loop while somebody watches, against nobody."""
    if not costs["results"]:
        return ""
    tools = list(dict.fromkeys(tool for result in costs["results"].values() for tool in result["ratios"]))
    rows = [f"| program | {' | '.join(tools)} | limit for hotloop |", "|---" * (len(tools) + 2) + "|"]
    for name, result in costs["results"].items():
        said = {tool: _interval(one["ratio"], one["interval"]) for tool, one in result["ratios"].items()}
        cells = [said.get(tool, "") for tool in tools]
        rows.append(f"| {name} | {' | '.join(cells)} | {result['limit']:.2f} |")
    return "\n".join(rows) + f"\n\nRatios of time, {costs['rounds']} rounds or more; 95% intervals; {_where(costs)}."


def _interval(value: float, ends: list[float]) -> str:
    return f"{value:.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


def prediction(gains: dict[str, Any]) -> str:
    """What a recording of the slow program alone foretold, against what the fast one saved."""
    rows = ["| rule | predicted | saved | |", "|---|---|---|---|"]
    right = asked = 0
    for name, result in gains["results"].items():
        if result["predicted"] is None:
            continue
        near = abs(result["predicted"] - result["saved"]) <= NEAR * result["saved"]
        right, asked = right + near, asked + 1
        of = " of the memory" if result.get("measured") == "memory" else ""
        cores = result.get("cpus", gains["machine"]["cpus"])
        where = f" (on {words.plural(cores, 'core')})" if cores != gains["machine"]["cpus"] else ""
        rows.append(
            f"| {name}{where} | {result['predicted']:.0%}{of} | {result['saved']:.0%} | {'' if near else 'off'} |"
        )
    said = f"{right} of {asked} within {NEAR:.0%} of what was saved" if asked else "not measured"
    return "\n".join(rows) + f"\n\nShares of the time in loops, or of the peak of memory; {said}; {_where(gains)}."


def reading(speed: dict[str, Any]) -> str:
    """How fast `check` reads."""
    if not speed["results"]:
        return ""
    rows = ["| what | measured | wanted |", "|---|---|---|"]
    for result in speed["results"].values():
        ends = "" if "interval" not in result else " ({:.3g} to {:.3g})".format(*result["interval"])
        wanted = next((f"{side} {result[side]:g}" for side in ("at most", "at least") if side in result), "")
        rows.append(f"| {result['what']} | {result['value']:.3g}{ends} | {wanted} |")
    return "\n".join(rows) + f"\n\n{_where(speed)}."


def labelling(results: dict[str, Any]) -> str:
    """How fast `label` is beside its peers, for each network that was measured, and whether it stays so."""
    parts = [_labelled(one) for name, one in results.items() if name not in ("gpu", "flat", "demo")]
    if "gpu" in results:
        parts.append(f"On a GPU ({results['gpu']['gpu']}):\n\n{_labelled(results['gpu'])}")
    if "flat" in results:
        flat = results["flat"]
        wall, cpu = (_interval(one["ratio"], one["interval"]) for one in flat["slower"].values())
        parts.append(
            f"In one run of {flat['images']:,} images ({flat['network']}), an image of the last tenth took {wall} "
            f"times as long as one of the first, and {cpu} times the CPU; memory grew by {flat['grown_mb']:g} MB; "
            f"{_where(flat)}."
        )
    if "demo" in results:
        demo = results["demo"]
        faster = _interval(demo["faster"]["ratio"], demo["faster"]["interval"])
        parts.append(
            f"On the same {demo['images']} images as the program of `make demo`, both from start to end with the "
            f"import of TensorFlow, `hotloop label` is {faster} times as fast; {_where(demo)}."
        )
    return "\n\n".join(parts)


def _labelled(one: dict[str, Any]) -> str:
    rows = [f"| {one['network']} | images/s | `hotloop label` is | scores off by |", "|---|---|---|---|"]
    for name, peer in one["words"].items():
        found = one["faster"].get(name)
        ratio = "{:.3g}x as fast ({:.3g} to {:.3g})".format(found["ratio"], *found["interval"]) if found else ""
        off = f"{one['off'][name]:.1g}" if name in one["off"] else ""
        rows.append(f"| {peer} | {one['rates'][name]:.4g} | {ratio} | {off} |")
    reached = {name: _interval(found["ratio"], found["interval"]) for name, found in one["reached"].items()}
    told = (
        f"`hotloop label` reaches {reached['bottleneck']} of the slower of decoding alone and computing alone, and "
        f"{reached['same cores']} of what they come to one after the other. {one['images']} photographs of 400 to 2000 "
        f"pixels in each turn, {one['rounds']} rounds; 95% intervals; {_where(one)}. Scores are compared with those of "
        f"one session."
    )
    return "\n".join(rows) + f"\n\n{told}"


def proved(path: Path, fixes: dict[str, Any]) -> str:
    """The page with how near the fixes come to an expert, and what they do to source that nobody wrote for them."""
    return filled(path, "harm", _harm(fixes), filled(path, "experts", _experts(fixes)))


def _experts(fixes: dict[str, Any]) -> str:
    if "speed" not in fixes:
        return "Not measured yet."
    speed = fixes["speed"]
    rows = ["| program | kind | speed, of the expert's 1 | the slow one |", "|---|---|---|---|"]
    for name, result in speed["cases"].items():
        if result["reached"] is None or "interval" not in result:
            rows.append(f"| {name} | {result['kind']} | {result['how']} | |")
            continue
        low, high = result["interval"]
        reached = f"{result['reached']:.2f} ({low:.2f} to {high:.2f})"
        refused = "" if result["fixes"] or not result.get("refused") else ", refused"
        rows.append(f"| {name} | {result['kind']} | {reached}{refused} | {result['slow']:.2f} |")
    near = f"{speed['near']} of {speed['of']} reach 0.9 or are the same text"
    return "\n".join(rows) + f"\n\n{near}; {speed['runs']} runs of each; {_where(fixes)}."


def _harm(fixes: dict[str, Any]) -> str:
    parts = []
    if found := fixes.get("corpus"):
        where = f"{found['packages']} public packages ({found['files']} files)"
        harm = f"{found['harmed']} of which did not parse, lost a comment or changed a statement they left in place"
        done, not_done = found.get("fixed", 0), found.get("refused", 0)
        said = f"Every fix for every finding, of low confidence too, in {where}: {done} changes, {harm}; "
        parts.append(f"{said}{not_done} refusals, of which the commonest are:")
        rows = [f"| {rule} | {_cell(reason)} | {number} |" for rule, reason, number in found["refusals"][:REFUSALS]]
        parts.append("\n".join(["| rule | why not | how often |", "|---|---|---|", *rows]))
    if found := fixes.get("fuzz"):
        what = "values carried from step to step, names used twice, exceptions, nested loops, tabs, CRLF"
        with_ = "TensorFlow" if found["tensorflow"] == "itself" else "a stand-in for TensorFlow"
        parts.append(
            f"{found['programs']:,} generated programs ({what}), run with {with_} before and after: "
            f"{found['mended']} were mended, {found['different']} of them print something else, "
            f"{found['different_though_safe']} where all fixes are safe."
        )
    return "\n\n".join(parts) or "Not measured yet."


def _where(results: dict[str, Any]) -> str:
    machine, versions = results["machine"], results["versions"]
    found = versions.get("tensorflow-cpu") or versions.get("tensorflow_cpu") or versions.get("tensorflow")
    cores = words.plural(machine["cpus"], "core")
    return f"{cores} of {machine['cpu']}" + (f", TensorFlow {found}" if found else "")


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
    if result and result.get("measured") == "memory":
        return f"with {result['saved']:.0%} less memory"
    return f"{result['speedup']:.3g}x as fast" if result else "yes"


def filled(path: Path, name: str, content: str, text: str = "") -> str:
    """The file (or `text`, as it is by now) with `content` between its markers of that name."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, found, rest = (text or path.read_text(encoding="utf-8")).partition(start)
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
