"""Views of timelines for the tests of what is shown."""

from mla_var3.analyse.timeline import analyse_timeline
from mla_var3.analyse.timeline_class import diagnose_nsys
from mla_var3.core.record import Environment, Metric, PlanIdentity, Profile, Stage
from mla_var3.core.timeline import Timeline
from mla_var3.render.timeline_view import TimelineView


def view_of(timeline: Timeline, title: str = "demo", **more: object) -> TimelineView:
    """A view of a timeline, with a record of one stage a shape, or of the plan's stages."""
    plan = timeline.plan
    names = plan.stages if plan else dict.fromkeys(shape.name for shape in timeline.shapes)
    stages = tuple(
        Stage(name=name, kernel=name, launch=number, metrics=_model(number) if plan else {})
        for number, name in enumerate(names)
    )
    profile = Profile(
        mode="nsys",
        status="OK",
        stages=stages,
        environment=Environment(device="NVIDIA H200", clocks_locked=False),
        plan=PlanIdentity(kernel="demo", version="", language="torch") if plan else None,
        **more,
    )
    return TimelineView(
        title=title,
        profile=profile,
        diagnosis=diagnose_nsys(profile),
        timeline=timeline,
        findings=analyse_timeline(timeline),
    )


def _model(number: int) -> dict[str, Metric]:
    """FLOPs decide for the first stage, bytes for the others; the first takes longest."""
    times = (80e3, 20e3) if number == 0 else (1e3, 25e3)
    return {
        "compute_time": Metric(times[0], "ns", "model", "model_flops / peak_tflops"),
        "memory_time": Metric(times[1], "ns", "model", "bytes / peak_gbps"),
        "roofline_time": Metric(max(times), "ns", "model", "max(compute_time, memory_time)"),
        "duration": Metric(300e3 if number == 0 else 100e3, "ns", "nsys", "median of 5 iterations"),
        "duration_busy": Metric(100e3, "ns", "nsys", "median of 5 iterations"),
    }
