"""From a file of any kind to its record and diagnosis, as `diagnose` and `import` need it."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.device import Device, load_devices
from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.errors import BadArgument, KernelFailed, NotFound, NoUsableData, UnreadableFile
from mla_var3.core.record import Profile
from mla_var3.core.record_file import load_profile
from mla_var3.core.timeline import Timeline

Progress = Callable[[int, int], None]
"""Called with the kernels read so far and their number."""

_PACKINGS = (".xz", ".gz")
_REPORTS = (".ncu-rep", ".csv", ".json", ".sqlite", ".sqlite3", ".db", ".nsys-rep", ".qdrep")


class Diagnosed(msgspec.Struct, frozen=True, kw_only=True):
    """One file read and judged. `title` is its name, `stem` the name without endings."""

    title: str
    stem: str
    stored: bool
    """Whether the file is a profile that was stored before."""
    profile: Profile
    device: Device | None
    diagnosis: ProfileDiagnosis
    timeline: Timeline | None = None
    """Of a recording of nsys that was read; a stored profile has it in a file of its own."""


def diagnose_file(
    path: Path,
    kernel: str | None = None,
    devices: Path | None = None,
    progress: Progress | None = None,
) -> Diagnosed:
    """Read a report of ncu or nsys, a CSV export or a stored profile, and judge each kernel.

    `progress` is called with the kernels read and their number while a long report is read.

    Raises `NotFound`, `UnreadableFile`, `NoUsableData`, `BadArgument` or, for a stored profile of
    a kernel that failed, `KernelFailed`.
    """
    if not path.exists():
        raise NotFound(f"NOT_FOUND {path.name}: no such file; check the path")
    table = load_devices(devices)
    stored = _is_stored(path)
    profile, timeline = (_load(path), None) if stored else _read(path, progress)
    if kernel is not None and profile.mode == "nsys":
        raise BadArgument("--kernel is for reports of ncu; a timeline is judged as a whole")
    profile = _filtered(profile, kernel)
    if profile.status in ("KERNEL_FAILED", "CHECK_FAILED"):
        raise KernelFailed(f"{profile.status} {profile.failure}")
    name = profile.environment.device
    device = table.find(name) if name else None
    # Imported here: the analysis is not needed by the commands that only look at files.
    from mla_var3.analyse.diagnose import diagnose

    source = profile.source
    return Diagnosed(
        title=source.file if source else path.name,
        stem=stem(source.file if source else path.name),
        stored=stored,
        profile=profile,
        device=device,
        diagnosis=diagnose(profile, device),
        timeline=timeline,
    )


def stem(name: str) -> str:
    """`zoo_a` of `zoo_a.ncu-rep.xz`."""
    for endings in (_PACKINGS, _REPORTS):
        for ending in endings:
            name = name.removesuffix(ending)
    return name or "report"


def _is_stored(path: Path) -> bool:
    if not path.is_dir():
        return path.suffix == ".json" and path.is_file()
    if (path / artifacts.PROFILE).is_file():
        return True
    raise UnreadableFile(
        "WRONG_TYPE",
        f"{path.name or path}: a directory without {artifacts.PROFILE}; give a .ncu-rep file",
    )


def _load(path: Path) -> Profile:
    """A stored profile; a file that is none begins with its own word, as reports do."""
    try:
        return load_profile(path)
    except NoUsableData as error:
        raise NoUsableData(f"INVALID {error}") from error


def _read(path: Path, progress: Progress | None) -> tuple[Profile, Timeline | None]:
    from mla_var3.runtime.nsys_files import is_nsys, read_nsys

    if is_nsys(path):
        from mla_var3.measure.nsys_record import nsys_profile

        export = read_nsys(path)
        return nsys_profile(export), export.timeline
    from mla_var3.measure.ncu_reader import read_report

    return read_report(path, progress=progress), None


def _filtered(profile: Profile, kernel: str | None) -> Profile:
    """The stages whose short or full name matches; all without a pattern."""
    if kernel is None:
        return profile
    pattern = compiled(kernel)
    kept = tuple(s for s in profile.stages if pattern.search(s.name) or pattern.search(s.kernel))
    if not kept:
        names = ", ".join(stage.name for stage in profile.stages[:8])
        raise BadArgument(f"no kernel matches --kernel {kernel!r}; there are: {names}")
    return msgspec.structs.replace(profile, stages=kept)


def compiled(kernel: str) -> re.Pattern[str]:
    """The pattern of `--kernel`; `BadArgument` where it is no regular expression."""
    try:
        return re.compile(kernel)
    except re.error as error:
        raise BadArgument(f"--kernel {kernel!r} is no regular expression: {error}") from None
