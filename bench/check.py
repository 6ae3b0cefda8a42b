"""How fast `hotloop check` reads big public packages, beside ruff and pylint in turns, and how much memory it takes.

Each tool runs as it comes, started as a program. `--all` reads every file, as ruff and pylint do; without it hotloop
leaves out tests and benchmarks. Pylint reads a sample, a part of it in each round; its start is not counted, the rest
is extrapolated by bytes. It has no TensorFlow to look into, which makes it faster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus import add_arguments, sources, unpacked
from surroundings import HERE, surroundings

from hotloop.series import bootstrap_ratio, median

PYLINT = "4.1.3"
SEED, SAMPLE = 3, 40  # files that pylint reads
CACHED = 4  # cached runs for each cold one: they are short
TICK = 0.05  # seconds between two looks at the memory

# The most, or the least, that it should be, and of what.
BARS = {
    "cold": ("hotloop check / ruff --no-cache", "at most", 12.0),
    "cold --all": ("hotloop check --all / ruff --no-cache", "", 0.0),
    "cached": ("hotloop check / ruff, both cached", "at most", 2.0),
    "pylint": ("pylint / hotloop check --all", "at least", 50.0),
    "cores": ("cores that a cold hotloop check keeps busy", "", 0.0),
    "memory": ("MB in all processes of hotloop at once", "at most", 600.0),
}

Pairs = list[tuple[float, float]]


@dataclass(frozen=True)
class Tools:
    """The commands, with their caches in `scratch`."""

    corpus: Path
    folders: list[str]
    scratch: Path

    @property
    def report(self) -> Path:
        return self.scratch / "report.json"

    def hotloop(self, *options: str, home: str | None = None) -> float:
        seconds = self._seconds(self.hotloop_command(*options), home or self.empty())
        self.require_report()
        return seconds

    def hotloop_command(self, *options: str) -> list[str]:
        return [_program("hotloop"), "check", "--format", "json", "--output", str(self.report), *options, *self.folders]

    def require_report(self) -> None:
        """A crash ends with the same code as findings do, and sooner: only a whole report counts as a run."""
        if not self.report.exists():
            raise SystemExit("hotloop wrote no report: nothing was measured.")
        said = json.loads(self.report.read_bytes())
        self.report.unlink()
        if said["problems"] or not said["meta"]["parsed"]:
            raise SystemExit(f"hotloop read {said['meta']['parsed']} files and failed {len(said['problems'])} times.")

    def ruff(self, *options: str) -> float:
        cache = ["--cache-dir", str(self.scratch / "ruff")]
        return self._seconds(
            [_program("ruff"), "check", "--isolated", "--select", "PERF", *cache, *options, *self.folders]
        )

    def pylint(self, files: Sequence[Path]) -> float:
        return self._seconds([str(_pylint(self.corpus)), "--rcfile", os.devnull, *map(str, files)])

    def empty(self) -> str:
        return tempfile.mkdtemp(dir=self.scratch)

    def environment(self, home: str) -> dict[str, str]:
        return os.environ | {"HOTLOOP_HOME": home, "PYLINTHOME": str(self.scratch)}

    def _seconds(self, command: list[str], home: str = "") -> float:
        start = time.perf_counter()
        done = subprocess.run(
            command, cwd=self.corpus, env=self.environment(home), stdout=subprocess.DEVNULL, check=False
        )
        seconds = time.perf_counter() - start
        code = done.returncode
        # Pylint's code is a sum of what it found; alone, 1 is Python's own for a crash, and 32 a wrong command.
        if (code == 1 or code >= 32 or code < 0) if command[0].endswith("pylint") else code not in (0, 1):
            raise SystemExit(f"{command[0]} ended with code {code}.")
        return seconds


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _pylint(corpus: Path) -> Path:
    """In an environment of its own, made once."""
    home = corpus / f"pylint-{PYLINT}"
    if not home.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([str(home / "bin" / "pip"), "install", *quiet, f"pylint=={PYLINT}"], check=True)
    return home / "bin" / "pylint"


# -- the rounds --------------------------------------------------------------------------------------------------------


def measure(tools: Tools, rounds: int) -> dict[str, Pairs]:
    """Seconds of both sides, taken in turns."""
    files = sources(tools.corpus, tools.folders)
    total = sum(path.stat().st_size for path in files)
    sample = random.Random(SEED).sample(files, min(SAMPLE, len(files)))
    nothing = tools.scratch / "nothing.py"
    nothing.touch()
    kept = tools.empty()
    for _ in range(2):  # fill the caches, the file system's too
        tools.hotloop(home=kept)
        tools.ruff()
    tools.pylint([nothing])
    found: dict[str, Pairs] = {"cold": [], "cold --all": [], "cached": [], "pylint": []}
    for number in range(rounds):
        ruff = tools.ruff("--no-cache")
        found["cold"].append((tools.hotloop(), ruff))
        everything = tools.hotloop("--all")
        found["cold --all"].append((everything, tools.ruff("--no-cache")))
        part = sample[number::rounds]
        seconds = tools.pylint(part) - tools.pylint([nothing])
        found["pylint"].append((seconds / sum(path.stat().st_size for path in part) * total, everything))
        found["cached"] += [(tools.hotloop(home=kept), tools.ruff()) for _ in range(CACHED)]
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return found


def busy(tools: Tools) -> float:
    """Seconds of computing per second of waiting."""
    before = os.times()
    seconds = tools.hotloop()
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent / seconds


def peak(tools: Tools, *options: str) -> float:
    """The most megabytes that hotloop's processes held at once; what they share (PSS) counts once."""
    import psutil

    most = 0.0
    command = tools.hotloop_command(*options)
    with subprocess.Popen(
        command, cwd=tools.corpus, env=tools.environment(tools.empty()), stdout=subprocess.DEVNULL
    ) as process:
        first = psutil.Process(process.pid)
        while process.poll() is None:
            most = max(most, sum(_held(each) for each in _family(first)))
            time.sleep(TICK)
    tools.require_report()
    return most / 1e6


