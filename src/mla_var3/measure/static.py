"""One stage compiled for a target and read into a `Stage`: nothing of it is ever run."""

import math
from collections.abc import Mapping
from pathlib import Path

from mla_var3 import conf
from mla_var3.core.device import Device, Dtype
from mla_var3.core.errors import KernelFailed, MlaError
from mla_var3.core.plan import CompiledStage, Kernel
from mla_var3.core.record import Metric, Shares, Source, Stage
from mla_var3.core.target import Target
from mla_var3.measure.occupancy import BlockNeeds, Occupancy, occupancy, sm_limits
from mla_var3.measure.sass import by_name, count_opcodes, families

CEILING_GBPS = "copy_gbps"
CEILING_TFLOPS = "matmul_{dtype}_sustained_tflops"
MOST_OPCODES = 15
MOST_REMARKS = 5

_FROM_CODE = {
    "registers": "registers",
    "spill_bytes": "spill_bytes",
    "threads": "block_size",
}
_CODE = "resource usage of the compiled code"
_RULE = "occupancy by registers, threads, shared memory and barriers (conf/occupancy.json)"


def compile_stage(kernel: Kernel, folder: Path, arch: str) -> CompiledStage | None:
    """Compile one stage into `folder`; None where its language has nothing to compile.

    Raises `KernelFailed` with the compiler's first line.
    """
    if kernel.compile_to_files is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return kernel.compile_to_files(folder, arch)
    except MlaError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise KernelFailed(
            f"stage {kernel.name} does not compile for {arch}: {type(error).__name__}: {first}"
        ) from error


def read_stage(
    kernel: Kernel, position: int, target: Target, compiled: CompiledStage | None, folder: Path
) -> Stage:
    """The record of one stage: resources, occupancy, instructions, work and peaks."""
    record = _Record(kernel, target)
    opcodes: Mapping[str, int] = {}
    if compiled is None:
        record.nothing_compiled(kernel.no_compile_reason or "nothing is compiled in this language")
    else:
        opcodes = _opcodes(compiled, folder)
        record.resources(compiled)
        record.instructions(opcodes, compiled.missing)
    record.grid()
    record.work()
    record.peaks()
    return Stage(
        name=kernel.name,
        kernel=kernel.name,
        launch=position,
        metrics=record.metrics,
        missing=record.missing | conf.table("static")["never_run"],
        grid=kernel.grid,
        block=(compiled.threads, 1, 1) if compiled and compiled.threads else (),
        opcodes=_shares(opcodes),
        warnings=_missed(compiled),
        sms_given=kernel.sms,
        tuned_for=kernel.tiling.TUNED_FOR,
    )


