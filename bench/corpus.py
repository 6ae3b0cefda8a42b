"""The packages of corpus.txt, unpacked side by side in a folder outside the repository: downloaded once, never run."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from surroundings import HERE

from hotloop.settings import cache_dir

PINS = HERE / "corpus.txt"


def pinned() -> dict[str, str]:
    """Package -> version."""
    return dict(re.findall(r"^([\w-]+)==(\S+)", PINS.read_text(), re.MULTILINE))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, default=cache_dir() / "bench", help="where the packages are kept")
    parser.add_argument("--only", action="append", choices=pinned(), help="try it on this package, keep no result")


def unpacked(corpus: Path, only: list[str] | None) -> list[str]:
    """The packages' folders, relative to `corpus`; those that are not there yet are downloaded."""
    return [_folder(corpus, name, version) for name, version in pinned().items() if name in (only or pinned())]


def _folder(corpus: Path, name: str, version: str) -> str:
    folder = corpus / f"{name}-{version}"
    if not folder.exists():
        corpus.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=corpus) as scratch:
            _download(name, Path(scratch))
            (wheel,) = Path(scratch).glob("*.whl")
            inside = Path(scratch, "unpacked")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(inside)
            inside.rename(folder)  # at once: what is there is whole
    return folder.name


def _download(name: str, to: Path) -> None:
    wanted = to / "wanted.txt"
    wanted.write_text("".join(line for line in PINS.open() if line.startswith(f"{name}==")))
    options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(to), "-r", str(wanted)]
    subprocess.run(command, check=True)


def sources(corpus: Path, folders: list[str]) -> list[Path]:
    """Every Python file."""
    return sorted(path for folder in folders for path in (corpus / folder).rglob("*.py"))