def _family(first: Any) -> list[Any]:
    import psutil

    try:
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def _held(process: Any) -> float:
    import psutil

    try:
        memory = process.memory_full_info()
    except psutil.Error:  # it ended meanwhile
        return 0.0
    return float(getattr(memory, "pss", memory.rss))


# -- what is said ------------------------------------------------------------------------------------------------------


def compared(name: str, pairs: Pairs) -> dict[str, Any]:
    ours, theirs = zip(*pairs, strict=True)
    ratio, low, high = bootstrap_ratio(ours, theirs)
    seconds = [[round(value, 3) for value in side] for side in (ours, theirs)]
    interval = [round(low, 2), round(high, 2)]
    middle = round(median([a / b for a, b in pairs]), 2)
    return _against(name, ratio) | {"interval": interval, "median": middle, "seconds": seconds}


def _against(name: str, value: float) -> dict[str, Any]:
    what, side, bar = BARS[name]
    limit = {side: bar, "holds": value <= bar if side == "at most" else value >= bar} if side else {}
    return {"what": what, "value": round(value, 2)} | limit


def table(results: dict[str, dict[str, Any]]) -> str:
    """The mean ratio (of logarithms, like its 95% interval), the median, and the bar."""
    lines = [f"{'':44} {'mean':>8}   {'95% interval':18} {'median':>8}   bar"]
    for row in results.values():
        between = "{} to {}".format(*row["interval"]) if "interval" in row else ""
        bar = next((f"{side} {row[side]:g}" for side in ("at most", "at least") if side in row), "")
        holds = {True: "holds", False: "MISSED", None: ""}[row.get("holds")]
        middle = f"{row['median']:.2f}" if "median" in row else ""
        lines.append(f"{row['what']:44} {row['value']:>8.2f}   {between:18} {middle:>8}   {bar:12} {holds}".rstrip())
    return "\n".join(lines)


def facts(tools: Tools) -> dict[str, Any]:
    files = sources(tools.corpus, tools.folders)
    megabytes = round(sum(path.stat().st_size for path in files) / 1e6, 1)
    return {"packages": tools.folders, "files": len(files), "megabytes": megabytes, "pylint_sample": SAMPLE}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=HERE / "results" / "check.json")
    add_arguments(parser)
    arguments = parser.parse_args()
    folders = unpacked(arguments.corpus, arguments.only)
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(arguments.corpus.resolve(), folders, Path(scratch))
        results = {name: compared(name, pairs) for name, pairs in measure(tools, arguments.rounds).items()}
        results["cores"] = _against("cores", busy(tools))
        results["memory"] = _against("memory", max(peak(tools), peak(tools, "--all")))
    print(table(results))
    where = surroundings("hotloop", "ruff")
    where["versions"]["pylint"] = PYLINT
    if not arguments.only:
        content = {**where, "corpus": facts(tools), "rounds": arguments.rounds, "results": results}
        arguments.output.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
