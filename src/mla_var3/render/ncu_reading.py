"""Our reading of each kernel in full: what report-verbose.md says beside NVIDIA's own sections."""

from mla_var3.core import units
from mla_var3.core.recommendation import Recommendation
from mla_var3.render.annotation_tables import Rows
from mla_var3.render.markdown import md, md_table
from mla_var3.render.ncu_view import NcuView
from mla_var3.render.report import kernel_section

HEADING = "# Our reading"
_INTRO = (
    "The verdict on each kernel with the figures it rests on, and NVIDIA's recommendations as we "
    "judge them: their numbers are caps, several of them the same one; none is added to another."
)


def render_reading(view: NcuView) -> str:
    """The part of the verbose report that is ours, as Markdown."""
    lines = [HEADING, "", md(_INTRO)]
    verdicts = {verdict.stage: verdict for verdict in view.diagnosis.stages}
    for position, stage in enumerate(view.profile.stages, start=1):
        lines += ["", *kernel_section(position, stage, verdicts[stage.name])]
        found = view.recommendations.get(stage.name, ())
        if found:
            lines += ["", *md_table(_rows(found))]
    return "\n".join(lines) + "\n"


def _rows(found: tuple[Recommendation, ...]) -> Rows:
    rows: Rows = [
        ("NVIDIA recommends", "Scope", "ncu up to", "Ours", "Asks for", "Why ours, or why not")
    ]
    for item in found:
        rows.append(
            (
                item.title,
                item.scope,
                _percent(item.ncu_pct),
                _percent(item.ours_pct),
                item.action or item.message or "-",
                f"left out: {item.dropped}" if item.dropped else item.bound or "-",
            )
        )
    return rows


def _percent(value: float | None) -> str:
    return units.NA if value is None else f"{units.gain(value)} %"