class _Record:
    """Collects metrics and the reasons of missing ones, in the units of the tables."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.kernel = kernel
        self.target = target
        self.metrics: dict[str, Metric] = {}
        self.missing: dict[str, str] = {}
        self.occupancy: Occupancy | None = None

    def add(self, key: str, value: float | int, source: Source, raw: str) -> None:
        self.metrics[key] = Metric(value, _units()[key], source, raw)

    def nothing_compiled(self, reason: str) -> None:
        keys = [*_FROM_CODE.values(), "shared_memory", "occupancy_theoretical", "waves"]
        self.missing |= dict.fromkeys(keys, reason)

    def resources(self, compiled: CompiledStage) -> None:
        """Registers, spills, threads and shared memory, and the occupancy that follows."""
        unknown = "the compiler does not tell"
        for field, key in _FROM_CODE.items():
            value = getattr(compiled, field)
            if value is None:
                self.missing[key] = compiled.missing.get(field, unknown)
            else:
                self.add(key, value, "static", _CODE)
        parts = (compiled.static_shared_bytes, compiled.dynamic_shared_bytes)
        known = [part for part in parts if part is not None]
        if known:
            self.add("shared_memory", sum(known), "static", _CODE)
        else:
            self.missing["shared_memory"] = compiled.missing.get("static_shared_bytes", unknown)
        self._occupancy(compiled, sum(known) if known else None)

    def _occupancy(self, compiled: CompiledStage, shared: int | None) -> None:
        needed = {"registers": compiled.registers, "threads": compiled.threads, "shared": shared}
        unknown = [name for name, value in needed.items() if value is None]
        if compiled.registers is None or compiled.threads is None or shared is None:
            self.missing["occupancy_theoretical"] = f"not known: {', '.join(unknown)}"
            return
        needs = BlockNeeds(
            registers=compiled.registers,
            threads=compiled.threads,
            shared_bytes=shared,
            barriers=compiled.barriers or 0,
        )
        found = self.occupancy = occupancy(needs, sm_limits(self.target.capability))
        for name, blocks in found.limits.items():
            if name == "barriers" and compiled.barriers is None:
                self.missing["limit_barriers"] = compiled.missing.get("barriers", "not told")
            else:
                self.add(f"limit_{name}", blocks, "static", _RULE)
        self.add("occupancy_theoretical", found.percent, "static", _RULE)
        self.add("blocks_an_sm", found.blocks, "static", _RULE)
        self.add("shared_memory_allocated", found.shared_allocated_bytes, "static", _RULE)
        self.add("registers_allocated", found.registers_allocated, "static", _RULE)

    def instructions(self, opcodes: Mapping[str, int], absent: Mapping[str, str]) -> None:
        """How many instructions of each family stand in the code."""
        if not opcodes:
            reasons = [why for name, why in absent.items() if name.endswith(".sass")]
            self.missing["code_instructions"] = (reasons or ["no SASS listing of this stage"])[0]
            return
        self.add("code_instructions", sum(opcodes.values()), "static", "SASS listing")
        for key, count in families(opcodes).items():
            self.add(key, count, "static", f"SASS listing, {_pattern(key)}")

    def grid(self) -> None:
        """Blocks, waves of them and what the last wave leaves idle."""
        blocks = math.prod(self.kernel.grid) if self.kernel.grid else 0
        if blocks:
            self.add("grid_size", blocks, "static", "the plan's grid")
        count = self.target.sm_count
        if count is None:
            self.missing["waves"] = f"{self.target.arch} names no product: its SMs are unknown"
            return
        device = self.target.device
        if device is not None and device.sm_count == count:
            self.add("sm_count", count, "spec", _where(device))
        else:
            self.add("sm_count", count, "event", "as the driver tells")
        sms = self.kernel.sms or count
        if self.occupancy is None or not blocks:
            return
        if not self.occupancy.blocks:
            self.missing["waves"] = "not one block fits an SM"
            return
        waves = blocks / (sms * self.occupancy.blocks)
        given = "SMs given" if self.kernel.sms else "sm_count"
        self.add("waves", waves, "static", f"grid_size / ({given} * blocks_an_sm)")
        # Below one wave, blocks spread over the SMs one by one: what counts is blocks an SM.
        filled, raw = (waves, "waves") if waves > 1 else (blocks / sms, f"grid_size / {given}")
        loss = 100.0 * (1 - filled / math.ceil(filled))
        self.add("wave_loss", loss, "static", f"1 - x / ceil(x), x = {raw}")

    def work(self) -> None:
        """The algorithm's own FLOPs and bytes."""
        cost = self.kernel.cost
        self.add("model_flops", cost.flops, "model", "the plan's cost")
        self.add("model_read_bytes", cost.read_bytes, "model", "the plan's cost")
        self.add("model_write_bytes", cost.write_bytes, "model", "the plan's cost")

    def peaks(self) -> None:
        """Published peaks of the target, and rates measured on such a device."""
        device = self.target.device
        if device is None:
            reason = f"{self.target.arch} names no product: its peaks are unknown"
            self.missing |= dict.fromkeys(("peak_tflops", "peak_gbps"), reason)
            return
        dtype = self.kernel.compute_dtype
        self.add("peak_gbps", device.dram_gbps, "spec", f"{_where(device)} dram_gbps")
        peak = device.peaks.get(_dtype(dtype))
        if peak is None:
            self.missing["peak_tflops"] = f"no {dtype} peak is known for {device.name}"
        else:
            self.add("peak_tflops", peak.tflops, "spec", f"{_where(device)} peaks.{dtype}")
        rates = {
            "ceiling_gbps": CEILING_GBPS,
            "ceiling_tflops": CEILING_TFLOPS.format(dtype=dtype),
        }
        for key, name in rates.items():
            ceiling = device.ceilings.get(name)
            if ceiling is None:
                self.missing[key] = f"no {name} was measured on {device.name}"
            else:
                raw = f"{_where(device)} ceilings.{name}, measured {ceiling.date}"
                self.add(key, ceiling.value, "spec", raw)


def _opcodes(compiled: CompiledStage, folder: Path) -> Mapping[str, int]:
    """Counted in the listing that was written, else as the compiler's side counted them."""
    for file in sorted(folder.glob("*.sass")):
        counted = count_opcodes(file.read_text(encoding="utf-8", errors="replace"))
        if counted:
            return counted
    return compiled.opcodes


def _missed(compiled: CompiledStage | None) -> tuple[str, ...]:
    """The compiler's remarks on what it could not do; the others are in its own files."""
    remarks = compiled.remarks if compiled else ()
    return tuple(text for text in remarks if text.startswith("missed"))[:MOST_REMARKS]


def _shares(opcodes: Mapping[str, int]) -> Shares | None:
    total = sum(opcodes.values())
    if not total:
        return None
    most = list(by_name(opcodes).items())[:MOST_OPCODES]
    parts = {name: round(100.0 * count / total, 4) for name, count in most}
    return Shares(parts, "% of the instructions in the code", "static", "SASS listing")


def _units() -> dict[str, str]:
    facts = [*conf.table("metrics")["facts"], *conf.table("static")["metrics"]]
    return {fact["key"]: fact["unit"] for fact in facts}


def _pattern(key: str) -> str:
    return " ".join(conf.table("static")["families"][key])


def _where(device: Device) -> str:
    return f"{device.origin}: {device.name}"


def _dtype(name: str) -> Dtype:
    """Peaks are looked up by our short names; another name finds none."""
    known: dict[str, Dtype] = {
        "bf16": "bf16",
        "fp16": "fp16",
        "tf32": "tf32",
        "fp8": "fp8",
        "fp32": "fp32",
        "fp64": "fp64",
    }
    return known.get(name, "fp32")
