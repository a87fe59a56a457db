"""What `mla import` and `mla report` say of the files that are made of a full report."""

from pathlib import Path

import pytest

from mla_var3.cli.main import main
from mla_var3.core import artifacts
from mla_var3.render import ncu_texts

RECORDING = str(Path(__file__).parent.parent.parent / "examples" / "zoo_b_basic.ncu-rep.xz")
KEPT = "profile.ncu-rep is a copy of the report; it names the host and the CPU"
DEEP = "report-verbose.md, source, sass"


def test_the_kept_report_and_what_it_holds_are_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", RECORDING, "--out_dir", str(tmp_path / "p")]) == 0
    out, err = capfd.readouterr()
    assert out == f"{(tmp_path / 'p').as_posix()}/report.md\n"
    stored, kept = err.splitlines()
    assert stored.endswith(DEEP)
    assert kept.startswith(KEPT) and "--no_keep" in kept
    assert (tmp_path / "p" / artifacts.FULL_REPORT).is_file()

    assert main(["report", str(tmp_path / "p")]) == 0
    made = capfd.readouterr().err.splitlines()[-1]
    assert made.startswith("made again: report.md") and made.endswith(DEEP)


def test_without_the_report_the_record_s_texts_are_made_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", RECORDING, "--no_keep", "--out_dir", str(tmp_path / "p")]) == 0
    assert "names the host" not in capfd.readouterr().err
    assert not (tmp_path / "p" / artifacts.FULL_REPORT).exists()
    before = (tmp_path / "p" / artifacts.REPORT_VERBOSE_MD).read_bytes()
    assert main(["report", str(tmp_path / "p")]) == 0
    assert "sass" not in capfd.readouterr().err.splitlines()[-1]
    assert (tmp_path / "p" / artifacts.REPORT_VERBOSE_MD).read_bytes() == before


def test_a_report_too_large_to_keep_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ncu_texts.Texts(ncu_texts.texts().texts, ncu_texts.texts().line_info, 10, 600_000)
    for place in ("mla_var3.runtime.profiling.imported", "mla_var3.cli.importing"):
        monkeypatch.setattr(f"{place}.texts", lambda: small)
    assert main(["import", RECORDING, "--out_dir", str(tmp_path / "p")]) == 0
    err = capfd.readouterr().err
    assert "the report itself is not kept in the folder" in err and "more than 1 MB" in err
    assert not (tmp_path / "p" / artifacts.FULL_REPORT).exists()
    assert (tmp_path / "p" / artifacts.REPORT_VERBOSE_MD).is_file()
