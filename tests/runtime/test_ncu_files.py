"""The files of a full report: what stands in them, by what the table of the same kernel sums to."""

import csv
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.edited_launch import Edited, actions_of, module_of
from tests.support.report_bytes import with_launches

from mla_var3.core import artifacts
from mla_var3.core.record import Profile, Stage
from mla_var3.core.record_file import load_profile, save_profile
from mla_var3.measure.ncu_reader import read_report
from mla_var3.runtime import ncu_files
from mla_var3.runtime.ncu_files import remake_ncu_files, write_ncu_files
from mla_var3.runtime.ncu_files_part import Job, Launch, Made, make
from mla_var3.runtime.profiling.imported import import_report

Recording = Callable[[str], Path]
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NAMES = ("attention_full", "zoo_a", "cutile_mla", "triton_ops", "zoo_b_basic")
LARGE = ("zoo_b", "torch_ops")
_ROW = re.compile(r"^ *(\d+) +([\d.–]+) +(\S+) +([\d,–]+) +([\d,–]+) +([\d,–]+) +\|")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`folder("zoo_a")` is the profile that `mla import` makes of it."""
    root = tmp_path_factory.mktemp("imported")

    def of(name: str) -> Path:
        place = root / name
        if not place.exists():
            import_report(EXAMPLES / f"{name}.ncu-rep.xz", place)
        return place

    return of


Folder = Callable[[str], Path]


def _made(folder: Path, *launches: Any, names: tuple[str, ...] = (), look: bool = False) -> Made:
    """Files of launches that stand in for a report's."""
    stages = [
        Stage(name=name, kernel=str(launch.name(1) or ""), launch=position, metrics={})
        for position, (name, launch) in enumerate(zip(names or ("k",), launches, strict=True))
    ]
    safe = artifacts.folder_names(stage.name for stage in stages)
    jobs = tuple(Launch(n, stage, safe[stage.name], "") for n, stage in enumerate(stages, start=1))
    job = Job(str(Path(__file__)), str(folder), jobs, (), look)
    return make(job, module_of(*launches))


def _number(text: str) -> float | None:
    return None if text == "–" else float(text.replace(",", ""))


