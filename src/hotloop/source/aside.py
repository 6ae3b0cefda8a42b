"""Which files stand aside: tests and benchmarks, by their path."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable


def above(paths: Iterable[str]) -> str:
    """The folder that holds all files outside of the root (their paths are absolute): its name says nothing of them."""
    outside = {os.path.dirname(path) for path in paths if os.path.isabs(path)}
    return os.path.commonpath(outside) if outside else ""


def is_aside(path: str) -> bool:
    """Tests and benchmarks, by their path."""
    return is_test(path) or is_benchmark(path)


def is_test(path: str) -> bool:
    *folders, name = path.replace("\\", "/").split("/")
    stem = name.removesuffix(".py")
    return (
        stem.startswith("test_")
        or stem.endswith(("_test", "_tests"))
        or stem == "conftest"
        or any(folder in ("test", "tests", "testing") for folder in folders)
    )


def is_benchmark(path: str) -> bool:
    return re.search(r"bench(mark)?s?(_|/|\.|$)", path.lower()) is not None
