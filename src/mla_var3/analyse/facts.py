"""Facts: one stage's numbers as the decisions need them; percentages are 0..100."""

import math
from dataclasses import dataclass
from functools import cached_property

from mla_var3.analyse import access_pattern
from mla_var3.analyse.knowledge import limit, percent_keys
from mla_var3.core.device import Device
from mla_var3.core.record import Environment, Stage

PIPES = ("fma", "alu", "xu", "fp64", "fp16", "issue")
NEEDED_PIPES = ("fma", "alu", "xu", "fp64", "issue")
L1_UNITS = ("l1", "l1_data", "lsu_requests")
NO_STALLS = frozenset({"selected", "not_selected"})
TENSOR_WAITS = frozenset({"gmma", "warpgroup_arrive"})
MMA_FAMILIES = ("UTC", "HGMMA", "QGMMA", "IGMMA", "HMMA", "QMMA", "OMMA", "IMMA", "DMMA")
CODE_COUNTS = {"UTC": "code_utc_mma", "HGMMA": "code_hgmma", "HMMA": "code_hmma"}
"""Families whose instructions in the compiled code are counted."""
ASYNC_FAMILIES = frozenset({"UTC", "HGMMA", "QGMMA", "IGMMA"})
READS_ONLY = "dram__bytes_read.sum.pct_of_peak_sustained_elapsed"


