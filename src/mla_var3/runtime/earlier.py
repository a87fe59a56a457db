"""The last stored profile of a plan, to hold a new one against."""

from pathlib import Path

from mla_var3.core import artifacts
from mla_var3.core.errors import MlaError
from mla_var3.core.locate import kernel_name
from mla_var3.core.params import problem_folder
from mla_var3.core.plan import KernelPlan
from mla_var3.core.record import Profile
from mla_var3.core.record_file import load_profile
from mla_var3.runtime.leftovers import PARTIAL


def last_profile(
    plan: KernelPlan, mode: str, root: Path = artifacts.PROFILES
) -> tuple[Profile, str] | None:
    """The newest profile of the same problem, of this version or else of another one, and its
    folder below `root`; None where there is none that can be read.
    """
    kernel = kernel_name(type(plan))
    found: list[tuple[bool, str, Profile, str]] = []
    for folder in root.glob(f"{mode}/{kernel}*/{problem_folder(plan)}/*"):
        profile = None if folder.name.startswith(PARTIAL) else _read(folder)
        if profile is None or profile.plan is None or profile.plan.kernel != kernel:
            continue
        if profile.plan.language == plan.LANGUAGE:
            own = profile.plan.version == plan.VERSION
            place = folder.relative_to(root).as_posix()
            found.append((own, profile.created, profile, place))
    if not found:
        return None
    newest = max(found, key=lambda item: (item[0], item[1], item[3]))
    return newest[2], newest[3]


def _read(folder: Path) -> Profile | None:
    """The record of a folder, None where it is damaged or of a kernel that failed."""
    try:
        profile = load_profile(folder)
    except MlaError:
        return None
    return profile if profile.status in ("OK", "PARTIAL") else None
