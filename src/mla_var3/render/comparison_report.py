"""`report.md` of a comparison: verdicts, what each look saw, and under which conditions."""

from collections.abc import Iterator

from mla_var3.conf import table
from mla_var3.core import units
from mla_var3.core.comparison import Comparison, Conditions, Side, StoredSeries
from mla_var3.core.comparison_verdict import ComparisonVerdict, RunVerdict, ShapeVerdict
from mla_var3.render.comparison_screen import headline, notes
from mla_var3.render.comparison_table import (
    headings,
    interval_text,
    mean_text,
    rows,
    shape_name,
    sides_text,
)
from mla_var3.render.markdown import md, md_list, md_table

LEGEND = (
    "Change: time of the second over the first, minus 1. Faster or slower: the interval leaves out "
    "0 and the change is at least the floor. No change: the whole interval lies inside the floor. "
    "Inconclusive: neither."
)
INTERLEAVED = (
    "Legs run in quads, ABBA and BAAB in turn, so that drift and the place in the order fall out. "
    "Intervals are exact ones of signed ranks (Hodges-Lehmann), one value a quad."
)
ACROSS = (
    "The runs were not interleaved: clocks, temperature and the machine may differ. Intervals rest "
    "on ten consecutive blocks of each run; the floor is higher."
)


def render_comparison_report(comparison: Comparison, verdict: ComparisonVerdict) -> str:
    """The whole report as Markdown."""
    lines = [f"# {md(sides_text(comparison))}", ""]
    lines += [md(" · ".join(headline(comparison, verdict))), ""]
    body = [
        (*row.cells[:-1], f"{row.cells[-1]} ({row.detail})" if row.detail else row.cells[-1])
        for row in rows(comparison, verdict)
    ]
    lines += md_table([headings(comparison, verdict), *body])
    if len(verdict.shapes) > 1:
        lines += ["", md(mean_text(verdict))]
    lines += ["", LEGEND, ACROSS if comparison.across_runs else INTERLEAVED]
    noted = notes(comparison, verdict)
    lines += ["", "## Notes", "", *md_list(noted)] if noted else []
    lines += ["", "## Sides", "", *md_table(_sides(comparison))]
    lines += _looks(comparison, verdict)
    lines += ["", "## Conditions", "", *md_table(list(_conditions(comparison)))]
    if comparison.missing:
        gaps = [f"{name}: {reason}" for name, reason in comparison.missing.items()]
        lines += ["", "## Not done", "", *md_list(gaps)]
    return "\n".join(lines) + "\n"


def _sides(comparison: Comparison) -> list[tuple[str, ...]]:
    """Which code each side is."""
    sides = (comparison.a, comparison.b)

    def row(label: str, *texts: str) -> tuple[str, ...]:
        return (label, *(text or units.NA for text in texts))

    found = [
        ("", *(f"{letter}: {side.label}" for letter, side in zip("AB", sides, strict=True))),
        row("kernel", *(side.kernel for side in sides)),
        row("version", *(side.version or "base" for side in sides)),
        row("language", *(side.language for side in sides)),
        row("git revision", *(side.revision for side in sides)),
        row("source sha256", *(side.source_sha256[:12] for side in sides)),
        row("with its imports", *(side.code_sha256[:12] for side in sides)),
        row("kernels a call", *("" if s.launches is None else str(s.launches) for s in sides)),
    ]
    stages = dict.fromkeys(stage for side in sides for stage in side.tilings)
    return [*found, *(row(f"tiling {s}", *(_tiling(side, s) for side in sides)) for s in stages)]


def _tiling(side: Side, stage: str) -> str:
    return ", ".join(f"{name}={value}" for name, value in side.tilings.get(stage, {}).items())


def _looks(comparison: Comparison, verdict: ComparisonVerdict) -> list[str]:
    """Every look of every process, or what the stored runs are."""
    table_rows: list[tuple[str, ...]] = []
    for shape, judged in zip(comparison.shapes, verdict.shapes, strict=True):
        name = shape_name(comparison, shape) or "all"
        for process, run in enumerate(judged.runs, start=1):
            table_rows += _looks_of(run, (name, str(process)), judged)
        if shape.stored:
            stored = zip("AB", shape.stored, strict=True)
            table_rows += [_stored(name, letter, series) for letter, series in stored]
    if not table_rows:
        return []
    if comparison.across_runs:
        head: tuple[str, ...] = ("shape", "side", "profile", "taken", "samples", "SM MHz")
        return ["", "## Runs", "", *md_table([head, *table_rows])]
    head = ("shape", "process", "look", "change", "interval", "p", "A MHz", "B MHz", "word")
    return ["", "## Looks", "", *md_table([head, *table_rows])]


def _looks_of(
    run: RunVerdict, where: tuple[str, str], judged: ShapeVerdict
) -> Iterator[tuple[str, ...]]:
    clocks = tuple(
        units.NA if mhz is None else f"{mhz:.0f}" for mhz in (judged.a_mhz, judged.b_mhz)
    )
    if run.self_check:
        check = run.self_check
        yield (*where, "A against A", *_effect(check.change_pct, interval_text(check), check.p),
               *(units.NA, units.NA), "-")  # fmt: skip
    for look in run.looks:
        effect = look.effect
        shown = _effect(effect.change_pct, interval_text(effect, look.level_pct), effect.p)
        yield (*where, units.count(look.quads, "quad"), *shown, *clocks, look.word)


def _effect(change_pct: float, interval: str, p: float | None) -> tuple[str, str, str]:
    return f"{units.signed(change_pct)} %", interval, units.NA if p is None else f"{p:.2g}"


def _stored(name: str, letter: str, series: StoredSeries) -> tuple[str, ...]:
    mhz = units.NA if series.mhz is None else f"{series.mhz:.0f}"
    count = str(len(series.samples_ns))
    return (name, letter, series.profile or units.NA, series.created or units.NA, count, mhz)


def _conditions(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """What had to be equal, of the first shape, and the figures of the protocol."""
    yield ("", "")
    where: Conditions = comparison.shapes[0].a
    for entry in table("compare")["conditions"]:
        value = getattr(where, entry["key"])
        if entry["key"] != "params":
            text = f"{value:g}" if isinstance(value, float) else str(value)
            shown = units.NA if value is None else f"{text} {entry.get('unit', '')}".strip()
            yield (entry["label"], shown)
    floors = comparison.floors
    machine = units.NA if floors.machine_pct is None else f"{floors.machine_pct:.1f} %"
    yield ("floor", f"{floors.least_pct:.1f} %, this machine's A against A {machine}")
    known = table("compare")["settings"]
    for name, figure in comparison.settings.items():
        entry = known.get(name, {})
        yield (name.replace("_", " "), f"{figure:g} {entry.get('unit', '')}".strip())