@dataclass(frozen=True)
class Facts:
    """A stage with its surroundings; every property is None where it cannot be told."""

    stage: Stage
    environment: Environment
    device: Device | None

    def get(self, key: str) -> float | None:
        """Value in its unit; None where it is missing, not finite or below zero."""
        value = self.stage.value(key)
        if value is None or not math.isfinite(value) or value < 0:
            return None
        return float(value)

    def reason(self, key: str) -> str:
        """Why a fact is missing, in words."""
        value = self.stage.value(key)
        if value is not None:
            return f"reads {value:g}, below zero"
        return self.stage.missing.get(key) or "not in the report"

    def total(self, *keys: str) -> float | None:
        """Sum of those that are there; None where none is."""
        present = [value for key in keys if (value := self.get(key)) is not None]
        return sum(present) if present else None

    def rate(self, key: str) -> float | None:
        """A hit rate; None above 100 %, where little traffic and several passes misread."""
        value = self.get(key)
        return None if value is None or value > 100.0 else value

    @property
    def interrupted(self) -> bool:
        """The profiler stopped inside this launch: neither a duration nor a grid."""
        return self.stage.interrupted or (self.get("duration") is None and self.grid is None)

    @cached_property
    def tensor(self) -> float | None:
        """Tensor pipe, percent of elapsed."""
        return self.get("tensor")

    @cached_property
    def dram(self) -> float | None:
        """DRAM throughput, percent of elapsed; a lower bound where only reads were counted."""
        return self.get("dram")

    @cached_property
    def dram_reads_only(self) -> bool:
        """Whether the DRAM figure lacks the writes."""
        metric = self.stage.metrics.get("dram")
        return metric is not None and metric.raw == READS_ONLY

    @cached_property
    def active(self) -> float | None:
        """Share of the elapsed time in which an average SM was busy, percent."""
        share = self.get("active_share")
        if share is None:
            busy, elapsed = self.get("cycles_active"), self.get("cycles_elapsed")
            if busy is None or not elapsed:
                return None
            share = 100.0 * busy / elapsed
        return min(share, 100.0)

    @cached_property
    def grid(self) -> float | None:
        """Blocks in the grid."""
        blocks = self.get("grid_size")
        if blocks is None and self.stage.grid:
            blocks = float(math.prod(self.stage.grid))
        return blocks or None

    @cached_property
    def block(self) -> float | None:
        """Threads in a block."""
        threads = self.get("block_size")
        if threads is None and self.stage.block:
            threads = float(math.prod(self.stage.block))
        return threads or None

    @cached_property
    def sms(self) -> float | None:
        """SMs that this stage may use."""
        device_sms = self.device.sm_count if self.device else None
        known = (
            self.stage.sms_given,
            self.get("sm_count"),
            self.environment.sm_count,
            device_sms,
        )
        return next((float(sms) for sms in known if sms), None)

    @cached_property
    def pipes(self) -> dict[str, float]:
        """The math pipes and the issue slots that were read."""
        return self._present(PIPES)

    @cached_property
    def l1_units(self) -> dict[str, float]:
        """The L1 counters that were read; wavefronts of shared memory alone do not count."""
        units = self._present(L1_UNITS)
        metric = self.stage.metrics.get("l1_data")
        if metric is not None and "mem_shared" in metric.raw:
            units.pop("l1_data", None)
        return units

    @cached_property
    def roofs(self) -> dict[str, float]:
        """Every unit whose throughput was read, percent of elapsed."""
        return self.pipes | self.l1_units | self._present(("l2", "dram", "tensor"))

    @cached_property
    def highest(self) -> tuple[str, float]:
        """The busiest unit and its percentage; `("", 0.0)` where none was read."""
        return max(self.roofs.items(), key=lambda item: (item[1], item[0]), default=("", 0.0))

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Roofs that cannot be ruled out because they were not read, and other gaps."""
        have = {
            "tensor": self.tensor is not None,
            "dram": self.dram is not None and not self.dram_reads_only,
            "l2": self.get("l2") is not None,
            "l1_units": self.get("l1_data") is not None and self.get("lsu_requests") is not None,
            "pipes": all(self.get(key) is not None for key in NEEDED_PIPES),
        }
        return tuple(key for key, present in have.items() if not present)

    @property
    def all_roofs_read(self) -> bool:
        """Only then may be said that no unit is at its roof."""
        return not self.unread

    @cached_property
    def stalls(self) -> list[tuple[str, float]]:
        """Stall reasons by share of the warp latency, largest first; issuing is no stall."""
        if self.stage.stalls is None:
            return []
        parts = self.stage.stalls.parts.items()
        named = [(k, v) for k, v in parts if k not in NO_STALLS and math.isfinite(v) and v > 0]
        return sorted(named, key=lambda item: -item[1])

    @cached_property
    def waits(self) -> list[tuple[str, float]]:
        """The stalls without waiting for the tensor core, which is healthy."""
        return [item for item in self.stalls if item[0] not in TENSOR_WAITS]

    def opcode_share(self, *prefixes: str) -> float | None:
        """Percent of the executed instructions whose opcode begins so; None: not recorded."""
        if self.stage.opcodes is None:
            return None
        return sum(v for k, v in self.stage.opcodes.parts.items() if k.startswith(prefixes))

    @cached_property
    def mma_family(self) -> str | None:
        """Family of the tensor instructions (`HGMMA`), `""` for none, None: not recorded.

        Of compiled code the most frequent opcodes are listed, and tensor instructions are few of
        them: then their counts decide, and a busy tensor pipe forbids "none". What was executed is
        listed by how often, so what is missing there did not matter.
        """
        executed = next((name for name in MMA_FAMILIES if self.opcode_share(name)), "")
        coded = next((name for name, key in CODE_COUNTS.items() if self.get(key)), "")
        if executed or coded:
            return executed or coded
        opcodes = self.stage.opcodes
        unlisted = opcodes is None or (opcodes.source != "ncu" and bool(self.tensor))
        return None if unlisted else ""

    @cached_property
    def softmax(self) -> bool:
        """Whether the opcodes prove exponentials and row maxima."""
        exponentials = self.opcode_share("MUFU") or 0.0
        maxima = self.opcode_share("FMNMX") or 0.0
        return exponentials >= limit("softmax_mufu") and maxima >= limit("softmax_max")

    @cached_property
    def access(self) -> access_pattern.Access:
        """How the global and shared accesses look."""
        return access_pattern.read(self.get, self.l1_units)

    @cached_property
    def clock_max_hz(self) -> float | None:
        """The SM clock that could have been: the locked one, else the device's maximum."""
        if self.environment.clocks_locked and self.device and self.device.lock_clock_mhz:
            return self.device.lock_clock_mhz * 1e6
        kilohertz = self.get("sm_clock_max")
        if kilohertz:
            return kilohertz * 1e3
        if self.environment.clock_max_hz:
            return self.environment.clock_max_hz
        return (
            self.device.clock_max_mhz * 1e6 if self.device and self.device.clock_max_mhz else None
        )

    @cached_property
    def clock_share(self) -> float | None:
        """SM clock during the run in percent of what it could be."""
        clock, most = self.get("sm_clock"), self.clock_max_hz
        return None if not clock or not most else 100.0 * clock / most

    @cached_property
    def impossible(self) -> tuple[str, ...]:
        """Percentages of units that a counter cannot mean."""
        line = limit("percent_impossible")
        values = self.roofs | self._present(("occupancy",))
        return tuple(k for k, v in values.items() if v > line and k in percent_keys())

    def _present(self, keys: tuple[str, ...]) -> dict[str, float]:
        return {key: value for key in keys if (value := self.get(key)) is not None}
