"""Accelerators: how much of their memory is taken, how busy they are and what is copied to and from them."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from hotloop.model import Series
from hotloop.record.log import Log
from hotloop.record.memory import Gauge

DEVICES_EVERY = 0.1  # seconds: the driver's own figure is the mean over about as long
TRANSFERS_EVERY = 1.0  # seconds: the driver counts for 20 ms before it answers, each way
NVML = "libnvidia-ml.so.1"
COUNTERS = {"sent": 0, "received": 1}  # by the device, as the driver numbers them

Read = Callable[[], float]


class Devices:
    """Nothing is asked of TensorFlow before the program itself has made it open its devices: that would open them."""

    def __init__(self, log: Log, readers: Callable[[int], dict[str, Read]] | None = None) -> None:
        self._log = log
        self._readers = readers or driver_readers
        self._gauges: list[Gauge] | None = None  # None: not known yet
        self._transfers: list[Gauge] = []

    def look_at_transfers(self) -> None:
        for gauge in self._transfers:
            gauge.look(self._log.now())

    def look(self) -> None:
        if self._gauges is None:
            context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
            if getattr(context, "_initialized", False):
                self._gauges = []
                self._gauges = self._find(context)
        for gauge in self._gauges or ():
            gauge.look(self._log.now())

    def _find(self, context: Any) -> list[Gauge]:
        found: list[Gauge] = []
        devices = (device.name.rpartition("device:")[2] for device in context.list_logical_devices("GPU"))
        for number, name in enumerate(devices):
            found.append(Gauge(_memory_reader(context, name), f"{name} memory", "bytes"))
            readers = self._readers(number)
            if "busy" in readers:
                found.append(Gauge(readers["busy"], f"{name} busy", "share"))
            else:
                self._log.note(f"How busy {name} is cannot be seen: the driver's library ({NVML}) does not answer.")
            ways = [way for way in COUNTERS if way in readers]
            self._transfers += [Gauge(readers[way], f"{name} {way}", "bytes/s") for way in ways]
        return found

    def series(self) -> tuple[Series, ...]:
        return tuple(gauge.series() for gauge in (*(self._gauges or ()), *self._transfers))


def _memory_reader(context: Any, name: str) -> Callable[[], float]:
    """Bytes that tensors take: TensorFlow holds all of a device's memory, and gives it out."""
    return lambda: float(context.get_memory_info(name)["current"])


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


def driver_readers(number: int) -> dict[str, Read]:
    """What the driver says of a device: the share of the last moments in which it computed (`busy`), and the bytes a
    second that it `received` and `sent`. What the driver does not know is left out."""
    try:
        nvml = ctypes.CDLL(NVML)
        handle = ctypes.c_void_p()
        if nvml.nvmlInit_v2() or _open(nvml, number, handle):
            return {}
        load, kilobytes = _Utilization(), ctypes.c_uint()
        look = functools.partial(nvml.nvmlDeviceGetUtilizationRates, handle, ctypes.byref(load))
        questions: dict[str, Callable[[], int]] = {"busy": look}
        answers: dict[str, Read] = {"busy": lambda: load.gpu / 100.0}
        for way, counter in COUNTERS.items():
            ask = functools.partial(nvml.nvmlDeviceGetPcieThroughput, handle, counter, ctypes.byref(kilobytes))
            questions[way], answers[way] = ask, lambda: kilobytes.value * 1000.0
        known = [name for name, ask in questions.items() if ask() == 0]
    except (OSError, AttributeError, ValueError):
        return {}

    def reader(name: str) -> Read:
        return lambda: 0.0 if questions[name]() else answers[name]()

    return {name: reader(name) for name in known}


def _open(nvml: Any, number: int, handle: ctypes.c_void_p) -> int:
    """TensorFlow counts the devices that it may use, the driver all of them."""
    allowed = [part.strip() for part in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if part.strip()]
    name = allowed[number] if number < len(allowed) else str(number)
    if name.isdigit():
        return int(nvml.nvmlDeviceGetHandleByIndex_v2(int(name), ctypes.byref(handle)))
    return int(nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle)))
