"""Read a `.ncu-rep`: what the file itself tells, then what `ncu_report` shows of it."""

import contextlib
import mmap
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mla_var3.core.errors import UnreadableFile
from mla_var3.core.record import Profile, SourceFile, Stage
from mla_var3.measure.ncu_reader import blocks, versions
from mla_var3.measure.ncu_reader.environment import iso_time
from mla_var3.measure.ncu_reader.names import unique_names
from mla_var3.measure.ncu_reader.part import Part, Progress, read_parts

_HEADLINES = ("duration", "tensor", "dram")
_COPY_AGAIN = "copy it again, or record it again"
_UNNAMED_TOOL = (
    "the file does not name the tool that recorded it, which stands behind the first launch: "
    "more launches may have been cut off"
)
_CHUNK = 1 << 20


def read_report_file(
    path: Path,
    source: SourceFile,
    *,
    walkable: bool,
    progress: Progress | None = None,
    apart: bool = False,
) -> Profile:
    """Record of a .ncu-rep. `walkable` is False for the packed form `.ncu-repz`."""
    layout, capture = blocks.Layout(end="unknown"), None
    if walkable:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            with memoryview(data) as view:
                layout = blocks.walk(view)
                capture = versions.capture_version(layout, view)
        refuse(layout, source.bytes)
    with whole_file(path, layout) as whole:
        part = read_parts(whole, layout.launches, progress, apart=apart)
    if capture:
        environment = msgspec.structs.replace(part.environment, capture_tool=f"ncu {capture}")
        part = msgspec.structs.replace(part, environment=environment)
    return build_profile(part, layout, source)


@contextlib.contextmanager
def whole_file(path: Path, layout: blocks.Layout) -> Iterator[Path]:
    """The file, or of a cut one a copy that ends with its last whole block.

    The library shows nothing at all of some cut files, and a ghost launch of others.
    """
    if layout.end != "cut":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mla-") as folder:
        copy = Path(folder) / "whole.ncu-rep"
        with path.open("rb") as source, copy.open("wb") as target:
            left = layout.whole_bytes
            while left > 0 and (chunk := source.read(min(left, _CHUNK))):
                target.write(chunk)
                left -= len(chunk)
        yield copy


def refuse(layout: blocks.Layout, size: int) -> None:
    """Raise for a file of which nothing can be shown, before any library is loaded."""
    if layout.launches or layout.end == "unknown":
        return
    if layout.end == "cut":
        raise UnreadableFile(
            "TRUNCATED",
            f"the file ends after {size:,} bytes, inside its first launch: {_COPY_AGAIN}",
        )
    raise UnreadableFile(
        "NO_KERNELS",
        "a whole report without a kernel: the filter of the recording matched no launch, "
        "or the program launched none",
    )


def build_profile(contents: Part, layout: blocks.Layout, source: SourceFile) -> Profile:
    """The record, with the status that the evidence allows."""
    stages = _named(contents.stages)
    failure = _truncation(contents, layout) or _interruption(stages)
    if not stages:
        if contents.ghosts:
            raise UnreadableFile("TRUNCATED", f"no launch is whole: {_COPY_AGAIN}")
        raise UnreadableFile("NOT_A_REPORT", "ncu_report finds no launch in it")
    if not failure and not any(key in stage.metrics for stage in stages for key in _HEADLINES):
        raise UnreadableFile(
            "NO_METRICS",
            "none of duration, tensor % and DRAM % is in it: record it with ncu --set full",
        )
    return Profile(
        mode="ncu",
        status="PARTIAL" if failure else "OK",
        stages=stages,
        environment=contents.environment,
        source=source,
        created=iso_time(layout.time),
        failure=failure,
        warnings=_warnings(contents, layout),
    )


def _named(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    names = unique_names(stages)
    return tuple(
        stage if stage.name == name else msgspec.structs.replace(stage, name=name)
        for stage, name in zip(stages, names, strict=True)
    )


def _truncation(contents: Part, layout: blocks.Layout) -> str:
    """Why the file is not whole, "" where nothing speaks for that."""
    shown = f"shown: {_count(len(contents.stages))}"
    if contents.ghosts:
        lost = f"{_count(contents.ghosts)} cannot be read"
        return f"TRUNCATED {lost}; {shown}; {_COPY_AGAIN}"
    if layout.end == "cut":
        missing = f"at least {layout.missing_bytes:,} bytes are missing at the end"
        return f"TRUNCATED {missing}; {shown}; {_COPY_AGAIN}"
    return ""


def _interruption(stages: tuple[Stage, ...]) -> str:
    stopped = [stage.name for stage in stages if stage.interrupted]
    if not stopped:
        return ""
    return (
        f"interrupted: the profiler was stopped inside {len(stopped)} of {_count(len(stages))} "
        f"({', '.join(stopped[:3])}); record it again"
    )


def _count(number: int) -> str:
    return "1 launch" if number == 1 else f"{number} launches"


def _warnings(contents: Part, layout: blocks.Layout) -> tuple[str, ...]:
    found = []
    environment = contents.environment
    older = versions.too_old(_version(environment.capture_tool), _version(environment.reader_tool))
    if older:
        found.append(older)
    if layout.end == "padded":
        found.append(f"{layout.padding_bytes:,} zero bytes behind the report are ignored")
    if layout.end == "whole" and not (layout.tool_version or environment.capture_tool):
        found.append(_UNNAMED_TOOL)
    return tuple(found)


def _version(tool: str | None) -> str | None:
    found = re.search(r"\d[\d.]*$", tool or "")
    return found.group(0) if found else None
