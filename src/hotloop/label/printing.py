"""What `hotloop label` says: rows for the terminal, and a summary for whoever waited."""

from __future__ import annotations

from collections.abc import Iterator

from hotloop.label.job import Summary
from hotloop.label.rows import Row
from hotloop.report.phrases import clean
from hotloop.words import count, duration, number, plural


def label_image_lines(row: Row) -> str:
    """As label_image.py prints them: a label and its score a line, nothing else."""
    if row.error is not None:
        return f"{clean(row.path)}: {row.error}\n"
    if row.raw is not None:
        return " ".join(map(str, row.raw)) + "\n"
    return "".join(f"{clean(label)} {score}\n" for label, score in zip(row.labels, row.scores, strict=True))


def titled_lines(row: Row) -> str:
    """The same under the image's name."""
    if row.error is not None:
        return f"{clean(row.path)}: {row.error}\n"
    return f"{clean(row.path)}\n" + "".join(f"  {line}\n" for line in label_image_lines(row).splitlines())


def sentences(summary: Summary, output: str | None) -> Iterator[str]:
    """What was done, how fast, what held it up."""
    done = f"{plural(summary.images, 'image')} in {duration(summary.seconds)} ({number(summary.rate)} images/s)"
    before = f", after {count(summary.resumed)} of the run before" if summary.resumed else ""
    yield f"{done}{before}, {summary.batch} at a time, {summary.prepared}. Limited by {summary.limit}."
    if summary.failures:
        first = "; ".join(f"{row.path}: {row.error}" for row in summary.failed)
        more = "; ..." if summary.failures > len(summary.failed) else ""
        yield f"{plural(summary.failures, 'image')} failed: {first}{more}."
    if output:
        yield f"wrote {output}."
