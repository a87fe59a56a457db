"""Disk and locks: where profiles go, and who holds which device."""

import os
import shutil
import tempfile
from pathlib import Path

from mla_var3.core.doctor import Check
from mla_var3.measure.gpu_lock import CPU, holder, lock_folder
from mla_var3.runtime.doctor.probing import Advice, Machine, check, limit


def disk(machine: Machine) -> Check:
    """Room where profiles are stored, by writing there."""
    place = _existing(machine.root)
    elsewhere = "free some, or give --out_dir on another disk"
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(place).free / 1e9
    except OSError as error:
        text = f"cannot write where profiles are stored: {error.strerror}"
        return check("disk", "FIX", text, Advice("give --out_dir on a disk of yours"))
    text = f"{free:.3g} GB free"
    if free < limit("disk_full_gb"):
        return check("disk", "FIX", text, Advice(elsewhere))
    return check("disk", "warn" if free < limit("disk_low_gb") else "ok", text,
                 Advice(elsewhere if free < limit("disk_low_gb") else ""))  # fmt: skip


def locks(machine: Machine) -> Check:
    """Who profiles now: one at a time on a device."""
    folder = lock_folder()
    place = _existing(folder)
    if not os.access(place, os.W_OK):
        advice = Advice("set XDG_CACHE_HOME to a folder of yours")
        return check(
            "locks", "FIX", f"the folder of locks cannot be written: {folder.name}", advice
        )
    named = {CPU: "CPU"}
    if machine.gpu is not None:
        named[machine.gpu.uuid or f"cuda-{machine.gpu.index}"] = "GPU"
    held = [(name, found) for uuid, name in named.items() if (found := holder(uuid)) is not None]
    if not held:
        return check("locks", "ok", "nobody profiles here now")
    text = "; ".join(f"{name} held by {found.words}" for name, found in held)
    return check("locks", "warn", text, Advice("wait until it ends: one profiling at a time"))


def _existing(path: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
