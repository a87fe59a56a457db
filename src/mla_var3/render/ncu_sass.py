"""`sass/<stage>.csv` and `.md`: every instruction with its counters, and the hottest ones."""

import csv
import io

from mla_var3.core.ncu_details import Instructions, LaunchDetails
from mla_var3.render.layout import plain
from mla_var3.render.markdown import md
from mla_var3.render.ncu_texts import texts
from mla_var3.render.ncu_values import (
    ABSENT,
    aligned,
    code,
    code_line,
    count_text,
    each_alone,
    file_names,
    share,
    sums,
    table_of,
    total_samples,
)

_FIXED = ("offset", "sass", "file", "line", "ptx")
_LEGEND = (
    "offset: bytes from the start of the function, the same in every run",
    "samples %: warps seen at this instruction; a stalled warp waits to issue it, "
    "often for the result of an earlier one",
    "excess: sectors of L2 and passes through shared memory beyond the fewest that are needed",
    "–: not counted for this instruction; 0 is a count",
)
_NO_START = "The function's start is not known: offsets count from the lowest counted address."


def render_sass_csv(details: LaunchDetails, table: Instructions) -> str:
    """A line an instruction; a column a counter by its own name, empty where it was not counted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_FIXED, *(column.name for column in table.columns)])
    files = file_names(details.sources)
    for row, offset in enumerate(table.offsets):
        line = table.lines[row]
        where = ("", "") if line is None else (files[line.file], line.number)
        counted = ("" if (v := c.values[row]) is None else v for c in table.columns)
        writer.writerow([f"{offset:#06x}", table.sass[row], *where, table.ptx[row], *counted])
    return out.getvalue()


def render_sass(name: str, details: LaunchDetails, why: str = "") -> str:
    """The page of one kernel; `why` says why there are no instructions."""
    lines = [f"# {md(name)}: machine code", "", f"`{plain(details.kernel)}`", ""]
    table = details.instructions
    if table is None:
        return "\n".join([*lines, md(why or texts().texts["no_instructions"])]) + "\n"
    samples = total_samples(table)
    executed = "" if table.executed is None else _total(table)
    lines += [f"{len(table.offsets):,} instructions{executed}, {samples:,} warp samples.", ""]
    lines += [f"- {md(text)}" for text in _LEGEND]
    lines += [f"- {md(_NO_START)}"] * (not table.from_start)
    lines += _hottest(details, table, samples)
    lines += ["", "## All instructions", "", "```text", *_listing(details, table, samples), "```"]
    return "\n".join(lines) + "\n"


def hottest_rows(table: Instructions) -> list[int]:
    """The most sampled instructions, the first of equals first."""
    samples = table.samples or ()
    rows = [row for row, count in enumerate(samples) if count]
    return sorted(rows, key=lambda row: (-(samples[row] or 0), row))[: texts().hottest]


def _total(table: Instructions) -> str:
    total = table.executed.total if table.executed else None
    return f", executed {count_text(total)} times" if isinstance(total, int | float) else ""


def _hottest(details: LaunchDetails, table: Instructions, samples: int) -> list[str]:
    rows = hottest_rows(table)
    if not rows:
        return ["", "## Hottest", "", "No warp samples were recorded."]
    files = file_names(details.sources)
    head = ("#", "Samples %", "Top stall", "Executed", "Offset", "Instruction", "Line")
    cells = []
    for position, row in enumerate(rows, start=1):
        own = sums(table, [row])
        line = table.lines[row]
        cells.append(
            (
                str(position),
                share(own.samples, samples),
                own.stall or ABSENT,
                count_text(own.executed),
                code(f"{table.offsets[row]:#06x}"),
                code(table.sass[row]),
                ABSENT if line is None else md(f"{files[line.file]}:{line.number}"),
            )
        )
    remarks = [marker for marker in details.markers if marker.offset is not None]
    notes = [f"- `{m.offset:#06x}` {md(f'{m.message} ({m.rule})')}" for m in remarks]
    heading = f"## Hottest {len(rows)}"
    return ["", heading, "", *table_of(head, cells), *([""] if notes else []), *notes]


def _listing(details: LaunchDetails, table: Instructions, samples: int) -> list[str]:
    files = file_names(details.sources)
    head = ("offset", "samples %", "top stall", "executed", "exc. sectors", "exc. wavefr.", "line")
    rows = [(*head, "instruction")]
    for row, own in enumerate(each_alone(table)):
        line = table.lines[row]
        rows.append(
            (
                f"{table.offsets[row]:#06x}",
                share(own.samples, samples) if own.samples else "",
                own.stall,
                count_text(own.executed),
                count_text(own.sectors),
                count_text(own.wavefronts),
                ABSENT if line is None else f"{files[line.file]}:{line.number}",
                code_line(table.sass[row]),
            )
        )
    return aligned(rows, left=(2, 6, 7))
