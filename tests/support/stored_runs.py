"""Stored profiles of invented event runs, as the recipe leaves them."""

from pathlib import Path
from typing import Any

import msgspec
from tests.support.timings import CLOCK, gpu_timing

from mla_var3.core import artifacts
from mla_var3.core.record import Environment, Metric, PlanIdentity, Profile, Stage
from mla_var3.core.record_file import save_profile
from mla_var3.core.timing import Timing, save_timing

PARAMS: dict[str, int | float | str | bool] = {"b": 32, "s": 16, "t": 4096, "dtype": "bfloat16"}
COUNT = 200
PARTS = (-0.3, 0.2, -0.1, 0.3, 0.0, -0.2, 0.1, 0.25, -0.25, 0.15)
"""Percent around the middle, call by call."""


def samples(us: float, count: int = COUNT) -> list[float]:
    """Times in ns around `us` microseconds."""
    return [1e3 * us * (1.0 + PARTS[at % len(PARTS)] / 100.0) for at in range(count)]


def event_run(folder: Path, us: float, timing: Timing | None = None, **plan: Any) -> Path:
    """A folder with `profile.json` and `timing.json` of a run of flash_mla v1 on an H200."""
    taken = timing or gpu_timing(samples(us))
    named: dict[str, Any] = {
        "kernel": "flash_mla",
        "version": "v1",
        "language": "cutile",
        "params": PARAMS,
        "source_sha256": "a" * 64,
    }
    clock = taken.clock or CLOCK
    raw = f"median of {len(taken.series.samples_ns)} samples, {taken.timer}, {taken.series.cache}"
    profile = Profile(
        mode="event",
        status="OK",
        created=plan.pop("created", "2026-12-01T10:15:02+00:00"),
        stages=(Stage(name="latent", kernel="latent", launch=0, metrics={}),),
        end_to_end=Stage(
            name="end_to_end",
            kernel="end_to_end",
            launch=0,
            metrics={"duration": Metric(1e3 * us, "ns", "event", raw)},
        ),
        environment=Environment(
            device=taken.machine.device, driver=taken.machine.driver, clocks_locked=clock.locked
        ),
        tilings=plan.pop("tilings", {"latent": {"tile_m": 64}}),
        plan=PlanIdentity(**named | plan),
    )
    folder.mkdir(parents=True)
    save_profile(profile, folder)
    save_timing(taken, folder / artifacts.TIMING)
    return folder


def tool_run(folder: Path, mode: str, us: float, params: dict[str, Any] = PARAMS) -> Path:
    """A folder of `ncu` or `nsys`: one duration, and no samples."""
    metric = Metric(1e3 * us, "ns", mode, "gpu__time_duration.sum")  # type: ignore[arg-type]
    stage = Stage(name="k", kernel="k", launch=0, metrics={"duration": metric})
    profile = Profile(
        mode=mode,  # type: ignore[arg-type]
        status="OK",
        stages=(stage,),
        environment=Environment(device="NVIDIA H200", driver="580.159.03"),
        plan=PlanIdentity(kernel="flash_mla", version="v1", language="cutile", params=params),
    )
    folder.mkdir(parents=True)
    save_profile(profile, folder)
    return folder


def with_clock(timing: Timing, mhz: float) -> Timing:
    """The run at another SM clock."""
    return msgspec.structs.replace(timing, clock=msgspec.structs.replace(CLOCK, sm_mhz=mhz))
