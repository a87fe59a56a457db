"""The source lines at which the warps were seen most often, with the hottest instruction there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mla_var3.core.record import HotLine
from mla_var3.measure.ncu_reader.stalls import SAMPLED, reason_of

MOST_LINES = 5
NO_LINES = (
    "no source lines: the kernel was compiled without line information (nvcc -lineinfo), "
    "or is a library's"
)
_TEXT_LENGTH = 100
_NO_STALL = frozenset({"selected", "not_selected"})
_LIBRARY_FOLDERS = re.compile(
    r"(^|[\\/])(site-packages|dist-packages|cutlass|cute|triton[\\/]language|cuda[\\/]tile|include[\\/](crt|cub|"
    r"thrust|cuda|cooperative_groups)|targets[\\/][\w-]+[\\/]include|libcudacxx)[\\/]|\.nv\.tileir"
)

Instruction = Callable[[int], str]
"""Opcode at a program counter, "" where it cannot be told."""


@dataclass
class _Line:
    samples: int = 0
    positions: list[int] = field(default_factory=list)
    """Indices of its instructions in the list of sampled program counters."""


def read_hot_lines(action: Any, instruction: Instruction) -> tuple[HotLine, ...]:
    """At most five lines, the hottest first; () without samples or line information."""
    try:
        return _hot_lines(action, instruction)
    except (RuntimeError, TypeError, ValueError, OverflowError):
        # samples of another form than program counters and counts
        return ()


def _hot_lines(action: Any, instruction: Instruction) -> tuple[HotLine, ...]:
    samples = _samples(action)
    if samples is None:
        return ()
    counters, counts = samples
    lines: dict[tuple[str, int], _Line] = {}
    for position, (counter, count) in enumerate(zip(counters, counts, strict=True)):
        where = action.source_info(counter) if count else None
        if where is not None and where.file_name():
            line = lines.setdefault((str(where.file_name()), int(where.line())), _Line())
            line.samples += count
            line.positions.append(position)
    hottest = sorted(lines.items(), key=lambda item: (-item[1].samples, item[0]))[:MOST_LINES]
    if not hottest:
        return ()
    texts = {str(name): str(text) for name, text in dict(action.source_files()).items()}
    stalls = _stall_columns(action, counters)
    total = sum(counts)
    return tuple(
        HotLine(
            file=base_name(file),
            line=number,
            samples_pct=round(100 * line.samples / total, 4),
            text=_line_of(texts.get(file, ""), number),
            instruction=instruction(counters[max(line.positions, key=counts.__getitem__)]),
            stall=_top_stall(stalls, line.positions),
            library=is_library(file),
        )
        for (file, number), line in hottest
    )


def has_samples(action: Any) -> bool:
    """Whether warp states were sampled at all."""
    return _per_instruction(action, "smsp__pcsamp_sample_count") is not None


def is_library(path: str) -> bool:
    """Whether a source belongs to a language or a library, by its path."""
    return bool(_LIBRARY_FOLDERS.search(path))


def base_name(path: str) -> str:
    """File name without its directory, of a path of any system."""
    return re.split(r"[\\/]", path)[-1]


def _samples(action: Any) -> tuple[list[int], list[int]] | None:
    """Program counters and their samples, or None."""
    for name in ("smsp__pcsamp_sample_count", "smsp__pcsamp_sample_buffer"):
        column = _column(action, name)
        if column is not None and sum(column[1]) > 0:
            return column
    columns = [column for name in _stall_names(action) if (column := _column(action, name))]
    counts: dict[int, int] = {}
    for counters, values in columns:
        for counter, value in zip(counters, values, strict=True):
            counts[counter] = counts.get(counter, 0) + value
    return (list(counts), list(counts.values())) if sum(counts.values()) > 0 else None


def _column(action: Any, name: str) -> tuple[list[int], list[int]] | None:
    metric = _per_instruction(action, name)
    if metric is None:
        return None
    identifiers = metric.correlation_ids()
    positions = range(metric.num_instances())
    return [identifiers.as_uint64(i) for i in positions], [metric.as_uint64(i) for i in positions]


def _per_instruction(action: Any, name: str) -> Any:
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids() or metric.num_instances() == 0:
        return None
    return metric


def _stall_names(action: Any) -> list[str]:
    return [name for name in action.metric_names() if reason_of(name, SAMPLED)]


def _stall_columns(action: Any, counters: Sequence[int]) -> dict[str, Callable[[int], int]]:
    """Reason to a function from the position of a program counter to its samples."""
    columns: dict[str, Callable[[int], int]] = {}
    for name in _stall_names(action):
        metric = _per_instruction(action, name)
        reason = reason_of(name, SAMPLED)
        if metric is None or reason in _NO_STALL:
            continue
        identifiers = metric.correlation_ids()
        same = metric.num_instances() == len(counters) and all(
            identifiers.as_uint64(end) == counters[end] for end in (0, len(counters) - 1)
        )
        if same:
            columns[reason] = metric.as_uint64
        else:
            samples = dict(zip(*(_column(action, name) or ([], [])), strict=True))
            columns[reason] = [samples.get(counter, 0) for counter in counters].__getitem__
    return columns


def _top_stall(columns: dict[str, Callable[[int], int]], positions: list[int]) -> str:
    sums = {reason: sum(map(at, positions)) for reason, at in columns.items()}
    reason = max(sums, key=lambda key: (sums[key], key), default="")
    return reason if sums.get(reason, 0) > 0 else ""


def _line_of(text: str, number: int) -> str:
    lines = text.splitlines()
    if not 0 < number <= len(lines):
        return ""
    line = " ".join(lines[number - 1].split())
    return line if len(line) <= _TEXT_LENGTH else line[: _TEXT_LENGTH - 1] + "…"
