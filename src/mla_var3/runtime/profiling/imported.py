"""The recipe of `mla import`: a recorded report becomes a stored profile."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, NoUsableData
from mla_var3.core.record_file import save_profile
from mla_var3.render.contract import build_contract
from mla_var3.render.contract_sheet import to_markdown
from mla_var3.render.report import render_report
from mla_var3.runtime.diagnosing import Diagnosed, Progress, diagnose_file
from mla_var3.runtime.result import ProfileResult
from mla_var3.runtime.store import new_folder, timestamp

MODE = "ncu"
PARAMS = "imported"
"""Stands where the problem's fields stand for a plan: a report does not tell them."""


def import_report(
    file: Path,
    out_dir: Path | None = None,
    devices: Path | None = None,
    progress: Progress | None = None,
) -> ProfileResult:
    """Read, save, analyse and render one report; without `out_dir` into `out/profiles/ncu/…`."""
    read = diagnose_file(file, devices=devices, progress=progress)
    if read.stored:
        raise BadArgument(f"{file.name} is stored already; show it with: mla diagnose {file.name}")
    now = datetime.now(UTC)
    created = read.profile.created or now.isoformat(timespec="seconds")
    profile = msgspec.structs.replace(read.profile, created=created)
    wanted = out_dir or artifacts.profile_folder(
        artifacts.PROFILES, MODE, read.stem, PARAMS, timestamp(now)
    )
    with new_folder(wanted) as folder:
        save_profile(profile, folder.work)
        no_contract = _write_contract(read, folder.work)
        report = render_report(read.profile, read.diagnosis, read.title, read.device)
        (folder.work / artifacts.REPORT_MD).write_text(report, encoding="utf-8")
    return ProfileResult(
        out_dir=folder.final,
        profile=profile,
        diagnoses=read.diagnosis,
        no_contract=no_contract,
    )


def _write_contract(read: Diagnosed, folder: Path) -> str:
    """Write the contract and its twin, or return why there is none."""
    try:
        contract = build_contract(read.profile, read.diagnosis, read.stem)
    except NoUsableData as reason:
        return str(reason)
    (folder / artifacts.CONTRACT_MD).write_text(to_markdown(contract), encoding="utf-8")
    text = msgspec.json.format(msgspec.json.encode(contract), indent=1) + b"\n"
    (folder / artifacts.CONTRACT_JSON).write_bytes(text)
    return ""
