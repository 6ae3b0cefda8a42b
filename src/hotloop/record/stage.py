"""Sets the recorder up around a program that is about to run in this process, and takes it down again."""

from __future__ import annotations

import os
import sys
import types
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

from hotloop.model import Exit
from hotloop.record.frames import Frames, is_ours
from hotloop.record.imports import Finder
from hotloop.record.limits import Limits
from hotloop.record.memory import Gauge, peak_rss, queue_reader, rss_reader
from hotloop.record.probes.arrivals import arrivals
from hotloop.record.probes.devices import DEVICES_EVERY, TRANSFERS_EVERY, Devices
from hotloop.record.probes.eager import OpCounter
from hotloop.record.probes.held import HELD_EVERY, HELD_MOST, Holders
from hotloop.record.recorder import DRAIN_EVERY, Recorder
from hotloop.record.sampler import (
    GAUGES_EVERY,
    GAUGES_MOST,
    SAMPLE_EVERY,
    SAMPLE_MOST,
    SNAPSHOT_EVERY,
    Clockwork,
    Sampler,
)
from hotloop.record.turns import give_back
from hotloop.record.whereabouts import Whereabouts, of_script


@dataclass(frozen=True)
class Stage:
    """A recorder that waits for its program. `code` has ticks; None: it must run as it is."""

    recorder: Recorder
    clockwork: Clockwork
    ops: OpCounter
    code: types.CodeType | None
    limits: Limits
    finder: Finder

    @property
    def stopped(self) -> bool:
        """We have asked the program to end."""
        return bool(self.limits.reached)

    def begin(self) -> None:
        self.recorder.start()
        self.limits.start()
        self.recorder.log.attempt(self.recorder.write)
        self.clockwork.start()

    def end(self, how: Exit) -> None:
        """The program's own code has ended. Saved now: what follows (exit handlers, threads) may hang."""
        self.recorder.exit = how
        self.recorder.log.attempt(self.recorder.write)

    def close(self) -> None:
        """Exit handlers and threads have ended too."""
        if self.recorder.mine:
            self.clockwork.stop()
            self.recorder.log.attempt(self.recorder.write_if_more_happened)

    def leave(self) -> None:
        """The process goes on without us."""
        self.clockwork.stop()
        self.recorder.drain()
        self.recorder.log.deaf = True
        self.ops.rest()
        sys.meta_path.remove(self.finder)
        while self.recorder.log.undo:
            self.recorder.log.undo.pop()()


def prepare(program: Path | Whereabouts, argv: list[str], options: Mapping[str, Any]) -> Stage:
    """`program`: a script's path, or where a module is, which then gets its ticks when it is imported."""
    where = of_script(program) if isinstance(program, Path) else program
    frames = Frames(where.program, Path.cwd(), where.folder, tool=where.folder is None)
    recorder = Recorder(Path(options["recording"]), where.program, argv, frames)
    if where.name:
        recorder.meta["program"] = where.name
    log = recorder.log
    ops = OpCounter()
    ticks = bool(options.get("ticks", True))
    finder = Finder(frames, log, recorder.tracks, arrivals(recorder, ops, options), ticks=ticks)
    sys.meta_path.insert(0, finder)
    recorder.living["import_seconds"] = lambda: round(finder.import_nanoseconds / 1e9, 6)
    clockwork = Clockwork(log, recorder.write if options["recording"] else recorder.drain)
    log.undo.append(clockwork.turns.hide())
    clockwork.every(DRAIN_EVERY, recorder.drain, wait=lambda: recorder.wait)
    limits = Limits(
        recorder,
        seconds=options.get("seconds"),
        steps=options.get("steps"),
        mark=options.get("mark"),
        loop=options.get("loop"),
    )
    if limits.any:
        clockwork.every(DRAIN_EVERY, limits.look)
    _watch_memory(recorder, clockwork, often=options["sample"] or options["observe"])
    if options["sample"]:
        sampler = Sampler(log, ops, lambda: finder.importing, recorder.saw)
        clockwork.every(SAMPLE_EVERY, sampler.look, most=SAMPLE_MOST)
        clockwork.every(HELD_EVERY, Holders(log).look, most=HELD_MOST)
        recorder.samples, recorder.phases = sampler.samples, sampler.timeline.series
        devices = Devices(log)
        clockwork.every(DEVICES_EVERY, devices.look)
        clockwork.every(TRANSFERS_EVERY, devices.look_at_transfers)
        recorder.devices = devices.series
    _listen(recorder)
    code = None
    if ticks and isinstance(program, Path) and (shown := frames.shown(os.path.abspath(program))):
        code = finder.ticked(os.path.abspath(program), shown)
    return Stage(recorder, clockwork, ops, code, limits, finder)


def _watch_memory(recorder: Recorder, clockwork: Clockwork, *, often: bool) -> None:
    track = Gauge(rss_reader())
    inputs = Gauge(lambda: recorder.log.handed, "inputs", "elements")
    cpu = Gauge(lambda: round(process_time(), 3), "cpu", "seconds")
    queued = Gauge(queue_reader(), "queued", "seconds")

    def look() -> None:
        now = recorder.log.now()
        for gauge in (track, inputs, cpu, queued):
            gauge.look(now)

    if often:
        clockwork.every(GAUGES_EVERY, look, most=GAUGES_MOST)
    else:
        clockwork.every(SNAPSHOT_EVERY, look)
    recorder.memory, recorder.inputs = track.series, inputs.series
    recorder.cpu, recorder.queued = cpu.series, queued.series
    recorder.living["peak_rss"] = lambda: max(int(track.peak), peak_rss())


_listening: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _listen(recorder: Recorder) -> None:
    if not _listening:
        os.register_at_fork(after_in_child=_go_deaf)
    _listening.add(recorder)


def _go_deaf() -> None:
    """A forked process is not recorded, and must not touch the recording of its parent."""
    for recorder in _listening:
        recorder.log.deaf = True
    give_back()


def hide_frames(error: BaseException) -> None:
    """Take our frames out of an exception's traceback, and of those it came from."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = _without_ours(current.__traceback__)
        waiting += [current.__cause__, current.__context__]


def _without_ours(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    while trace is not None:
        if not is_ours(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    for one, following in pairwise([*kept, None]):
        if one is not None:
            one.tb_next = following
    return kept[0] if kept else None
