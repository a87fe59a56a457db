"""The roofline plot of an annotation profile."""

from mla_var3.core.annotation import RooflineRow
from mla_var3.core.params import params_text
from mla_var3.render.annotation_view import AnnotationView
from mla_var3.render.roofline_plot import PlotPoint, PlotRoof, roofline_svg


def annotation_plot(view: AnnotationView) -> str:
    """SVG: the device's roofs, rated and at the measured clock, and every stage by each source."""
    device = view.profile.environment.device or "device n/a"
    title = f"{view.title} · {params_text(view.plan.params)} · {device}"
    roofs: list[PlotRoof] = []
    for roof in view.roofs:
        roofs.append(PlotRoof(label=roof.label, tflops=roof.tflops, gbps=roof.gbps))
        at_clock = roof.tflops_at_clock
        if at_clock is not None and abs(at_clock / roof.tflops - 1.0) > 0.01:
            label = f"{roof.label}, measured clock"
            roofs.append(PlotRoof(label=label, tflops=at_clock, gbps=roof.gbps, dashed=True))
    points = [point for row in view.rooflines if (point := _point(row)) is not None]
    return roofline_svg(title, roofs, points)


def _point(row: RooflineRow) -> PlotPoint | None:
    if row.intensity is None or row.tflops is None:
        return None
    source = row.state.partition(":")[0].rpartition(", ")[2] or row.side
    return PlotPoint(
        label=f"{row.stage}, {source}",
        group=row.stage,
        intensity=row.intensity,
        tflops=row.tflops,
        filled=row.side == "model",
    )
