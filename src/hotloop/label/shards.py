"""Rows that come in any order: each shard of the list is a file, whole or absent, and job.json is the manifest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hotloop.label.journal import begin, part_of, publish

LARGEST = 1024  # images in a shard: what is done again when a worker dies
EACH = 8  # shards for each worker, so that nobody waits long for the last one


def shard_size(images: int, workers: int, batch: int) -> int:
    """Whole batches: an image is then computed in the same company as without shards, and comes out the same."""
    wanted = min(LARGEST, -(-images // (workers * EACH)))
    return max(1, -(-wanted // batch)) * batch


class Shards:
    """The list in pieces, of which some are done."""

    def __init__(self, output: Path, settings: Mapping[str, Any], paths: Sequence[str], resume: bool) -> None:
        """`settings`: what the numbers depend on, with `shard`, the size of the pieces."""
        self.output = output
        self.paths = paths
        manifest = {**settings, "images": len(paths), "list of images": _digest(paths)}
        self.settings, self._lock = begin(output, manifest, resume)
        self.size: int = self.settings["shard"]

    def __len__(self) -> int:
        return -(-len(self.paths) // self.size)

    def __getitem__(self, shard: int) -> Sequence[str]:
        return self.paths[shard * self.size : (shard + 1) * self.size]

    def missing(self) -> list[int]:
        return [shard for shard in range(len(self)) if not self._file(shard).exists()]

    def keep(self, shard: int, lines: str) -> None:
        """On the disk before it counts as done; a shard that comes twice replaces itself."""
        fresh = self._file(shard).with_suffix(".tmp")
        with fresh.open("w", encoding="ascii", newline="\n") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file(shard))

    def publish(self, raw: bool, width: int) -> None:
        """All rows in the order of the list."""
        publish(self._lines(), self.output, raw, width)

    def close(self) -> None:
        self._lock.close()

    def _lines(self) -> Iterator[str]:
        for shard in range(len(self)):
            with self._file(shard).open(encoding="ascii") as file:
                yield from (line.rstrip("\n") for line in file)

    def _file(self, shard: int) -> Path:
        return part_of(self.output) / f"shard-{shard:05}.jsonl"


def _digest(paths: Sequence[str]) -> str:
    return hashlib.blake2b(json.dumps(list(paths)).encode("ascii"), digest_size=16).hexdigest()
