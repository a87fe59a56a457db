"""Device peaks by exact product name, each with its source: `conf/devices.json`.

A device is found by the very name its driver prints, or by a listed alias, and by nothing else: a
name that is not in the table is unknown (`None`), never the product next to it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec

from mla_var3.conf import table
from mla_var3.core.errors import BadArgument, NotFound

Dtype = Literal["bf16", "fp16", "tf32", "fp8", "fp32", "fp64"]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(gt=0)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
IsoDate = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Address = Annotated[str, msgspec.Meta(pattern="^https://")]

OWN_TABLE = "conf/devices.json"
FORMAT = "mla_var3/devices"
SCHEMA_VERSION = 1
TOLERANCE = 0.03
"""A peak is consistent within 3 % of SMs x FLOP/SM/cycle x clock: published figures are rounded."""
SPARSE_RATIO = (1.9, 2.1)
"""Twice the dense rate: the figure that counts 2:4 structured sparsity."""


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a figure was read, and when (ISO date)."""

    url: Address
    date: IsoDate
    what: str = ""


class Peak(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Dense peak of one dtype in TFLOP/s, at the SM clock it assumes."""

    tflops: Positive
    clock_mhz: Positive
    clock_derived: bool = False
    """The clock is not published: it is the one the published peak implies."""
    flops_per_sm_cycle: Positive | None = None
    """From the `rates` of the table where the entry does not say otherwise."""
    note: str = ""


class Ceiling(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A rate that was measured on such a device, with its conditions."""

    value: Positive
    unit: Text
    conditions: Text
    date: IsoDate


class Device(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One product. Rates are dense; sizes in bytes; clocks in MHz. None: not published."""

    name: Text
    aliases: tuple[Text, ...] = ()
    """Other exact names that drivers give this very board."""
    chip: Text
    compute_capability: Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+$")]
    rate: str = ""
    """Key of the table's `rates`; empty: the compute capability."""
    sm_count: Count
    peaks: dict[Dtype, Peak]
    dram_gbps: Positive
    memory_gb: Positive
    l2_bytes: Count | None
    shared_memory_per_sm_bytes: Count
    shared_memory_per_block_bytes: Count
    registers_per_sm: Count
    clock_base_mhz: Positive | None = None
    clock_boost_mhz: Positive | None
    clock_max_mhz: Positive | None
    lock_clock_mhz: Positive | None = None
    """A clock the board can hold under load, to lock to for comparable timings."""
    lock_clock_reason: str = ""
    power_w: Positive | None = None
    """Board power limit in watt, as shipped."""
    ceilings: dict[str, Ceiling] = {}
    """`copy_gbps`, `matmul_bf16_sustained_tflops`, `matmul_bf16_burst_tflops`, …"""
    references: tuple[Reference, ...] = ()
    notes: tuple[str, ...] = ()
    origin: str = OWN_TABLE
    """The file the entry stands in: our table, or the name of a user's file."""

    def ridge_point(self, dtype: Dtype) -> float | None:
        """Peak FLOP/s over peak byte/s: FLOP/byte at which both roofs meet."""
        peak = self.peaks.get(dtype)
        return None if peak is None else 1000.0 * peak.tflops / self.dram_gbps

    def ridge_point_tflop_per_gb(self, dtype: Dtype) -> float | None:
        """`peak_tflops / peak_gbps` in TFLOP per GB: 1/1000 of `ridge_point` in FLOP/byte."""
        peak = self.peaks.get(dtype)
        return None if peak is None else peak.tflops / self.dram_gbps

    def peak_at(self, dtype: Dtype, clock_hz: float) -> float | None:
        """Dense peak in TFLOP/s at a measured SM clock (Hz): peaks scale with the clock."""
        peak = self.peaks.get(dtype)
        return None if peak is None else peak.tflops * clock_hz / (peak.clock_mhz * 1e6)


class PeakCheck(NamedTuple):
    """Whether a peak agrees with SMs x FLOP/SM/cycle x clock; `text` is one line for people."""

    device: str
    dtype: Dtype
    verdict: Literal["consistent", "inconsistent", "sparse", "unknown"]
    ratio: float | None
    """Stated peak over computed peak; None where the rate is unknown."""
    text: str

    @property
    def doubtful(self) -> bool:
        """The peak contradicts the device's own SMs, rate and clock."""
        return self.verdict in ("inconsistent", "sparse")


class Devices:
    """The device table: our own entries, then a user's, which replace ours of the same name."""

    def __init__(self, entries: Iterable[Device]) -> None:
        self._entries = {entry.name: entry for entry in entries}
        aliases = {alias: entry for entry in self for alias in entry.aliases}
        self._by_name = aliases | self._entries

    def __iter__(self) -> Iterator[Device]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, name: str | None) -> Device | None:
        """The product of exactly this name or alias (case matters); None: unknown."""
        return None if name is None else self._by_name.get(name)

    def names(self) -> tuple[str, ...]:
        """All product names in the order of the table, without aliases."""
        return tuple(self._entries)

    def doubtful(self) -> tuple[PeakCheck, ...]:
        """Checks of all peaks that contradict their device, for a warning."""
        checks = (check_peak(entry, dtype) for entry in self for dtype in entry.peaks)
        return tuple(check for check in checks if check.doubtful)


def load_devices(user_file: Path | None = None) -> Devices:
    """Read the device table, and a user's file of the same form whose entries come first.

    Raises `BadArgument` with one line that names the file and the field.
    """
    entries, rates = _read(table("devices"), OWN_TABLE, {})
    if user_file is not None:
        entries += _read(_user_table(user_file), user_file.name, rates)[0]
    return Devices(entries)


def check_peak(device: Device, dtype: Dtype) -> PeakCheck:
    """Compare a dense peak with SMs x FLOP/SM/cycle x clock (within 3 %)."""
    peak = device.peaks.get(dtype)
    if peak is None:
        return PeakCheck(device.name, dtype, "unknown", None, f"no {dtype} peak is known")
    stated = f"{dtype} {peak.tflops:g} TFLOP/s"
    rate = peak.flops_per_sm_cycle
    if rate is None:
        text = f"{stated}: no FLOP/cycle/SM is known to check it with"
        return PeakCheck(device.name, dtype, "unknown", None, text)
    computed = device.sm_count * rate * peak.clock_mhz * 1e-6
    product = f"{device.sm_count} SMs × {rate:g} FLOP/cycle × {peak.clock_mhz / 1000:.3f} GHz"
    ratio = peak.tflops / computed
    deviation = f"{round(ratio - 1, 3) + 0.0:+.1%}"  # + 0.0: no "-0.0%"
    if SPARSE_RATIO[0] <= ratio <= SPARSE_RATIO[1]:
        text = f"{stated} is {ratio:.2f} × {product} = {computed:.4g}: looks like the sparse figure"
        return PeakCheck(device.name, dtype, "sparse", ratio, text)
    if abs(ratio - 1) > TOLERANCE:
        text = f"{stated}, but {product} = {computed:.4g} ({deviation})"
        return PeakCheck(device.name, dtype, "inconsistent", ratio, text)
    if peak.clock_derived:
        return _check_derived_clock(device, dtype, peak, ratio)
    text = f"{stated} = {product} ({deviation})"
    return PeakCheck(device.name, dtype, "consistent", ratio, text)


def _check_derived_clock(device: Device, dtype: Dtype, peak: Peak, ratio: float) -> PeakCheck:
    """A clock that follows from the peak proves nothing, unless the board cannot reach it."""
    stated = f"{dtype} {peak.tflops:g} TFLOP/s implies {peak.clock_mhz:g} MHz"
    limit = device.clock_max_mhz or device.clock_boost_mhz
    if limit is None:
        text = f"{stated}; no clock of this board is known to check it with"
        return PeakCheck(device.name, dtype, "unknown", ratio, text)
    if peak.clock_mhz > limit * (1 + TOLERANCE):
        text = f"{stated}, above the {limit:g} MHz that it reaches"
        return PeakCheck(device.name, dtype, "inconsistent", ratio, text)
    text = f"{stated}; it reaches {limit:g} MHz (±3 %)"
    return PeakCheck(device.name, dtype, "consistent", ratio, text)


T = TypeVar("T")
Rates = dict[str, dict[Dtype, float]]


def _read(data: dict[str, Any], file: str, known: Rates) -> tuple[list[Device], Rates]:
    """Entries of one table and the rates that hold for them."""
    rates = known | {
        key: _convert(_rate_fields(rate), dict[Dtype, float], file, f"rate {key!r}")
        for key, rate in data.get("rates", {}).items()
    }
    entries = []
    for name, fields in data["devices"].items():
        where = f"device {name!r}"
        if not isinstance(fields, dict):
            raise BadArgument(f"{file}: {where} is not an object of fields")
        device = _convert(fields | {"name": name, "origin": file}, Device, file, where)
        if device.rate and device.rate not in rates:
            raise BadArgument(f"{file}: {where}: no rate {device.rate!r}; there are {list(rates)}")
        entries.append(_with_rates(device, rates.get(device.rate or device.compute_capability, {})))
    return entries, rates


def _rate_fields(rate: object) -> object:
    return rate.get("flops_per_sm_cycle") if isinstance(rate, dict) else rate


def _with_rates(device: Device, rate: dict[Dtype, float]) -> Device:
    peaks = {
        dtype: msgspec.structs.replace(
            peak, flops_per_sm_cycle=peak.flops_per_sm_cycle or rate.get(dtype)
        )
        for dtype, peak in device.peaks.items()
    }
    return msgspec.structs.replace(device, peaks=peaks)


def _user_table(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise NotFound(f"no device table {path}: give a JSON file")
    try:
        data = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadArgument(f"{path.name} is not JSON: {error}") from error
    except OSError as error:
        raise BadArgument(f"{path.name} cannot be read: {error.strerror}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadArgument(f'{path.name} is not a device table: it needs "format": "{FORMAT}"')
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        raise BadArgument(f"{path.name} has schema_version {version}, not {SCHEMA_VERSION}")
    for field in ("devices", "rates"):
        if not isinstance(data.setdefault(field, {}), dict):
            raise BadArgument(f"{path.name}: {field!r} is not an object")
    return data


def _convert(data: object, kind: type[T], file: str, where: str) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise BadArgument(f"{file}: {where}: {error}") from error
