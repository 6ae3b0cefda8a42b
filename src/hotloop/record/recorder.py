"""Gathers everything measured in this process into one Recording, again and again, and writes it."""

from __future__ import annotations

import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from hotloop import __version__
from hotloop.model import Exit, Place, Recording, Sample, Series
from hotloop.record.frames import Frames, Stack
from hotloop.record.log import Log
from hotloop.record.phases import IDLE
from hotloop.record.track import CEILING, Track, ceiling_for

DRAIN_EVERY = 0.1
SOON = 0.02  # at first, and after a rush: a tight loop shall not be counted for long
SLOWING = 50  # times after which the interval has doubled
RUSH = 50_000  # ticks at once: a tight loop would fill its queue before the next time


class Recorder:
    def __init__(self, target: Path, program: Path, argv: list[str], frames: Frames) -> None:
        self.target = target
        self.frames = frames
        self.origin = perf_counter_ns()
        self.log = Log(frames, self.origin)
        self.tracks: list[Track] = []
        self.samples: Callable[[], tuple[Sample, ...]] = tuple
        self.memory: Callable[[], Series] = lambda: Series("rss", "bytes")
        self.phases: Callable[[], tuple[Series, ...]] = tuple
        self.devices: Callable[[], tuple[Series, ...]] = tuple
        self.inputs: Callable[[], Series] = lambda: Series("inputs", "elements")
        self.cpu: Callable[[], Series] = lambda: Series("cpu", "seconds")
        self.queued: Callable[[], Series] = lambda: Series("queued", "seconds")
        self.observables: list[Mapping[str, Any]] = []
        self.meta: dict[str, Any] = {
            "program": frames.relative(str(program)),
            "argv": argv,
            "root": frames.root,
            "hotloop": __version__,
            "python": platform.python_version(),
            "machine": {"platform": platform.platform(), "cpus": os.cpu_count()},
            "unseen": self.log.unseen,
        }
        self.living: dict[str, Callable[[], Any]] = {}  # meta that is asked for at each snapshot
        self.exit = Exit()
        self.wait = SOON  # until the next time
        self._drained = 0
        self._running = 0  # loops that ever ran
        self._ceiling = CEILING
        self._written = -1
        self._lock = threading.Lock()

    def start(self) -> None:
        """The program's code is about to run: time counts from here."""
        self.origin = self.log.origin = perf_counter_ns()

    @property
    def mine(self) -> bool:
        """False in a process forked from the recorded one: it must leave the recording alone."""
        return os.getpid() == self.log.pid

    def frames_at_work(self) -> Iterator[Place]:
        """The user's lines under which TensorFlow was seen: by a probe, or by the sampler."""
        yield from (frame for event in self.log.events() for frame in event.stack)
        yield from (frame for sample in self.samples() if sample.phase not in IDLE for frame in sample.stack)

    def saw(self, phase: str, stack: Stack, seconds: float) -> None:
        """So long under these lines. Where TensorFlow works, a loop around them counts, however tight it was."""
        with self._lock:
            for track in list(self.tracks):
                if track.resting:
                    track.credit(seconds, stack)
                    if phase not in IDLE:
                        track.wake(0, stack)

    def drain(self) -> None:
        with self._lock:
            self._drain()

    def _drain(self) -> None:
        now = perf_counter_ns()
        taken = 0
        for track in list(self.tracks):
            if track.resting and track.wake(now):
                taken = RUSH  # look again soon: it may rest on
            if track.ticks or track.marks:
                self._running += not track.runs
                taken += track.drain(now)
                if track.bins.ceiling > self._ceiling:
                    track.bins.lower(self._ceiling)
        self._drained += 1
        self.wait = min(DRAIN_EVERY, SOON * (1 + self._drained / SLOWING)) if taken < RUSH else SOON
        self._share_bins()

    def _share_bins(self) -> None:
        """Memory and file stay as small however many loops run."""
        ceiling = ceiling_for(self._running)
        if ceiling < self._ceiling:
            self._ceiling = ceiling
            for track in list(self.tracks):
                track.bins.lower(ceiling)

    def recording(self) -> Recording:
        now = perf_counter_ns()
        meta = {**self.meta, "seconds": round((now - self.origin) / 1e9, 6)}
        meta |= {name: ask() for name, ask in self.living.items()}
        meta |= _versions()
        meta["unseen"] = [
            *self.log.unseen,
            *(f"Not all steps of the loop at {t.place} could be counted." for t in self.tracks if t.lost),
        ]
        loops = (track.loop_run(self.origin, now) for track in list(self.tracks))
        return Recording(
            meta,
            tuple(run for run in loops if run.runs),
            self.log.events(),
            self.samples(),
            self.memory(),
            self.phases(),
            tuple(self.observables),
            self.exit,
            self.devices(),
            inputs=self.inputs(),
            cpu=self.cpu(),
            queued=self.queued(),
        )

    def write(self) -> None:
        """A whole recording, replacing the one before at once: whoever reads it never sees half of one."""
        if not self.mine:
            return
        with self._lock:
            self._drain()
            self._written = self._activity()
            self.recording().save(self.target)

    def write_if_more_happened(self) -> None:
        self.drain()
        if self._activity() != self._written:
            self.write()

    def _activity(self) -> int:
        return self.log.happened + sum(track.steps + track.runs for track in self.tracks)


def _versions() -> dict[str, str]:
    found = {}
    for name, module in (("tensorflow", "tensorflow"), ("keras", "tf_keras"), ("keras", "keras")):
        version = getattr(sys.modules.get(module), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found
