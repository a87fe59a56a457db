"""The ncu command line that records a program of one's own so that `diagnose` reads it best."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from mla_var3 import conf
from mla_var3.core.errors import BadArgument
from mla_var3.measure.ncu_command import CONDITIONS, counter_words, range_filter
from mla_var3.measure.ncu_metrics import full_set, metric_set
from mla_var3.measure.ncu_reader.table import chip_of

Counters = Literal["full", "annotation"]
DTYPES: dict[Counters, tuple[str, ...]] = {
    "full": ("bf16", "fp16", "tf32", "fp8", "fp64"),
    "annotation": ("bf16",),
}
"""Where none are named: annotation shall be quick."""
_METRIC = re.compile(r"[\w:.]+")


class Capture(NamedTuple):
    """What is to be recorded of which program."""

    program: tuple[str, ...]
    """The program and its arguments."""
    kernel: str = ""
    """Regular expression of kernel names; empty: all."""
    launch_skip: int = 0
    """Launches that pass before the first is recorded, of those that the filters let through."""
    launch_count: int = 0
    """Launches recorded; 0: all."""
    nvtx: str = ""
    """NVTX push/pop range whose launches are recorded; `outer/inner` for a nested one."""
    counters: Counters = "full"
    """`annotation`: the counters of that mode alone, in about a third of the passes."""
    capability: str | None = None
    """Compute capability `9.0` of the GPU; None: not known."""
    dtypes: tuple[str, ...] = ()
    """Element types whose tensor FLOPs are counted, 1 or 2 passes each; empty: `DTYPES`."""
    metrics: tuple[str, ...] = ()
    """Further counters by ncu's names."""
    report: str = ""
    """Name of the report without `.ncu-rep`; empty: after the program."""


def capture_command(capture: Capture) -> list[str]:
    """The command line, a word an item. Raises `BadArgument` for what cannot be recorded."""
    return [
        "ncu",
        *_counters(capture),
        *CONDITIONS,
        "--target-processes",
        "all",
        *_filters(capture),
        "-o",
        capture.report or report_name(capture.program),
        *capture.program,
    ]


def report_name(program: Sequence[str]) -> str:
    """`train` of `python -u train.py --steps 3`, `my_program` of `./my_program`."""
    words = [word for word in program if not word.startswith("-")]
    while len(words) > 1 and _is_interpreter(words[0]):
        words.pop(0)
    name = Path(words[0]).name if words else ""
    return re.sub(r"[^\w.-]+", "_", re.sub(r"\.(py|sh|exe|out)$", "", name)) or "report"


def metric_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Counters of texts such as `a,b`: each once, in order; an empty item is none.

    Raises `BadArgument` naming a word that no counter can be called.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    for word in words:
        if word and not _METRIC.fullmatch(word):
            raise BadArgument(f"{word!r} is no name of a counter; separate names by commas")
    return tuple(dict.fromkeys(word for word in words if word))


def _counters(capture: Capture) -> tuple[str, ...]:
    chip = chip_of(capture.capability)
    dtypes = capture.dtypes or DTYPES[capture.counters]
    full = capture.counters == "full"
    if not full and chip is None:
        raise BadArgument("the counters of annotation differ by chip: name it by --target")
    there = full_set(chip, dtypes) if full else metric_set(chip, dtypes)
    return counter_words(metric_names([*there.names, *capture.metrics]), full=full)


def _filters(capture: Capture) -> list[str]:
    words: list[str] = []
    if capture.nvtx:
        names = [name for name in capture.nvtx.split("/") if name]
        if not names:
            raise BadArgument(f"--nvtx={capture.nvtx} names no range")
        words += ["--nvtx", "--nvtx-include", "".join(map(range_filter, names))]
    if capture.kernel:
        words += ["--kernel-name", f"regex:{capture.kernel}"]
    if capture.launch_skip:
        words += ["--launch-skip", str(capture.launch_skip)]
    if capture.launch_count:
        words += ["--launch-count", str(capture.launch_count)]
    return words


def _is_interpreter(word: str) -> bool:
    name = re.sub(r"[\d.]+$", "", Path(word).name)
    return name in conf.table("capture")["interpreters"] or "=" in word
