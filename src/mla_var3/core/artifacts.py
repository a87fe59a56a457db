"""The only place that spells the names of files and folders that a profile is made of."""

import re
from collections.abc import Iterable
from pathlib import Path

PROFILES = Path("out") / "profiles"
PROFILE = "profile.json"
STAGES = "stages"
CONTRACT_MD = "contract.md"
CONTRACT_JSON = "contract.json"
REPORT_MD = "report.md"
INDEX_MD = "index.md"
PARAMS = "params.json"
TIMING = "timing.json"
WORKER_LOG = "worker.log"
ANNOTATION = "annotation.json"
OPERATORS = "operators.json"
NCU_REPORT = "annotation.ncu-rep"
NCU_LOG = "ncu.log"
NCU_FACTS = "ncu.json"
ROOFLINE_PLOT = "plots/roofline.svg"
TILING = "tiling"
AUTOTUNING = "autotuning.json"
COMPILED = "compiled"
SPANS = "spans.json"
TIMELINE_JSON = "timeline.json"
TIMELINE_SVG = "timeline.svg"
KERNELS_CSV = "kernels.csv"
LAUNCHES_CSV = "launches.csv"
STREAMS_CSV = "streams.csv"
RANGES_CSV = "ranges.csv"
GAPS_CSV = "gaps.csv"
OVERLAP_CSV = "overlap.csv"
NSYS_REPORT = "profile.nsys-rep"
NSYS_SQLITE = "profile.sqlite"
NSYS_LOG = "nsys.log"
KINETO_TRACE = "kineto-trace.json"
COMPARISON = "comparison.json"
RACE = "race.json"
BASELINE = "baseline.json"
FULL_REPORT = "profile.ncu-rep"
REPORT_VERBOSE_MD = "report-verbose.md"
SOURCE = "source"
SASS = "sass"
PTX = "ptx"
ANNOTATED_MD = "annotated.md"
INLINE_STAGES = 10
"""Stages that stand in profile.json itself; the rest are files of their own in `stages/`."""

_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
_LONGEST_FOLDER = 80
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{p}{n}" for p in ("com", "lpt") for n in "123456789"}
)
"""Names that Windows keeps for devices."""


def stage_file(position: int) -> str:
    """`stages/011.json` for the stage at `position`, counted from 0."""
    return f"{STAGES}/{position + 1:03d}.json"


def profile_folder(root: Path, mode: str, kernel: str, params: str, timestamp: str) -> Path:
    """`<root>/<mode>/<kernel>/<params>/<timestamp>`, the spec's place for a profile."""
    return root / mode / kernel / params / timestamp


def shape_log(position: int) -> str:
    """`worker-2.log`: what the child of the shape at `position`, from 0, said before it failed."""
    return f"worker-{position + 1}.log"


def tiling_file(stage: str) -> str:
    """`tiling/latent.json`: the tiling that was used for a stage."""
    return f"{TILING}/{stage}.json"


def autotuning_file(stage: str) -> str:
    """`tiling/latent/autotuning.json`: the tilings that were tried for a stage."""
    return f"{TILING}/{stage}/{AUTOTUNING}"


def compiled_folder(stage: str) -> str:
    """`compiled/latent`: what the compiler made of a stage."""
    return f"{COMPILED}/{stage}"


def annotated_file(folder: str) -> str:
    """`source/latent/annotated.md`; `folder` is a name of `folder_names`."""
    return f"{SOURCE}/{folder}/{ANNOTATED_MD}"


def sass_file(folder: str, ending: str) -> str:
    """`sass/latent.csv` or `sass/latent.md`."""
    return f"{SASS}/{folder}.{ending}"


def ptx_file(folder: str) -> str:
    """`ptx/latent.ptx`: what the compiler wrote."""
    return f"{PTX}/{folder}.ptx"


def ptx_lines_file(folder: str) -> str:
    """`ptx/latent.lines.ptx`: the lines that a report names."""
    return f"{PTX}/{folder}.lines.ptx"


def folder_names(names: Iterable[str]) -> dict[str, str]:
    """Each stage's name as a file or folder name, no two alike on any file system.

    Letters, digits, `.`, `-` and `_` are kept: `k [grid 64×2]#2` is `k_grid_64_2_2`.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        base = _UNSAFE.sub("_", name).strip("._")[:_LONGEST_FOLDER] or "stage"
        if base.split(".")[0].lower() in _RESERVED:
            base = f"stage_{base}"
        folder, number = base, 1
        while folder.lower() in taken:
            number += 1
            folder = f"{base}-{number}"
        taken.add(folder.lower())
        found[name] = folder
    return found
