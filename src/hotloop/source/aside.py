"""Which files stand aside: tests and benchmarks, by their path."""

from __future__ import annotations

import re


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
