"""From a stored record to its reports: the recipes write them by it, `mla report` makes them again.

Every text is made from the files of the profile's folder alone, so what is made again anywhere is
byte for byte what was written first.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mla_var3.core import artifacts
from mla_var3.core.errors import MachineCannot, NoUsableData
from mla_var3.core.timeline import save_timeline
from mla_var3.render.contract import Contract
from mla_var3.render.contract_sheet import to_markdown
from mla_var3.runtime.diagnosing import Diagnosed, diagnose_file
from mla_var3.runtime.report_makers import Shown, file_screen, maker_of


class Reports(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is made of one stored profile."""

    read: Diagnosed
    report: str
    contract: Contract | None
    no_contract: str
    """Why there is no contract; empty where there is one."""
    plots: dict[str, bytes] = {}
    """Pictures by file name."""

    def files(self) -> dict[str, bytes]:
        """The reports by file name; without a contract its two files are left out."""
        found = {artifacts.REPORT_MD: self.report.encode()}
        if self.contract is not None:
            twin = msgspec.json.format(msgspec.json.encode(self.contract), indent=1) + b"\n"
            found[artifacts.CONTRACT_MD] = to_markdown(self.contract).encode()
            found[artifacts.CONTRACT_JSON] = twin
        return found | self.plots


def make_reports(folder: Path, devices: Path | None = None) -> Reports:
    """Make the reports of a stored profile; nothing is written.

    `devices` is a user's own table of peaks. Raises what `diagnose_file` raises.
    """
    read = diagnose_file(folder, devices=devices)
    folder = folder if folder.is_dir() else folder.parent
    maker = maker_of(read.profile)
    contract, no_contract = None, ""
    try:
        contract = maker.contract(read, folder)
    except NoUsableData as reason:
        no_contract = str(reason)
    report = maker.report(read, folder, no_contract)
    return Reports(
        read=read,
        report=report,
        contract=contract,
        no_contract=no_contract,
        plots=maker.plots(read, folder),
    )


def write_reports(folder: Path, devices: Path | None = None, to: Path | None = None) -> Reports:
    """Make the reports of a stored profile and write them into its folder, or into `to`.

    Each file is replaced whole; a contract that the record no longer gives is taken away.
    """
    reports = make_reports(folder, devices)
    place = to or (folder if folder.is_dir() else folder.parent)
    files = reports.files()
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (place / name).parent.mkdir(exist_ok=True)
            replace_file(place / name, content)
        for name in (artifacts.CONTRACT_MD, artifacts.CONTRACT_JSON):
            if name not in files:
                (place / name).unlink(missing_ok=True)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise MachineCannot(f"cannot write into {place.name}: {why}; give --out_dir") from error
    return reports


def render(reports: Reports, folder: Path, shown: Shown) -> str:
    """The screen of a stored profile, as its mode shows it."""
    maker = maker_of(reports.read.profile)
    return maker.screen(reports.read, folder, reports.no_contract, shown)


def contract_of(read: Diagnosed, path: Path) -> Contract:
    """The contract of a file that was read, a report or a stored profile.

    Raises `NoUsableData` where no stage can be classified.
    """
    with _folder(read, path) as folder:
        return maker_of(read.profile).contract(read, folder)


def screen_of(read: Diagnosed, path: Path, shown: Shown) -> str:
    """The screen of a file that was read; of a record without its other files, what it tells."""
    with _folder(read, path) as folder:
        try:
            return maker_of(read.profile).screen(read, folder, "", shown)
        except NoUsableData:
            return file_screen(read, shown)


@contextmanager
def _folder(read: Diagnosed, path: Path) -> Iterator[Path]:
    """Where the other files of a record lie; of a recording that was read they are made for now."""
    if read.timeline is None:
        yield path if path.is_dir() else path.parent
        return
    with tempfile.TemporaryDirectory(prefix="mla-") as place:
        save_timeline(read.timeline, Path(place) / artifacts.SPANS)
        yield Path(place)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the whole new one."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
