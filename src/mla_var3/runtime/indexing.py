"""The overview page of a store: every profile below a root, with links to its reports."""

from pathlib import Path

from mla_var3.core import artifacts
from mla_var3.core.errors import MachineCannot, MlaError
from mla_var3.core.record import Profile
from mla_var3.core.record_file import load_profile
from mla_var3.render.profile_index import IndexEntry, IndexLeftover, render_index
from mla_var3.render.profile_list import StoredProfile
from mla_var3.runtime.leftovers import leftovers
from mla_var3.runtime.reporting import replace_file
from mla_var3.runtime.store import stored_profiles

_LINKED = (artifacts.REPORT_MD, artifacts.CONTRACT_MD)


def write_index(root: Path) -> Path | None:
    """Write `index.md` into the root of a store; None where nothing is stored there."""
    stored = stored_profiles(root)
    left = [
        IndexLeftover(
            folder=found.folder.relative_to(root).as_posix(), raw=found.raw, in_use=found.in_use
        )
        for found in leftovers(root)
    ]
    if not stored and not left:
        return None
    page = render_index([_entry(profile, root) for profile in stored], left)
    path = root / artifacts.INDEX_MD
    try:
        replace_file(path, page.encode())
    except OSError as error:
        raise MachineCannot(f"cannot write {path.name} there: {error.strerror}") from error
    return path


def total_duration(profile: Profile) -> float | None:
    """Duration in ns of the whole as it was timed, else of all stages; None: not all are known."""
    if profile.end_to_end is not None:
        return profile.end_to_end.value("duration")
    known = [time for stage in profile.stages if (time := stage.value("duration")) is not None]
    return sum(known) if known and len(known) == len(profile.stages) else None


def _entry(stored: StoredProfile, root: Path) -> IndexEntry:
    folder = root / stored.folder
    reports = tuple(name for name in _LINKED if (folder / name).is_file())
    if stored.damage:
        return IndexEntry(stored=stored, reports=reports)
    try:
        duration = total_duration(load_profile(folder))
    except MlaError:  # `stored_profiles` looks at the head of the record only
        duration = None
    return IndexEntry(stored=stored, duration_ns=duration, reports=reports)
