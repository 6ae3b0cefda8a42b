"""Accelerators: how much of their memory is taken and how busy they are, looked at by the recorder's thread."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

from hotloop.model import Series
from hotloop.record.log import Log
from hotloop.record.memory import Gauge

DEVICES_EVERY = 0.1  # seconds: the driver's own figure is the mean over about as long
NVML = "libnvidia-ml.so.1"

Busy = Callable[[], float]


class Devices:
    """Nothing is asked of TensorFlow before the program itself has made it open its devices: that would open them."""

    def __init__(self, log: Log, busy: Callable[[int], Busy | None] | None = None) -> None:
        self._log = log
        self._busy = busy or busy_reader
        self._gauges: list[Gauge] | None = None  # None: not known yet

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
            busy = self._busy(number)
            if busy is not None:
                found.append(Gauge(busy, f"{name} busy", "share"))
            else:
                self._log.note(f"How busy {name} is cannot be seen: the driver's library ({NVML}) does not answer.")
        return found

    def series(self) -> tuple[Series, ...]:
        return tuple(gauge.series() for gauge in self._gauges or ())


def _memory_reader(context: Any, name: str) -> Callable[[], float]:
    """Bytes that tensors take: TensorFlow holds all of a device's memory, and gives it out."""
    return lambda: float(context.get_memory_info(name)["current"])


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


def busy_reader(number: int) -> Busy | None:
    """The share of the last moments in which the device computed, by the driver. None: it does not say."""
    try:
        nvml = ctypes.CDLL(NVML)
        handle = ctypes.c_void_p()
        opened = nvml.nvmlInit_v2() == 0 and _open(nvml, number, handle) == 0
    except (OSError, AttributeError, ValueError):
        return None
    load = _Utilization()

    def read() -> float:
        failed = nvml.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(load))
        return 0.0 if failed else load.gpu / 100.0

    return read if opened and nvml.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(load)) == 0 else None


def _open(nvml: Any, number: int, handle: ctypes.c_void_p) -> int:
    """TensorFlow counts the devices that it may use, the driver all of them."""
    allowed = [part.strip() for part in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if part.strip()]
    name = allowed[number] if number < len(allowed) else str(number)
    if name.isdigit():
        return int(nvml.nvmlDeviceGetHandleByIndex_v2(int(name), ctypes.byref(handle)))
    return int(nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle)))
