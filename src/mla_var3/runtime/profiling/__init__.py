"""One recipe a mode: measure or read, save, analyse, render. `MODES` names them all."""

from typing import NamedTuple


class Mode(NamedTuple):
    """One value of `--prof_type`."""

    name: str
    about: str
    runs: bool
    """Whether the kernel is run; `static` only compiles it."""
    measures: bool
    """Whether a CUDA kernel must have its GPU."""
    built: bool


MODES = {
    mode.name: mode
    for mode in (
        Mode("annotation", "roofline and a small ncu metric set for every stage", True, True, True),
        Mode("event", "end-to-end time by CUDA events", True, True, True),
        Mode("ncu", "full Nsight Compute sections, rules and source", True, True, True),
        Mode("nsys", "timeline: streams, overlap, launch order", True, True, True),
        Mode("static", "compile only: registers, spills, occupancy, roofline", False, False, True),
        Mode("disabled", "run once without a profiler; with --check compare", True, False, True),
    )
}
"""By name, in the order of the spec; a mode that is not built yet refuses with exit 3."""
