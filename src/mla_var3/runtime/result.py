"""What a profiling or an import returns to the program that called it."""

from pathlib import Path

import msgspec

from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.record import Profile


class ProfileResult(msgspec.Struct, frozen=True, kw_only=True):
    """The record, its diagnosis, and the folder where both are stored."""

    out_dir: Path
    profile: Profile
    diagnoses: ProfileDiagnosis
    no_contract: str = ""
    """Why the folder has no contract; empty where it has one."""
