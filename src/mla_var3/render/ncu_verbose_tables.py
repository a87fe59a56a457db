"""Tables and curves of a launch that stand behind its sections in `report-verbose.md`."""

from collections.abc import Sequence

from mla_var3.core.ncu_details import Curve, LaunchDetails, MemoryTable, Opcode, Series, Stall
from mla_var3.render.markdown import md
from mla_var3.render.ncu_values import aligned, cell, count_text, number, share, sparkline, table_of

_BAR = 32
"""Characters of the longest bar of a curve."""

_STATES = (
    "State",
    "Cycles per issued instruction",
    "% of latency",
    "Samples",
    "% of samples",
    "Samples without issue",
)


def tables(details: LaunchDetails) -> list[str]:
    """Warp states, opcodes, occupancy curves, memory tables and sampled series: what there is."""
    lines: list[str] = []
    if details.stalls:
        lines += ["", "### Warp states", "", *_stalls(details.stalls)]
    if details.opcodes:
        lines += ["", "### Instructions by opcode", "", *_opcodes("Opcode", details.opcodes)]
    if details.categories:
        lines += ["", *_opcodes("Category", details.categories)]
    if details.curves:
        lines += ["", "### Occupancy curves"]
    for curve in details.curves:
        lines += ["", *_curve(curve)]
    if details.memory:
        lines += ["", "### Memory tables"]
    for table in details.memory:
        lines += ["", f"#### {md(table.title)}", "", *_memory(table)]
    if details.series:
        lines += ["", "### Sampled over time", "", *_series(details.series)]
    return lines


def _stalls(stalls: Sequence[Stall]) -> list[str]:
    """Cycles and samples side by side: two views of one thing that need not agree."""
    cycles = sum(stall.cycles or 0.0 for stall in stalls)
    samples = sum(stall.samples or 0 for stall in stalls)
    rows = []
    for stall in stalls:
        rows.append(
            (
                stall.reason,
                count_text(stall.cycles),
                share(stall.cycles, cycles),
                count_text(stall.samples),
                share(stall.samples, samples),
                count_text(stall.not_issued),
            )
        )
    total = ("all", number(cycles), share(cycles, cycles), number(samples), "", "")
    return table_of(_STATES, [*rows, total])


def _opcodes(heading: str, opcodes: Sequence[Opcode]) -> list[str]:
    warp = sum(opcode.warp or 0 for opcode in opcodes)
    thread = sum(opcode.thread or 0 for opcode in opcodes)
    head = (heading, "Warp instructions", "%", "Thread instructions", "Threads a warp")
    rows = []
    for opcode in (*opcodes, Opcode("all", warp or None, thread or None)):
        lanes = opcode.thread / opcode.warp if opcode.thread and opcode.warp else None
        rows.append(
            (
                opcode.name,
                count_text(opcode.warp),
                share(opcode.warp, warp),
                count_text(opcode.thread),
                count_text(lanes),
            )
        )
    return table_of(head, rows)


def _curve(curve: Curve) -> list[str]:
    """Amounts with the same warps as one line, and a bar for the warps."""
    steps: list[tuple[int, int, float]] = []
    for amount, warps in curve.points:
        if steps and steps[-1][2] == warps:
            steps[-1] = (steps[-1][0], amount, warps)
        else:
            steps.append((amount, amount, warps))
    top = max(warps for _, _, warps in steps) or 1.0
    rows = [(curve.resource, "warps", "")]
    for first, last, warps in steps:
        here = curve.current is not None and first <= curve.current <= last
        bar = "#" * round(_BAR * warps / top)
        mark = f"{bar}  <- this launch: {number(curve.current or 0)}" if here else bar
        amounts = number(first) if first == last else f"{number(first)}–{number(last)}"
        rows.append((amounts, number(warps), mark))
    return [f"**{md(curve.title)}** (`{curve.name}`)", "", "```text", *aligned(rows, (2,)), "```"]


def _memory(table: MemoryTable) -> list[str]:
    """Rows with traffic; the others by name."""
    rows, idle = [], []
    for label, cells in table.rows:
        if any(counter is not None and counter.value for counter in cells):
            rows.append((md(label), *map(cell, cells)))
        elif any(counter is not None for counter in cells):
            idle.append(label)
    lines = table_of((table.title, *table.columns), rows) if rows else []
    return lines + ([""] * bool(lines) + [md(f"All 0: {', '.join(idle)}.")]) * bool(idle)


def _series(series: Sequence[Series]) -> list[str]:
    rows = [("over the launch's time", "mean", "max", "", "counter")]
    for one in series:
        if not any(one.values):
            continue
        mean = sum(one.values) / len(one.values)
        figures = (number(mean), number(max(one.values)), one.unit)
        rows.append((sparkline(one.values), *figures, one.name))
    zero = len(series) - len(rows) + 1
    more = [md(f"{zero} more are 0 throughout.")] if zero else []
    return ["```text", *aligned(rows, (0, 3, 4)), "```", *more]
