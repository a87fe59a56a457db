"""`source/<stage>/annotated.md`: the kernel's source lines with what happened at each."""

from collections.abc import Sequence
from typing import NamedTuple

from mla_var3.core.ncu_details import Instructions, LaunchDetails, SourceText
from mla_var3.render.layout import plain
from mla_var3.render.markdown import md, md_table
from mla_var3.render.ncu_texts import changed_source, texts
from mla_var3.render.ncu_values import (
    ABSENT,
    Sums,
    aligned,
    code_line,
    count_text,
    file_names,
    share,
    sums,
    total_samples,
)

_CONTEXT = 3
"""Lines that are shown around those with instructions."""
_HEAD = ("line", "samples %", "top stall", "instructions", "exc. sectors", "exc. wavefr.")
_LEGEND = (
    "samples %: share of all warp samples of the kernel, each where the warp was going to go on",
    "top stall: what most samples of the line waited for (issuing left out)",
    "instructions: warp instructions executed",
    "exc. sectors: L2 sectors beyond those that the bytes need (uncoalesced access)",
    "exc. wavefr.: passes through shared memory beyond the fewest (bank conflicts)",
    "–: nothing was counted at this line; 0 is a count",
)
_LIBRARY = (
    "Lines of the language or of libraries that were inlined. The report does not tell which line "
    "of the kernel called them."
)


class _Lines(NamedTuple):
    """Instructions of one file by line number."""

    source: SourceText
    shown: str
    rows: dict[int, list[int]]


def render_annotated(
    name: str, details: LaunchDetails, sass: str, warnings: Sequence[str], why: str = ""
) -> str:
    """The page of one kernel.

    `sass` is where its machine code lies, `warnings` those of the profile: they tell which source
    files differ from what was compiled. `why` says why there are no instructions.
    """
    lines = [f"# {md(name)}: source", "", f"`{plain(details.kernel)}`", ""]
    table = details.instructions
    if table is None:
        return "\n".join([*lines, md(why or texts().texts["no_instructions"])]) + "\n"
    files = _by_file(details, table)
    if not files:
        return "\n".join([*lines, *_no_lines(sass)]) + "\n"
    own = [file for file in files if not file.source.library]
    library = [file for file in files if file.source.library]
    lines += _overview(table, own, library)
    lines += ["", *(f"- {md(text)}" for text in _LEGEND)]
    for file in own:
        lines += ["", f"## {md(file.shown)}", "", *_warning(file, warnings)]
        lines += _listing(file, table, _shown_numbers(file))
    if library:
        lines += ["", "## Library lines", "", _LIBRARY]
    for file in library:
        lines += ["", f"### {md(file.shown)}", "", *_warning(file, warnings)]
        lines += _listing(file, table, sorted(file.rows))
    return "\n".join([*lines, *_remarks(details)]) + "\n"


def _by_file(details: LaunchDetails, table: Instructions) -> list[_Lines]:
    names = file_names(details.sources)
    files = [_Lines(source, names[i], {}) for i, source in enumerate(details.sources)]
    for row, line in enumerate(table.lines):
        if line is not None:
            files[line.file].rows.setdefault(line.number, []).append(row)
    return [file for file in files if file.rows]


def _no_lines(sass: str) -> list[str]:
    found = texts()
    advice = [f"- {language}: {md(text)}" for language, text in found.line_info.items()]
    return [md(found.texts["no_lines"].format(sass=sass)), "", *advice]


def _overview(table: Instructions, own: list[_Lines], library: list[_Lines]) -> list[str]:
    samples = total_samples(table)
    cells = [("Where", "Samples %", "Samples", "Instructions executed")]
    placed: set[int] = set()
    for file in [*own, *library]:
        rows = [row for at in file.rows.values() for row in at]
        placed.update(rows)
        label = f"{file.shown} (library)" if file.source.library else file.shown
        cells.append(_overview_row(label, sums(table, rows), samples))
    rest = [row for row in range(len(table.offsets)) if row not in placed]
    if rest:
        cells.append(_overview_row("without a line", sums(table, rest), samples))
    cells.append(_overview_row("kernel", sums(table, range(len(table.offsets))), samples))
    return md_table(cells)


def _overview_row(label: str, part: Sums, samples: int) -> tuple[str, str, str, str]:
    return (
        label,
        share(part.samples, samples),
        count_text(part.samples),
        count_text(part.executed),
    )


def _warning(file: _Lines, warnings: Sequence[str]) -> list[str]:
    found = []
    if not file.source.text:
        found.append(texts().texts["no_source"].format(file=file.source.name))
    changed = changed_source(file.source.name)
    if file.source.on_disk == "differs" or changed in warnings:
        found.append(changed)
    return [f"**Warning:** {md(text)}\n" for text in found]


def _shown_numbers(file: _Lines) -> list[int]:
    """The lines with instructions and a few around each, in order."""
    last = len(file.source.text.splitlines()) or max(file.rows)
    near = {n + d for n in file.rows for d in range(-_CONTEXT, _CONTEXT + 1)}
    return sorted(file.rows.keys() | {number for number in near if 0 < number <= last})


def _listing(file: _Lines, table: Instructions, numbers: Sequence[int]) -> list[str]:
    source = file.source.text.splitlines()
    samples = total_samples(table)
    rows: list[tuple[str, ...]] = [_HEAD]
    texts_: list[str] = ["source"]
    gaps: list[int] = []
    for before, number in zip([0, *numbers], numbers, strict=False):
        if before and number > before + 1:
            gaps.append(len(rows))
        rows.append(_row(table, number, file.rows.get(number), samples))
        texts_.append(code_line(source[number - 1]) if number <= len(source) else "")
    columns = aligned(rows, left=(2,))
    width = max(map(len, columns))
    lines = [
        f"{cells.ljust(width)} | {text}".rstrip()
        for cells, text in zip(columns, texts_, strict=True)
    ]
    for position in reversed(gaps):
        lines.insert(position, f"{'…'.rjust(len(rows[1][0]))}")
    return ["```text", *lines, "```"]


def _row(table: Instructions, number: int, rows: list[int] | None, samples: int) -> tuple[str, ...]:
    if rows is None:
        return (str(number), "", "", "", "", "")
    own = sums(table, rows)
    return (
        str(number),
        share(own.samples, samples),
        own.stall or ABSENT,
        count_text(own.executed),
        count_text(own.sectors),
        count_text(own.wavefronts),
    )


def _remarks(details: LaunchDetails) -> list[str]:
    """What NVIDIA's rules say of single lines."""
    names = file_names(details.sources)
    found = [m for m in details.markers if m.line is not None]
    if not found:
        return []
    lines = [
        f"- {md(f'{names[m.line.file]}:{m.line.number}: {m.message} ({m.rule})')}"
        for m in found
        if m.line is not None
    ]
    return ["", "## NVIDIA's remarks", "", *dict.fromkeys(lines)]
