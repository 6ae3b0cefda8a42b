"""How far a long job is, for somebody who waits at a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0  # seconds before anything is shown
EVERY = 0.1  # seconds between two looks


@contextmanager
def progress(
    stream: TextIO, clock: Callable[[], float] = time.monotonic, doing: str = "reading", what: str = "files"
) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with (done, in all); None where nobody watches. It leaves nothing on the screen."""
    if not stream.isatty():
        yield None
        return
    bar: Progress | None = None
    began = seen = clock()

    def step(done: int, total: int) -> None:
        nonlocal bar, seen
        now = clock()
        if now - began < PATIENCE or (bar and now - seen < EVERY):
            return
        seen = now
        bar = bar or _bar(stream, doing, what)
        bar.update(bar.task_ids[0], completed=done, total=total, refresh=True)

    try:
        yield step
    finally:
        if bar is not None:
            bar.stop()


def _bar(stream: TextIO, doing: str, what: str) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.0f} {what}/s" if task.speed else what)

    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(file=stream), transient=True, auto_refresh=False)
    bar.add_task("", total=None)
    bar.start()
    return bar
