"""A stand-in for the module pynvml: one device, and calls that this driver refuses."""

from types import ModuleType, SimpleNamespace
from typing import Any

UUID = "GPU-1c0f0000-0000-0000-0000-000000000000"


class NVMLError(Exception):
    """As pynvml raises it."""


class FakeNvml(ModuleType):
    """`refused` names calls, and numbers of fields, that this driver does not know."""

    NVMLError = NVMLError

    def __init__(self, refused: tuple[Any, ...] = ()) -> None:
        super().__init__("pynvml")
        self.refused = refused
        self.log: list[str] = []
        self.clocks = {1: 1392, 2: 3201}
        self.temperature = 61
        self.bits = 4
        self.fields: dict[int, tuple[int, int | float]] = {
            # number: (type of the value, value)
            74: (3, 5_000_000_000),
            269: (3, 0),
            270: (3, 0),
            271: (3, 0),
            83: (3, 1_234_000),
            185: (1, 690_500),
            186: (1, 698_250),
        }
        self.violations = {0: 7_000_000_000, 1: 1_000}

    def nvmlInit(self) -> None:
        self._call("nvmlInit")

    def nvmlShutdown(self) -> None:
        self._call("nvmlShutdown")

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        self._call("nvmlDeviceGetHandleByUUID")
        if uuid != UUID:
            raise NVMLError("Not Found")
        return "handle"

    def nvmlDeviceGetClockInfo(self, device: str, kind: int) -> int:
        self._call("nvmlDeviceGetClockInfo")
        return self.clocks[kind]

    def nvmlDeviceGetTemperatureV(self, device: str, sensor: int) -> int:
        self._call("nvmlDeviceGetTemperatureV")
        return self.temperature

    def nvmlDeviceGetTemperature(self, device: str, sensor: int) -> int:
        self._call("nvmlDeviceGetTemperature")
        return self.temperature

    def nvmlDeviceGetCurrentClocksEventReasons(self, device: str) -> int:
        self._call("nvmlDeviceGetCurrentClocksEventReasons")
        return self.bits

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, device: str) -> int:
        self._call("nvmlDeviceGetCurrentClocksThrottleReasons")
        return self.bits

    def nvmlDeviceGetPowerUsage(self, device: str) -> int:
        self._call("nvmlDeviceGetPowerUsage")
        return 681_000

    def nvmlDeviceGetViolationStatus(self, device: str, policy: int) -> SimpleNamespace:
        self._call("nvmlDeviceGetViolationStatus")
        return SimpleNamespace(referenceTime=1, violationTime=self.violations[policy])

    def nvmlDeviceGetFieldValues(self, device: str, numbers: list[int]) -> list[SimpleNamespace]:
        self._call("nvmlDeviceGetFieldValues")
        return [self._field(number) for number in numbers]

    def _field(self, number: int) -> SimpleNamespace:
        if number in self.refused:
            return SimpleNamespace(nvmlReturn=3, valueType=0, value=SimpleNamespace(dVal=0.0))
        kind, value = self.fields[number]
        member = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")[kind]
        return SimpleNamespace(
            nvmlReturn=0, valueType=kind, value=SimpleNamespace(**{member: value})
        )

    def _call(self, name: str) -> None:
        self.log.append(name)
        if name in self.refused:
            raise NVMLError("Not Supported")
