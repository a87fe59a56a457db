"""The last stored profile of a plan, to hold a new one against."""

from collections.abc import Iterable
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
    plan: KernelPlan, mode: str, beside: Path | None = None, root: Path = artifacts.PROFILES
) -> tuple[Profile, str] | None:
    """The newest profile of the same problem, of this version or else of another one, and its
    folder; None where there is none that can be read.

    Looked for in the store `root`, and, for a profile that goes to a folder of the user's own
    (`beside`), among that folder's neighbours, or in the store that it lies in. The folder is told
    below its store, a neighbour by its name.
    """
    found = [*_in_store(plan, mode, root)]
    if beside is not None:
        own = _store_of(plan, mode, beside)
        found += _in_store(plan, mode, own) if own else _neighbours(beside)
    fitting = [item for item in found if _is_of(plan, mode, item[0])]
    if not fitting:
        return None

    def rank(item: tuple[Profile, str]) -> tuple[bool, str, str]:
        profile, place = item
        version = profile.plan.version if profile.plan else ""
        return version == plan.VERSION, profile.created, place

    return max(fitting, key=rank)


def _in_store(plan: KernelPlan, mode: str, root: Path) -> list[tuple[Profile, str]]:
    pattern = f"{mode}/{kernel_name(type(plan))}*/{problem_folder(plan)}/*"
    return _profiles(root.glob(pattern), root)


def _neighbours(folder: Path) -> list[tuple[Profile, str]]:
    return _profiles(folder.parent.glob("*"), folder.parent)


def _profiles(folders: Iterable[Path], root: Path) -> list[tuple[Profile, str]]:
    found = []
    for folder in folders:
        if folder.name.startswith(PARTIAL) or not (folder / artifacts.PROFILE).is_file():
            continue
        profile = _read(folder)
        if profile is not None:
            found.append((profile, folder.relative_to(root).as_posix()))
    return found


def _store_of(plan: KernelPlan, mode: str, folder: Path) -> Path | None:
    """The root of a user's own store, where the folder's path has the form of one."""
    above = folder.absolute().parents
    if len(above) < 4 or (above[0].name, above[2].name) != (problem_folder(plan), mode):
        return None
    return above[3] if above[1].name.startswith(kernel_name(type(plan))) else None


def _is_of(plan: KernelPlan, mode: str, profile: Profile) -> bool:
    """Whether a profile is of this problem, of any version in this language."""
    own = profile.plan
    return (
        own is not None
        and (profile.mode, own.kernel) == (mode, kernel_name(type(plan)))
        and (own.language, own.params) == (plan.LANGUAGE, plan.params())
    )


def _read(folder: Path) -> Profile | None:
    """The record of a folder, None where it is damaged or of a kernel that failed."""
    try:
        profile = load_profile(folder)
    except MlaError:
        return None
    return profile if profile.status in ("OK", "PARTIAL") else None
