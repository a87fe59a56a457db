"""Stores of many invented profiles, written as the real ones are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mla_var3.core.record import Environment, Metric, PlanIdentity, Profile, Stage
from mla_var3.core.record_file import save_profile, to_files

PARAMS = {"b": 32, "s": 16, "t": 4096, "h": 128, "dtype": "bfloat16", "causal": False}
HOW = "median of 100 samples, CUDA events, cold cache"


def stored(number: int, us: float, **more: Any) -> Profile:
    """A profile of minute `number` that took `us` microseconds; `more` replaces fields.

    `clock_ghz`, `driver`, `locked`, `tiling`, `source`, `version` and `params` lie deeper.
    """
    short: dict[str, Any] = {
        "clock_ghz": 1.6,
        "driver": "580.159",
        "tiling": 64,
        "source": "a" * 64,
    }
    short |= {"version": "v1", "params": PARAMS, "locked": False}
    short |= {key: more.pop(key) for key in [*short] if key in more}
    whole = Stage(
        name="end to end",
        kernel="end to end",
        launch=0,
        metrics={
            "duration": Metric(us * 1e3, "ns", "event", HOW),
            "sm_clock": Metric(short["clock_ghz"] * 1e9, "Hz", "event", "nvidia-smi clocks.sm"),
            "achieved_gbps": Metric(1e5 / us, "GB/s", "event", "model bytes / duration"),
        },
        missing={"temperature": "the driver does not tell"},
    )
    profile = Profile(
        mode="event",
        status="OK",
        stages=(Stage(name="k", kernel="k", launch=0, metrics={}),),
        end_to_end=whole,
        environment=Environment(
            device="NVIDIA H200", driver=short["driver"], clocks_locked=short["locked"]
        ),
        plan=PlanIdentity(
            kernel="flash_mla",
            version=short["version"],
            language="cutile",
            params=dict(short["params"]),
            source_sha256=short["source"],
        ),
        created=f"2026-{1 + number // 40320:02d}-{1 + number // 1440 % 28:02d}"
        f"T{number // 60 % 24:02d}:{number % 60:02d}:00+00:00",
        tilings={"k": {"tile_m": short["tiling"]}},
    )
    return msgspec.structs.replace(profile, **more)


def store(root: Path, profiles: Sequence[Profile]) -> list[Path]:
    """Write them below `root` where the modes write theirs; the folders in order."""
    folders = []
    for number, profile in enumerate(profiles):
        plan = profile.plan or PlanIdentity(kernel="file", version="-")
        name = f"{plan.kernel}_{plan.version}"
        folder = root / profile.mode / name / "b32_s16" / f"run-{number:05d}"
        folder.mkdir(parents=True)
        save_profile(profile, folder)
        folders.append(folder)
    return folders


def many(root: Path, count: int, like: Mapping[str, bytes]) -> None:
    """`count` profiles of the size of a real one: `like` is one as files, its time replaced."""
    for number in range(count):
        folder = root / "annotation" / f"k{number % 40}" / "b32_s16" / f"run-{number:05d}"
        folder.mkdir(parents=True)
        stamp = stored(number, 1.0).created.encode()
        for name, content in like.items():
            head = content.replace(b"2026-12-01T13:23:04+00:00", stamp)
            head = head.replace(b'"kernel":"flash_mla"', b'"kernel":"k%d"' % (number % 40))
            (folder / name).write_bytes(head)


def as_files(profile: Profile) -> dict[str, bytes]:
    """A profile as its files."""
    return to_files(profile)
