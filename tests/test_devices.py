"""Accelerators, told from what a recorder saw of them: no device is needed here."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from recordings import loop, memory, recording, sample

from hotloop.diagnose import diagnose
from hotloop.model import Recording, Report, Series, Symptom
from hotloop.record.frames import Frames
from hotloop.record.log import Log
from hotloop.record.probes.devices import Devices
from hotloop.report.charts import over_time

CONTEXT = "tensorflow.python.eager.context"


class Card:
    """A context of TensorFlow's with one GPU, of which each look takes another megabyte."""

    def __init__(self) -> None:
        self._initialized = False
        self.taken = 0

    def list_logical_devices(self, kind: str) -> list[Any]:
        assert self._initialized, "asking would have opened the device"
        return [SimpleNamespace(name="/device:GPU:0")] if kind == "GPU" else []

    def get_memory_info(self, name: str) -> dict[str, int]:
        assert name == "GPU:0"
        self.taken += 1_000_000
        return {"current": self.taken, "peak": self.taken}


def log() -> Log:
    here = Path(__file__)
    return Log(Frames(here, here.parent), 0)


def test_a_device_is_looked_at_once_the_program_has_opened_it(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card()
    monkeypatch.setitem(sys.modules, CONTEXT, SimpleNamespace(_context=card))
    devices = Devices(log(), lambda number: {"busy": lambda: 0.25, "received": lambda: 2e9})
    devices.look()
    assert devices.series() == ()
    card._initialized = True
    devices.look()
    devices.look()
    devices.look_at_transfers()
    held, busy, received = devices.series()
    assert (held.name, held.unit, held.values) == ("GPU:0 memory", "bytes", (1e6, 2e6))
    assert (busy.name, busy.unit, busy.values) == ("GPU:0 busy", "share", (0.25, 0.25))
    assert (received.name, received.unit, received.values) == ("GPU:0 received", "bytes/s", (2e9,))


def test_a_driver_that_does_not_answer_costs_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card()
    card._initialized = True
    monkeypatch.setitem(sys.modules, CONTEXT, SimpleNamespace(_context=card))
    heard = log()
    devices = Devices(heard, lambda number: {})
    devices.look()
    devices.look()
    assert [series.name for series in devices.series()] == ["GPU:0 memory"]
    assert len(heard.unseen) == 1
    assert "GPU:0" in heard.unseen[0]


def seen(busy: float, *phases: tuple[str, float]) -> Recording:
    made = recording([loop(10, 20, [0.1] * 100)], [sample(phase, seconds, 12) for phase, seconds in phases])
    at = tuple(index / 10 for index in range(100))
    return replace(made, devices=(Series("GPU:0 busy", "share", at, (busy,) * 100),))


def symptoms(made: Recording) -> tuple[Symptom, ...]:
    return diagnose(made, []).symptoms


def test_a_loop_that_leaves_the_device_idle_says_what_it_did_instead() -> None:
    (found,) = symptoms(seen(0.2, ("input", 7.0), ("compute", 3.0)))
    assert (found.kind, found.unit) == ("idle-device", "share")
    assert found.size == pytest.approx(0.8)
    assert found.message == "GPU:0 was idle for 80% of the time; the loop waited for input for 70% of its time"


def test_a_device_that_waits_while_the_first_step_is_traced_is_no_symptom() -> None:
    made = seen(0.9, ("trace", 6.0), ("compute", 4.0))
    traced = loop(10, 20, [6.0] + [0.04] * 99)
    at = tuple(index / 10 for index in range(100))
    busy = Series("GPU:0 busy", "share", at, (0.0,) * 60 + (0.9,) * 40)
    assert symptoms(replace(made, loops=(traced,), devices=(busy,))) == ()
    starved = replace(busy, values=(0.0,) * 60 + (0.3,) * 40)
    (found,) = symptoms(replace(made, loops=(traced,), devices=(starved,)))
    assert found.message == "GPU:0 was idle for 70% of the time"


def test_a_device_at_work_is_no_symptom() -> None:
    assert symptoms(seen(0.9, ("compute", 10.0))) == ()


def test_memory_of_a_device_that_grows_with_the_steps_is_a_leak() -> None:
    made = seen(0.9, ("compute", 10.0))
    grows = replace(memory(10.0, lambda t: 1e9 + 1e8 * t), name="GPU:0 memory")
    (found,) = symptoms(replace(made, devices=(*made.devices, grows)))
    assert found.kind == "leaking"
    assert found.message.startswith("memory of GPU:0 grows by")


def test_a_device_is_drawn_over_time() -> None:
    made = seen(0.2, ("input", 10.0))
    drawn = over_time(Report("run", memory=memory(10.0, lambda t: 1e9 + t), devices=made.devices))
    assert "GPU:0 busy" in drawn
