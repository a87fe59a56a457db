"""The SM clock of each sample, counted on the device itself: cycles over nanoseconds.

A kernel of one thread an SM notes `clock64` and `globaltimer` before and after the sample, in the
stream's order and outside the timed part, into host memory that the device can write. An SM is
compared with itself: the counters of two SMs have nothing to do with each other. The code is PTX,
which the driver compiles: no compiler is needed. After nvbench (gpu_frequency.cuh, sm_cycle_timer).
"""

import ctypes
from typing import Any, Protocol

SOURCE = "in-band"
_LIBRARY = "libcuda.so.1"
THREADS = 1
PTX = b"""
.version 6.0
.target sm_60
.address_size 64

.visible .entry mla_stamp(.param .u64 out, .param .u32 sms)
{
  .reg .pred %p;
  .reg .b32 %sm, %sms;
  .reg .b64 %out, %at, %cycles, %ns;
  ld.param.u64 %out, [out];
  ld.param.u32 %sms, [sms];
  mov.u32 %sm, %smid;
  setp.ge.u32 %p, %sm, %sms;
  @%p bra DONE;
  cvta.to.global.u64 %out, %out;
  mul.wide.u32 %at, %sm, 16;
  add.u64 %out, %out, %at;
  mov.u64 %cycles, %clock64;
  mov.u64 %ns, %globaltimer;
  st.global.v2.u64 [%out], {%cycles, %ns};
DONE:
  ret;
}
\x00"""
ENTRY = b"mla_stamp"


class Driver(Protocol):
    """The calls of the driver's library that are needed; each gives 0 or an error."""

    def cuModuleLoadData(self, module: Any, image: Any) -> int: ...

    def cuModuleGetFunction(self, function: Any, module: Any, name: Any) -> int: ...

    def cuLaunchKernel(self, *words: Any) -> int: ...


class NoCounter(Exception):
    """Cycles cannot be counted in band here, and why."""


class InBandClock:
    """Notes cycles and time of every SM on torch's current stream; never waits."""

    def __init__(self, torch: Any, sms: int, driver: Driver | None = None) -> None:
        """On torch's current device, which has a context. Raises `NoCounter`."""
        self._torch = torch
        self._sms = sms
        self._driver = driver or _library()
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        image = ctypes.c_char_p(PTX)
        self._check("cuModuleLoadData", ctypes.byref(self._module), image)
        name = ctypes.c_char_p(ENTRY)
        self._check("cuModuleGetFunction", ctypes.byref(self._function), self._module, name)
        self.probe()

    def slots(self, count: int) -> Any:
        """Room for `count` samples, all zero: int64 [2 count, SMs, (cycles, ns)]."""
        shape = (2 * count, self._sms, 2)
        return self._torch.zeros(shape, dtype=self._torch.int64, pin_memory=True)

    def stamp(self, slots: Any, row: int) -> None:
        """Queue a note into a row: 2 i before sample i, 2 i + 1 after it."""
        out = ctypes.c_uint64(slots.data_ptr() + row * self._sms * 16)
        sms = ctypes.c_uint32(self._sms)
        words = (ctypes.c_void_p * 2)(
            ctypes.cast(ctypes.pointer(out), ctypes.c_void_p),
            ctypes.cast(ctypes.pointer(sms), ctypes.c_void_p),
        )
        stream = ctypes.c_void_p(self._torch.cuda.current_stream().cuda_stream)
        grid, block = (self._sms, 1, 1), (THREADS, 1, 1)
        self._check("cuLaunchKernel", self._function, *grid, *block, 0, stream, words, None)

    def mhz(self, slots: Any) -> list[float | None]:
        """SM clock of each sample; the device is done with them."""
        return mhz_of(self._torch, slots)

    def probe(self) -> None:
        """Note twice and see whether cycles and time went on. Raises `NoCounter`."""
        slots = self.slots(1)
        self.stamp(slots, 0)
        self._torch.cuda._sleep(100_000)
        self.stamp(slots, 1)
        self._torch.cuda.synchronize()
        if self.mhz(slots)[0] is None:
            raise NoCounter("no SM told its cycles and its time")

    def _check(self, name: str, *words: Any) -> None:
        code = getattr(self._driver, name)(*words)
        if code:
            raise NoCounter(f"{name} failed with {code}")


def mhz_of(torch: Any, slots: Any) -> list[float | None]:
    """MHz of each sample from its notes, the median of the SMs that noted both; None: none did."""
    before, after = slots[0::2], slots[1::2]
    both = (before[..., 1] > 0) & (after[..., 1] > before[..., 1])
    spent = (after - before).to(torch.float64)
    clock = torch.where(both, 1e3 * spent[..., 0] / spent[..., 1].clamp(min=1.0), torch.nan)
    middle = torch.nanmedian(clock, dim=1).values.tolist()
    return [value if value > 0 else None for value in middle]


def find_in_band(torch: Any, sms: int | None) -> "InBandClock | str":
    """A clock on torch's current device, or why there is none."""
    if not sms:
        return "the number of SMs is not known"
    try:
        return InBandClock(torch, sms)
    except NoCounter as error:
        return str(error)
    except (OSError, RuntimeError) as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _library() -> Any:
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise NoCounter(f"no {_LIBRARY}") from error
