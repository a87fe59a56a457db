"""`docs/references/metrics.md`, written from `conf/metrics.json`."""

from typing import Any

Json = dict[str, Any]

HEAD = """\
# Metrics: what is read, and how it is judged

Written by `scripts/gen-docs` from `src/mla_var3/conf/metrics.json`; change it there.

Percentages are 0 to 100. `…elapsed` counters refer to the whole duration of the kernel, `…active`
ones to the cycles in which an SM had work; the classes below use the former. A metric that a report
does not hold is `n/a` with the reason, never 0.
"""

GROUPS = {
    "time": "Time and clock",
    "launch": "Launch and occupancy",
    "roofs": "Throughput of the units that can be a roof",
    "pipes": "Pipes and issue slots",
    "access": "Quality of memory accesses",
    "locality": "Caches and DRAM traffic",
    "work": "Work counted",
}
HOW = {
    "times_active": "{name} × active share",
    "pct_of_32": "{name} of 32 bytes",
}
GUARDS = {
    "no_tensor_work": "the kernel has no tensor instructions",
    "other_roof": "another unit is at its roof",
    "by_design": "few blocks an SM are the kernel's design",
    "reads_compulsory": "DRAM reads are the compulsory bytes",
    "dram_idle": "DRAM is not busy",
    "reuse_unknown": "the compulsory bytes are unknown",
    "small_local_share": "local memory is a small share of the sectors",
    "full_grid": "the grid fills the SMs",
    "hidden_tail": "the last wave is mostly empty although the line is passed",
}


def render_metrics_reference(table: Json) -> str:
    """The whole document from the metric table."""
    lines = [HEAD, *_interpretation(table), "", *_classification(table), "", *_facts(table)]
    return "\n".join(lines).rstrip() + "\n"


def _interpretation(table: Json) -> list[str]:
    lines = ["## Metric interpretation", ""]
    lines += ["| Metric | Healthy | If unhealthy → Issue | Optimization hint |"]
    lines += ["|---|---|---|---|"]
    rows = table["interpretation"]
    lines += [_row(row["metric"], row["healthy"], row["issue"], row["hint"]) for row in rows]
    lines += ["", "A line is not an alarm in these cases, and the diagnosis says so:", ""]
    lines += ["| Metric | Read from | When | What is said |", "|---|---|---|---|"]
    for row in rows:
        for guard in row.get("guards", ()):
            when = GUARDS.get(guard["when"], guard["when"].replace("_", " "))
            lines.append(_row(row["metric"], f"`{row['key']}`", when, guard["text"]))
    return lines


def _classification(table: Json) -> list[str]:
    lines = ["## Bottleneck classification", ""]
    lines += ["| Pattern | Classification | Focus |", "|---|---|---|"]
    rows = table["classification"]
    lines += [_row(row["pattern"], row["classification"], row["focus"]) for row in rows]
    tests = [(row["classification"], _tests(row.get("when", ()))) for row in rows]
    lines += ["", "In figures: " + "; ".join(f"{word}: {test}" for word, test in tests) + "."]
    lines += ["This is the first look (the seed class). What limits the kernel is then decided by"]
    lines += ["all roofs, the launch and the stall reasons; where both differ, both are shown."]
    return lines


def _tests(tests: list[Json]) -> str:
    return " and ".join(f"`{t['key']}` {t['op']} {t['value']:g} {t['unit']}" for t in tests)


def _facts(table: Json) -> list[str]:
    lines = ["## Facts and the counters they are read from", ""]
    lines += ["The first name of a list that has a finite value is taken, and stored beside it."]
    chips = ", ".join(f"{cc} {chip}" for cc, chip in table.get("chips", {}).items())
    lines += [f"Chips by compute capability: {chips}.", ""]
    groups = dict.fromkeys(fact["group"] for fact in table["facts"])
    for group in sorted(groups, key=lambda name: list(GROUPS).index(name)):
        lines += [f"### {GROUPS[group]}", ""]
        lines += ["| Key | What | Unit | Names, in order of preference |", "|---|---|---|---|"]
        facts = [fact for fact in table["facts"] if fact["group"] == group]
        lines += [
            _row(f"`{fact['key']}`", _what(fact), fact["unit"], _names(fact)) for fact in facts
        ]
        lines.append("")
    return lines


def _what(fact: Json) -> str:
    note = f". {fact['note']}" if "note" in fact else ""
    absent = f". No such counter on {', '.join(fact['absent_on'])}" if "absent_on" in fact else ""
    return f"{fact['label']}{absent}{note}"


def _names(fact: Json) -> str:
    """Numbered names; the chips stand behind a name that not all have."""
    names = [_name(entry) for entry in fact["names"]]
    if len(names) == 1:
        return names[0]
    return "<br>".join(f"{number}. {name}" for number, name in enumerate(names, start=1))


def _name(entry: str | Json) -> str:
    if isinstance(entry, str):
        return f"`{entry}`"
    text = _expression(entry)
    chips = f" ({', '.join(entry['chips'])})" if "chips" in entry else ""
    return f"{text}{chips}"


def _expression(entry: Json) -> str:
    """The arithmetic of an entry in words."""
    if "name" in entry:
        return str(HOW.get(entry.get("how", ""), "{name}").format(name=f"`{entry['name']}`"))
    joints = {"sum": " + ", "sum_present": " + ", "facts_sum": " + ", "difference": " − "}
    for kind, joint in joints.items():
        if kind in entry:
            suffix = " (those that are there)" if kind == "sum_present" else ""
            return joint.join(f"`{name}`" for name in entry[kind]) + suffix
    for kind in ("ratio", "facts_ratio"):
        if kind in entry:
            scale = f" × {entry['scale']:g}" if "scale" in entry else ""
            first, *rest = (f"`{name}`" for name in entry[kind])
            divisor = rest[0] if len(rest) == 1 else f"({' × '.join(rest)})"
            return f"{first} / {divisor}{scale}"
    if "share" in entry:
        first, second = entry["share"]
        return f"`{first}` / (`{first}` + `{second}`) in percent"
    return f"computed: {entry.get('computed', 'see the table')}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