def _annotated(page: str) -> dict[tuple[str, int], tuple[float | None, str, list[float | None]]]:
    """File and line to samples %, top stall, and instructions, sectors and wavefronts."""
    found, file = {}, ""
    for line in page.splitlines():
        if line.startswith("##"):
            file = line.lstrip("# ").replace("\\", "")
        elif row := _ROW.match(line):
            counts = [_number(text) for text in row.group(4, 5, 6)]
            found[file, int(row[1])] = (_number(row[2]), row[3], counts)
    return found


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("name", "kernel"), [
    ("attention_full", "fa_fwd"),
    ("cutile_mla", "flash_mla"),
    ("zoo_a", "bank_conflict"),
    ("zoo_a", "strided_read"),
    ("triton_ops", "transpose_naive"),
])  # fmt: skip
def test_annotated_lines_are_sums_over_the_table(folder: Folder, name: str, kernel: str) -> None:
    place = folder(name)
    rows = _table(place / "sass" / f"{kernel}.csv")
    total = sum(int(row["smsp__pcsamp_sample_count"] or 0) for row in rows)
    prefix = "smsp__pcsamp_warps_issue_stalled_"
    wanted: dict[tuple[str, int], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        if row["line"]:
            wanted[row["file"], int(row["line"])].append(row)

    def sums(part: list[dict[str, str]], column: str) -> float | None:
        counted = [float(row[column]) for row in part if row.get(column)]
        return sum(counted) if counted else None

    page = (place / "source" / kernel / "annotated.md").read_text()
    found = _annotated(page)
    assert found.keys() == wanted.keys()
    for key, part in wanted.items():
        samples, stall, counts = found[key]
        sampled = sums(part, "smsp__pcsamp_sample_count")
        wanted_share = None if sampled is None else pytest.approx(100 * sampled / total, abs=0.051)
        assert samples == wanted_share
        assert counts == [
            sums(part, "inst_executed"),
            sums(part, "derived__memory_l2_theoretical_sectors_global_excessive"),
            sums(part, "derived__memory_l1_wavefronts_shared_excessive"),
        ]
        stalled = {
            column: sums(part, column) or 0
            for column in part[0]
            if column.startswith(prefix)
            and not column.endswith(("_not_issued", "stalled_selected", "stalled_not_selected"))
        }
        if stall != "–":
            names = {"no_instructions": "no_instruction", "warpgroup_arrive": "gmma"}
            most = max(stalled.values())
            best = {c.removeprefix(prefix) for c, count in stalled.items() if count == most}
            assert stall in {names.get(reason, reason) for reason in best}
        else:
            assert not any(stalled.values())
    shares = re.findall(r"^\| (?!kernel)[^|]+ \| ([\d.]+) \| [\d,]+ \|", page, re.MULTILINE)
    assert sum(map(float, shares)) == pytest.approx(100, abs=0.2)


def test_library_lines_stand_apart_from_the_kernel_s(folder: Folder) -> None:
    page = (folder("attention_full") / "source" / "fa_fwd" / "annotated.md").read_text()
    own, library = page.split("## Library lines")
    assert "## prog.py" in own and "| standard.py (library) | 17.9 |" in own
    assert "### standard.py" in library and "return core.maximum(a, b)" in library
    assert "## prog.py" not in library.partition("## NVIDIA")[0]
    cutile = (folder("cutile_mla") / "source" / "flash_mla" / "annotated.md").read_text()
    assert "_stub.py (library)".replace("_", "\\_") in cutile


@pytest.mark.parametrize(
    "name", [*NAMES, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]
)
def test_every_recording_gives_a_sound_folder(
    folder: Folder, name: str, request: pytest.FixtureRequest
) -> None:
    if name in LARGE and not request.config.getoption("--full"):
        pytest.skip("large: with --full")
    place = folder(name)
    profile = load_profile(place)
    safe = artifacts.folder_names(stage.name for stage in profile.stages)
    verbose = (place / artifacts.REPORT_VERBOSE_MD).read_text()
    assert len(re.findall(r"^## \d+\. ", verbose, re.MULTILINE)) >= len(profile.stages)
    links = re.findall(r"\]\(([^)]+)\)", verbose)
    assert links and all((place / link).is_file() for link in links)
    for stage in profile.stages:
        for path in (artifacts.annotated_file(safe[stage.name]), f"sass/{safe[stage.name]}.md"):
            assert path in links
    private = re.compile(r"/opt/|/home/|/usr/local|site-packages|/tmp/")
    for path in (p for p in place.rglob("*") if p.suffix in (".md", ".csv", ".ptx", ".json")):
        text = path.read_text()
        source = "\n".join(line for line in text.splitlines() if " | " not in line)
        assert not private.search(source if "source" in path.parts else text), path
    assert (place / artifacts.FULL_REPORT).is_file()


def test_the_hottest_ten_are_the_most_sampled(folder: Folder) -> None:
    place = folder("attention_full")
    rows = _table(place / "sass" / "fa_fwd.csv")
    count = {row["offset"]: int(row["smsp__pcsamp_sample_count"] or 0) for row in rows}
    order = sorted(count, key=lambda offset: (-count[offset], int(offset, 16)))[:10]
    page = (place / "sass" / "fa_fwd.md").read_text()
    found = re.findall(r"^\| (\d+) \| ([\d.]+) \| .*?\| `(0x\w+)` \|", page, re.MULTILINE)
    assert [(int(n), offset) for n, _, offset in found] == list(enumerate(order, start=1))
    total = sum(count.values())
    assert [float(share) for _, share, _ in found] == [
        round(100 * count[offset] / total, 1) for offset in order
    ]
    listing = page.partition("```text")[2]
    assert [line.split()[0] for line in listing.splitlines()[2:-1]] == list(count)


def test_a_kernel_without_lines_has_its_code_and_is_told_how_to_add_them(
    recording: Recording, tmp_path: Path
) -> None:
    action = actions_of(recording("attention_full"))[0]
    _made(tmp_path, Edited(action, source_info=lambda counter: None))
    page = (tmp_path / "source" / "k" / "annotated.md").read_text()
    assert "No source lines" in page and "sass/k.md" in page
    for told in ("-lineinfo", "TRITON", "cuTile", "CUTE"):
        assert told in page
    rows = _table(tmp_path / "sass" / "k.csv")
    assert sum(int(row["inst_executed"] or 0) for row in rows) == 196755456
    assert {row["line"] for row in rows} == {""} and rows[0]["sass"].startswith("LDC R1")


def test_a_source_without_its_text_and_one_that_changed_are_told(
    recording: Recording, tmp_path: Path
) -> None:
    action = actions_of(recording("attention_full"))[1]
    _made(tmp_path, Edited(action, source_files=dict))
    page = (tmp_path / "source" / "k" / "annotated.md").read_text()
    assert "does not hold the text of prog.py" in page and "--import-source yes" in page
    assert len(_annotated(page)) > 2

    path = tmp_path / "prog.py"
    path.write_text("# another program\n")
    text = dict(action.source_files().items())["/opt/lab/prog.py"]

    class Info:
        def __init__(self, line: int) -> None:
            self.line = lambda: line
            self.file_name = lambda: str(path)

    changed = Edited(
        action,
        source_files=lambda: {str(path): text},
        source_info=lambda pc: Info(action.source_info(pc).line()),
    )
    assert _made(tmp_path, changed, look=True).changed == ("prog.py",)
    page = (tmp_path / "source" / "k" / "annotated.md").read_text()
    assert "**Warning:** prog.py on this disk is not the text that was compiled" in page
    assert "tl.store(Y + i" in page and "another program" not in page
    assert str(tmp_path) not in page


def test_ptx_lines_are_headed_and_their_absence_is_stated(folder: Folder) -> None:
    place = folder("attention_full")
    lines = (place / "ptx" / "fa_fwd.lines.ptx").read_text().splitlines()
    assert lines[0] == "// lines referenced by SASS, not compilable"
    texts = [line.partition("//")[0].strip() for line in lines[4:]]
    rows = _table(place / "sass" / "fa_fwd.csv")
    assert texts == list(dict.fromkeys(row["ptx"] for row in rows if row["ptx"].strip("{} ;")))
    assert [p.name for p in sorted((place / "ptx").iterdir())] == [
        "copy_k.lines.ptx",
        "fa_fwd.lines.ptx",
    ]
    verbose = (place / artifacts.REPORT_VERBOSE_MD).read_text()
    assert verbose.count("the report holds no PTX for this kernel") == 1


def test_the_compiler_s_ptx_is_kept_without_folders(recording: Recording, tmp_path: Path) -> None:
    ptx = tmp_path / "made.ptx"
    ptx.write_text(
        ".version 8.7\n.target sm_90a\n.visible .entry k() {\n.loc 1 5 0\nret;\n}\n"
        '.file 1 "/home/someone/src/prog.py"\n\t.section\t.debug_info\n\t{\n.b8 47\n.b8 104\n\t}\n'
        "\t.section\t.debug_macinfo\t{\t}\n"
    )
    profile = read_report(recording("attention_full"))
    profile = msgspec.structs.replace(profile, stages=profile.stages[:2])
    write_ncu_files(recording("attention_full"), profile, tmp_path, {"fa_fwd": ptx})
    assert (tmp_path / "ptx" / "fa_fwd.ptx").read_text() == (
        ".version 8.7\n.target sm_90a\n.visible .entry k() {\n.loc 1 5 0\nret;\n}\n"
        '.file 1 "prog.py"\n'
    )
    assert not (tmp_path / "ptx" / "fa_fwd.lines.ptx").exists()
    assert (tmp_path / "ptx" / "copy_k.lines.ptx").exists()


def test_launches_of_one_name_and_odd_names_have_files_of_their_own(
    recording: Recording, tmp_path: Path
) -> None:
    names = ("k [grid 64×2]", "k [grid 64×2]#2", "K_GRID_64_2", "../../etc", "con", "·")
    found = artifacts.folder_names(names)
    assert list(found) == list(names)
    assert len({folder.lower() for folder in found.values()}) == len(names)
    for folder in found.values():
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", folder)
        assert folder.lower() != "con"
    copy, other = actions_of(recording("zoo_a"))[:2]
    _made(tmp_path, copy, other, names=("a<b>|c", "a<b>|c#2"))
    assert sorted(p.name for p in (tmp_path / "sass").iterdir()) == [
        "a_b_c.csv",
        "a_b_c.md",
        "a_b_c_2.csv",
        "a_b_c_2.md",
    ]
    assert len(_table(tmp_path / "sass" / "a_b_c.csv")) == 34
    assert len(_table(tmp_path / "sass" / "a_b_c_2.csv")) == 116


def test_what_cannot_be_shown_is_stated_on_every_page(recording: Recording, tmp_path: Path) -> None:
    path = recording("zoo_a")
    profile = read_report(path)
    stages = list(profile.stages[:4])
    stages[0] = msgspec.structs.replace(stages[0], interrupted=True, metrics={}, missing={})
    stages[1] = msgspec.structs.replace(stages[1], kernel="another()")
    stages[2] = msgspec.structs.replace(stages[2], launch=99)
    bad = Profile(mode="ncu", status="PARTIAL", failure="interrupted: x", stages=tuple(stages))
    write_ncu_files(path, bad, tmp_path, {})
    reasons = (
        "the profiler was stopped inside this launch",
        "the report has another kernel at this place",
        "the report has no such launch",
    )
    verbose = (tmp_path / artifacts.REPORT_VERBOSE_MD).read_text()
    for stage, reason in zip(stages, reasons, strict=False):
        for page in (f"source/{stage.name}/annotated.md", f"sass/{stage.name}.md"):
            assert reason in (tmp_path / page).read_text()
        assert not (tmp_path / "sass" / f"{stage.name}.csv").exists()
        assert reason in verbose
    assert (tmp_path / "sass" / f"{stages[3].name}.csv").is_file()
    assert "**Warning:** interrupted: x" in verbose


def test_a_report_without_rules_or_sections_is_shown(recording: Recording, tmp_path: Path) -> None:
    action = actions_of(recording("zoo_a"))[0]
    bare = Edited(
        action,
        rule_results_as_dicts=list,
        sections=list,
        source_markers=list,
        metric_names=lambda: ("gpu__time_duration.sum", "launch__grid_size"),
    )
    verbose = _made(tmp_path, bare).verbose[1]
    assert "2 counters" in verbose and "**OPTIMIZATION**" not in verbose
    page = (tmp_path / "source" / "k" / "annotated.md").read_text()
    assert "no counter was collected by instruction" in page


def test_long_reports_are_read_by_parts_with_the_same_result(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recording("zoo_a")
    profile = read_report(path)
    profile = msgspec.structs.replace(profile, stages=profile.stages[:4])
    done: list[tuple[int, int]] = []
    write_ncu_files(path, profile, tmp_path / "one", {})
    monkeypatch.setattr(ncu_files, "PART_LAUNCHES", 3)
    write_ncu_files(path, profile, tmp_path / "two", {}, progress=lambda a, b: done.append((a, b)))
    assert done == [(3, 4), (4, 4)]
    assert _tree(tmp_path / "one") == _tree(tmp_path / "two")


def _tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_they_are_made_again_byte_for_byte_where_the_report_is_kept(
    folder: Folder, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder("triton_ops"), copy)
    before = _tree(copy)
    for name in (artifacts.SOURCE, artifacts.SASS, artifacts.PTX):
        shutil.rmtree(copy / name)
    made = remake_ncu_files(copy)
    assert made == (artifacts.REPORT_VERBOSE_MD, artifacts.SOURCE, artifacts.SASS, artifacts.PTX)
    after = _tree(copy)
    assert after.keys() == before.keys()
    # what is ours in report-verbose.md is put behind the sections by `write_reports`
    own = artifacts.REPORT_VERBOSE_MD
    assert before.pop(own).startswith(after.pop(own).rstrip())
    assert after == before
    (copy / artifacts.FULL_REPORT).unlink()
    assert remake_ncu_files(copy) == ()


def test_a_warning_of_the_profile_stands_on_the_page_that_is_made_again(
    recording: Recording, tmp_path: Path
) -> None:
    shutil.copyfile(recording("attention_full"), tmp_path / artifacts.FULL_REPORT)
    profile = read_report(recording("attention_full"))
    told = "prog.py on this disk is not the text that was compiled: source/ shows the report's"
    save_profile(msgspec.structs.replace(profile, warnings=(told,)), tmp_path)
    remake_ncu_files(tmp_path)
    assert told in (tmp_path / "source" / "copy_k" / "annotated.md").read_text()


def test_a_report_without_instructions_says_so_and_claims_nothing_of_its_ptx(
    folder: Folder,
) -> None:
    verbose = (folder("zoo_b_basic") / artifacts.REPORT_VERBOSE_MD).read_text()
    assert verbose.count("no counter was collected by instruction") == 9
    assert "no PTX for this kernel" not in verbose


def test_excess_is_what_nvidia_s_rule_says_of_the_line(folder: Folder) -> None:
    page = (folder("triton_ops") / "source" / "transpose_naive" / "annotated.md").read_text()
    assert "87.50% of this line's global accesses are excessive" in page
    rows = _table(folder("triton_ops") / "sass" / "transpose_naive.csv")
    excess = "derived__memory_l2_theoretical_sectors_global_excessive"
    loads = [row for row in rows if int(row[excess] or 0)]
    assert {row["sass"].partition(" ")[0] for row in loads} == {"LDG.E"}
    actual = sum(int(row["memory_l2_theoretical_sectors_global"]) for row in loads)
    _, _, counts = _annotated(page)["triton_ops.py", 44]
    assert counts[1] == 0.875 * actual == 58720256


def test_a_curve_is_drawn_and_the_sum_of_its_points_is_no_value(folder: Folder) -> None:
    text = (folder("attention_full") / artifacts.REPORT_VERBOSE_MD).read_text()
    part = text.partition("## 1. fa")[2].partition("\n## 2. ")[0]
    counted = [line for line in part.splitlines() if "occupancy_per_" in line and "| `" in line]
    curves = [line for line in counted if "cluster_size" not in line]
    assert len(curves) == 8 and all("| – | a curve, below |" in line for line in curves)
    # an SM has 65,536 registers: 65536 // (144 × 256 threads) = 1 block of 8 warps
    assert re.search(r"0–256 +8  #+  <- this launch: 142$", part, re.MULTILINE)


@pytest.mark.parametrize("left", [0, 100, 60_000])
def test_a_kept_report_that_was_damaged_is_told_on_the_pages(
    recording: Recording, tmp_path: Path, left: int
) -> None:
    whole = recording("zoo_b_basic")
    save_profile(read_report(whole), tmp_path)
    (tmp_path / artifacts.FULL_REPORT).write_bytes(whole.read_bytes()[:left])
    assert artifacts.SOURCE in remake_ncu_files(tmp_path)
    verbose = (tmp_path / artifacts.REPORT_VERBOSE_MD).read_text()
    assert verbose.count("the report has no such launch") == 9
    assert "no such launch" in (tmp_path / "sass" / "fill_chain.md").read_text()


def test_the_report_is_left_out_where_that_is_typed(tmp_path: Path) -> None:
    import_report(EXAMPLES / "zoo_b_basic.ncu-rep.xz", tmp_path / "p", keep=False)
    assert not (tmp_path / "p" / artifacts.FULL_REPORT).exists()
    assert (tmp_path / "p" / artifacts.REPORT_VERBOSE_MD).is_file()
    assert "names the host" not in (tmp_path / "p" / artifacts.REPORT_VERBOSE_MD).read_text()


@pytest.mark.slow
def test_a_hundred_kernels_within_time_and_memory(
    recording: Recording, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    full = request.config.getoption("--full")
    name, count = ("triton_ops", 100) if full else ("zoo_b_basic", 12)
    many = tmp_path / "many.ncu-rep"
    many.write_bytes(with_launches(recording(name).read_bytes(), count))
    program = (
        "import resource, sys, time; from pathlib import Path;"
        "from mla_var3.runtime.profiling.imported import import_report as i;"
        "i(Path(sys.argv[1]), Path(sys.argv[2]));"
        "children = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "own = [line for line in open('/proc/self/status') if line.startswith('VmHWM')][0];"
        "print(time.process_time() + children.ru_utime + children.ru_stime,"
        " max(children.ru_maxrss, int(own.split()[1])))"
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program, many, tmp_path / "p"],
        check=True,
        capture_output=True,
        text=True,
    )
    spent, kilobytes = map(float, done.stdout.split())
    # of the two, what other work on the machine makes longer does not count
    assert min(time.monotonic() - start, spent) <= 0.6 * count
    assert kilobytes <= 600e3
    assert len(list((tmp_path / "p" / "sass").glob("*.md"))) == count
