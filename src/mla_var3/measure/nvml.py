"""What NVML tells of one GPU, through nvidia-ml-py (module `pynvml`); no CUDA context is made.

Every call may fail on its own: what a driver does not tell is None.
"""

import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from mla_var3 import conf
from mla_var3.core.monitor import Reading

MILLI = 1e-3
_VALUE_BY_TYPE = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Member of the value's union by `NVML_VALUE_TYPE_*`."""
_REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
_TEMPERATURE = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")


class NvmlProbe:
    """Reads one device every 20 ms. Raises whatever `pynvml` raises where there is no NVML."""

    source = "nvml"

    def __init__(self, uuid: str, module: ModuleType | None = None) -> None:
        """`module` stands for pynvml."""
        self._nvml: Any = module or importlib.import_module("pynvml")
        self._table = conf.table("monitor")
        self.period_ms: float = self._table["period_ms"][self.source]
        self._paused = threading.Event()
        self._nvml.nvmlInit()
        self._device = self._nvml.nvmlDeviceGetHandleByUUID(uuid)
        self.counters_from = self._find_counters()

    def readings(self, stop: threading.Event) -> Iterator[Reading]:
        """One reading a period until told to stop, timed in the middle of asking."""
        while not stop.wait(self.period_ms * MILLI):
            if not self._paused.is_set():
                yield self.read()

    def read(self) -> Reading:
        """The device now."""
        begin = time.perf_counter_ns()
        power = self._fields({name: e["field"] for name, e in self._table["power"].items()})
        clocks = self._table["clock_types"]
        sm, memory = (self._ask("nvmlDeviceGetClockInfo", clocks[c]) for c in ("sm", "memory"))
        temperature, reasons = self._first(_TEMPERATURE, 0), self._first(_REASONS)
        return Reading(
            at_ns=(begin + time.perf_counter_ns()) / 2,
            sm_mhz=sm,
            memory_mhz=memory,
            temperature_c=temperature,
            power_w=_scaled(power.get("instant"), MILLI),
            power_average_w=_scaled(self._average(power), MILLI),
            reasons=None if reasons is None else int(reasons),
        )

    def counters(self) -> tuple[dict[str, float], float | None]:
        """Ns that each reason held the clock back since the driver was loaded, and joules."""
        energy = self._fields({"energy": self._table["energy"]["field"]}).get("energy")
        return self._held(), _scaled(energy, MILLI)

    def pause(self, paused: bool) -> None:
        """Stop or go on reading."""
        (self._paused.set if paused else self._paused.clear)()

    def close(self) -> None:
        self._quiet(self._nvml.nvmlShutdown)

    def _find_counters(self) -> str:
        self._by_fields = True
        if self._held():
            return "nvml fields"
        self._by_fields = False
        return "nvml violation status" if self._held() else ""

    def _held(self) -> dict[str, float]:
        entries: dict[str, dict[str, int]] = self._table["counters"]
        if self._by_fields:
            return self._fields({name: entry["field"] for name, entry in entries.items()})
        found = {}
        for name, entry in entries.items():
            if "policy" in entry:
                told = self._violation(entry["policy"])
                if told is not None:
                    found[name] = told
        return found

    def _violation(self, policy: int) -> float | None:
        status = self._quiet(lambda: self._nvml.nvmlDeviceGetViolationStatus(self._device, policy))
        return None if status is None else float(status.violationTime)

    def _average(self, fields: Mapping[str, float]) -> float | None:
        told = fields.get("average")
        return told if told is not None else self._ask("nvmlDeviceGetPowerUsage")

    def _fields(self, numbers: Mapping[str, int]) -> dict[str, float]:
        """Values of fields by name; those that the driver refuses are left out."""
        answers = self._quiet(
            lambda: self._nvml.nvmlDeviceGetFieldValues(self._device, list(numbers.values()))
        )
        if answers is None:
            return {}
        return {
            name: float(getattr(answer.value, _VALUE_BY_TYPE[answer.valueType]))
            for name, answer in zip(numbers, answers, strict=True)
            if answer.nvmlReturn == 0 and 0 <= answer.valueType < len(_VALUE_BY_TYPE)
        }

    def _first(self, names: tuple[str, ...], *words: int) -> float | None:
        """The answer of the first call of these names that this module and driver know."""
        return next((told for name in names if (told := self._ask(name, *words)) is not None), None)

    def _ask(self, name: str, *words: int) -> float | None:
        call = getattr(self._nvml, name, None)
        if call is None:
            return None
        told = self._quiet(lambda: call(self._device, *words))
        return None if told is None else float(told)

    def _quiet(self, ask: Callable[[], Any]) -> Any:
        """An answer, or None where NVML has none."""
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
